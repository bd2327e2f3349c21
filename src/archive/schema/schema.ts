/**
 * The archive's tables as Drizzle sees them: for types and queries. The migrations make the tables; a test holds
 * the two together. `numeric`, `bigint` and times are text here: a float would lose digits, a Date microseconds.
 */
import {
  bigint,
  type AnyPgColumn,
  boolean,
  customType,
  date,
  integer,
  numeric,
  pgTable,
  pgView,
  primaryKey,
  smallint,
  text,
  timestamp,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import { jsonText } from "../../outsideText.ts";
import { EXTENDED_FIELDS, PRICE_FIELDS, type Field } from "../../quotes-api/fields.ts";
import { CLOCK_STEP_KINDS, type MissReason } from "../../journal/ledger.ts";

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: "string" });

/** `bigint` as text. */
const bigintText = customType<{ data: string; driverData: string }>({ dataType: () => "bigint" });

/** A value as JSON. Its texts may be of outside. */
export const jsonb = customType<{ data: unknown; driverData: string }>({
  dataType: () => "jsonb",
  toDriver: jsonText,
});

/** The number of a transaction, as text. */
const transactionText = customType<{ data: string; driverData: string }>({ dataType: () => "xid8" });

const decimalColumn = (name: string) => numeric(name);
const integerColumn = (name: string) => bigintText(name);

/** A column for each field of a quote. */
function numberColumns<F extends Field>(fields: readonly F[]) {
  type Columns = {
    [One in F as One["name"]]: ReturnType<
      One["type"] extends "integer" ? typeof integerColumn : typeof decimalColumn
    >;
  };
  return Object.fromEntries(
    fields.map(({ name, type, column }) => [
      name,
      type === "integer" ? integerColumn(column) : decimalColumn(column),
    ]),
  ) as Columns;
}

/** Where answers come from: an account, a simulated market or an import. */
export const sources = pgTable(
  "sources",
  {
    id: smallint("id").primaryKey(),
    name: text("name").notNull(),
    kind: text("kind", { enum: ["account", "simulated", "import"] }).notNull(),
  },
  (table) => [unique().on(table.kind, table.name)],
);

/** Who polls, and what the operator and the collectors say of them. */
export const accounts = pgTable("accounts", {
  id: smallint("id").primaryKey(),
  name: text("name").notNull().unique(),
  callLimit: integer("call_limit"),
  windowMs: integer("window_ms"),
  wanted: text("wanted", { enum: ["active", "drained"] }),
  state: text("state", { enum: ["active", "drained", "refused", "gone"] }),
});

/** Which account a row is of: a share of a slot, or an answer. */
export const accountId = () => smallint("account_id").notNull().default(1);

/** Each security and option contract that an answer has named, as the newest one describes it. */
export const instruments = pgTable(
  "instruments",
  {
    id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
    securityType: text("security_type").notNull(),
    symbol: text("symbol").notNull(),
    exchange: text("exchange"),
    description: text("description"),
    underlyingId: integer("underlying_id").references((): AnyPgColumn => instruments.id),
    expiration: date("expiration", { mode: "string" }),
    optionType: text("option_type", { enum: ["CALL", "PUT"] }),
    strike: numeric("strike"),
    contractSize: bigintText("contract_size"),
    firstSeenAt: instant("first_seen_at").notNull(),
    lastSeenAt: instant("last_seen_at").notNull(),
    /** No answer has said `securityType` yet. */
    typeAssumed: boolean("type_assumed").notNull().default(false),
    root: text("root"),
    /** When each was said last; null: when the instrument was seen last, or never. */
    exchangeAt: instant("exchange_at"),
    descriptionAt: instant("description_at"),
    contractSizeAt: instant("contract_size_at"),
  },
  (table) => [
    unique("instruments_identity")
      .on(table.securityType, table.symbol, table.expiration, table.optionType, table.strike, table.root)
      .nullsNotDistinct(),
  ],
);

/** Each answer of the service, or piece of a file, without its body, which is in the journal. */
export const responses = pgTable(
  "responses",
  {
    observedAt: instant("observed_at").notNull(),
    sourceId: smallint("source_id").notNull(),
    requestId: uuid("request_id").notNull(),
    requestedAt: instant("requested_at").notNull(),
    job: text("job"),
    request: jsonb("request").notNull(),
    httpStatus: smallint("http_status").notNull(),
    outcome: text("outcome").notNull(),
    responseId: text("response_id"),
    serverDate: instant("server_date"),
    rateLimitUsed: integer("rate_limit_used"),
    rateLimitRemaining: integer("rate_limit_remaining"),
    rateLimitLimit: integer("rate_limit_limit"),
    rateLimitExpire: numeric("rate_limit_expire"),
    bodyBytes: integer("body_bytes").notNull(),
    journalSegment: text("journal_segment").notNull(),
    journalOffset: bigint("journal_offset", { mode: "number" }).notNull(),
    accountId: accountId(),
  },
  (table) => [primaryKey({ columns: [table.observedAt, table.sourceId, table.requestId] })],
);

/** What one answer says of an instrument's prices. `observedAt` is when the answer arrived. */
export const quotes = pgTable(
  "quotes",
  {
    observedAt: instant("observed_at").notNull(),
    instrumentId: integer("instrument_id").notNull(),
    sourceId: smallint("source_id").notNull(),
    delayed: boolean("delayed").notNull(),
    ...numberColumns(PRICE_FIELDS),
  },
  (table) => [primaryKey({ columns: [table.instrumentId, table.observedAt, table.sourceId] })],
);

/** The other fields of the same quotes. */
export const extendedQuotes = pgTable(
  "extended_quotes",
  {
    observedAt: instant("observed_at").notNull(),
    instrumentId: integer("instrument_id").notNull(),
    sourceId: smallint("source_id").notNull(),
    ...numberColumns(EXTENDED_FIELDS),
  },
  (table) => [primaryKey({ columns: [table.instrumentId, table.observedAt, table.sourceId] })],
);

/** A row where a quote says something else of the dividend than the quote before it (`dividendChanges.ts`). */
export const dividends = pgTable(
  "dividends",
  {
    observedAt: instant("observed_at").notNull(),
    instrumentId: integer("instrument_id").notNull(),
    sourceId: smallint("source_id").notNull(),
    exDate: date("ex_date", { mode: "string" }),
    amount: numeric("amount"),
    yield: numeric("yield"),
  },
  (table) => [primaryKey({ columns: [table.instrumentId, table.observedAt, table.sourceId] })],
);

/** What could not become a row, or a value of one, and why. */
export const deadLetters = pgTable(
  "dead_letters",
  {
    observedAt: instant("observed_at").notNull(),
    sourceId: smallint("source_id").notNull(),
    ordinal: integer("ordinal").notNull(),
    instrument: text("instrument"),
    reason: text("reason").notNull(),
    detail: text("detail").notNull(),
    fragment: text("fragment"),
  },
  (table) => [primaryKey({ columns: [table.observedAt, table.sourceId, table.ordinal] })],
);

/** Each set of instruments that a job was due to poll, kept once. */
export const dueSets = pgTable("due_sets", {
  id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
  digest: text("digest").notNull().unique(),
  instruments: text("instruments").array().notNull(),
});

/** Each account's share of a settled slot of a job: due = stored + missed. */
export const slots = pgTable(
  "slots",
  {
    job: text("job").notNull(),
    slotAt: instant("slot_at").notNull(),
    sourceId: smallint("source_id")
      .notNull()
      .references(() => sources.id),
    due: integer("due").notNull(),
    stored: integer("stored").notNull(),
    missed: integer("missed").notNull(),
    dueSetId: integer("due_set_id")
      .notNull()
      .references(() => dueSets.id),
    accountId: accountId().references(() => accounts.id),
  },
  (table) => [primaryKey({ columns: [table.job, table.slotAt, table.sourceId, table.accountId] })],
);

/** Each instrument that was due at a slot and has no quote; `*` stands for all that were due. */
export const misses = pgTable(
  "misses",
  {
    job: text("job").notNull(),
    slotAt: instant("slot_at").notNull(),
    sourceId: smallint("source_id").notNull(),
    instrument: text("instrument").notNull(),
    reason: text("reason").$type<MissReason>().notNull(),
    accountId: accountId(),
  },
  (table) => [
    primaryKey({ columns: [table.job, table.slotAt, table.sourceId, table.accountId, table.instrument] }),
  ],
);

/** Slots that have begun and are not settled. */
export const openSlots = pgTable(
  "open_slots",
  {
    job: text("job").notNull(),
    slotAt: instant("slot_at").notNull(),
    sourceId: smallint("source_id")
      .notNull()
      .references(() => sources.id),
    endsAt: instant("ends_at"),
    dueSetId: integer("due_set_id")
      .notNull()
      .references(() => dueSets.id),
    run: uuid("run").notNull(),
    accountId: accountId().references(() => accounts.id),
  },
  (table) => [primaryKey({ columns: [table.job, table.slotAt, table.sourceId, table.accountId] })],
);

/** When the clock of the machine that collects was moved, and by how much. */
export const clockSteps = pgTable(
  "clock_steps",
  {
    movedAt: instant("moved_at").notNull(),
    stepMs: bigint("step_ms", { mode: "number" }).notNull(),
    kind: text("kind", { enum: CLOCK_STEP_KINDS }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.movedAt, table.kind, table.stepMs] })],
);

/** How far each segment of the journal has been loaded, in bytes of the uncompressed stream. */
export const journalPositions = pgTable("journal_positions", {
  segment: text("segment").primaryKey(),
  loadedTo: bigint("loaded_to", { mode: "number" }).notNull(),
  loadedAt: instant("loaded_at").notNull(),
});

/** The exchange's calendar. */
export const sessions = pgTable("sessions", {
  date: date("date", { mode: "string" }).primaryKey(),
  kind: text("kind", { enum: ["regular", "early"] }).notNull(),
  preAt: instant("pre_at").notNull(),
  openAt: instant("open_at").notNull(),
  closeAt: instant("close_at").notNull(),
  postAt: instant("post_at").notNull(),
  reason: text("reason"),
});

/** Single days as the operator says they are: `jobs/calendar.yaml`, as a command read it last. */
export const calendarDays = pgTable("calendar_days", {
  date: date("date", { mode: "string" }).primaryKey(),
  kind: text("kind", { enum: ["closed", "early", "regular"] }).notNull(),
  close: text("close"),
  reason: text("reason"),
});

/** One bar for each instrument, source, delayed and exchange date, made from `quotes` by `make_bars`. */
export const sessionBars = pgTable(
  "session_bars",
  {
    instrumentId: integer("instrument_id").notNull(),
    sourceId: smallint("source_id").notNull(),
    delayed: boolean("delayed").notNull(),
    date: date("date", { mode: "string" }).notNull(),
    firstAt: instant("first_at").notNull(),
    lastAt: instant("last_at").notNull(),
    open: numeric("open"),
    high: numeric("high"),
    low: numeric("low"),
    close: numeric("close"),
    openAt: instant("open_at"),
    closeAt: instant("close_at"),
    spreadSum: numeric("spread_sum").notNull(),
    spreadCount: bigintText("spread_count").notNull(),
    quoteCount: bigintText("quote_count").notNull(),
    volume: bigintText("volume"),
    quotesDropped: boolean("quotes_dropped").notNull().default(false),
    barsTo: instant("bars_to"),
    madeTo: instant("made_to"),
  },
  (table) => [primaryKey({ columns: [table.instrumentId, table.sourceId, table.delayed, table.date] })],
);

/** Bars of five minutes and of an hour that are over, made from the rows by `make_bars`. */
export const intradayBarsKept = pgTable(
  "intraday_bars",
  {
    barAt: instant("bar_at").notNull(),
    date: date("date", { mode: "string" }).notNull(),
    instrumentId: integer("instrument_id").notNull(),
    sourceId: smallint("source_id").notNull(),
    minutes: smallint("minutes").notNull(),
    delayed: boolean("delayed").notNull(),
    session: text("session").notNull(),
    spreadCount: bigintText("spread_count").notNull(),
    quoteCount: bigintText("quote_count").notNull(),
    volume: bigintText("volume"),
    volumeBefore: bigintText("volume_before"),
    open: numeric("open"),
    high: numeric("high"),
    low: numeric("low"),
    close: numeric("close"),
    spreadSum: numeric("spread_sum").notNull(),
    logReturn: numeric("log_return"),
  },
  (table) => [
    primaryKey({
      // prettier-ignore
      columns: [table.instrumentId, table.date, table.sourceId, table.delayed, table.minutes, table.barAt],
    }),
  ],
);

/** Each migration that was applied, with the checksum of its file. */
export const schemaMigrations = pgTable("schema_migrations", {
  version: integer("version").primaryKey(),
  name: text("name").notNull(),
  sha256: text("sha256").notNull(),
  appliedAt: instant("applied_at").notNull(),
});

/** The texts of `migrations/repeat/` in force. */
export const schemaTexts = pgTable("schema_texts", {
  name: text("name").primaryKey(),
  sha256: text("sha256").notNull(),
  appliedAt: instant("applied_at").notNull(),
});

/** Exchange dates whose rows came or were changed when the date was over. */
export const lateDays = pgTable("late_days", {
  date: date("date", { mode: "string" }).primaryKey(),
  changedBy: transactionText("changed_by").notNull(),
  changedAt: instant("changed_at").notNull(),
});

/** Exchange dates of which quotes were dropped: the lake has all of them. */
export const droppedDays = pgTable("dropped_days", {
  date: date("date", { mode: "string" }).primaryKey(),
  droppedAt: instant("dropped_at").notNull(),
  files: jsonb("files"),
});

/** One row: the lake of this archive. */
export const archiveLake = pgTable("archive_lake", {
  id: uuid("id").primaryKey(),
  setAt: instant("set_at").notNull(),
});

/** One row: the name that tells this archive from others. */
export const archiveIdentity = pgTable("archive_identity", { id: uuid("id").primaryKey() });

/** Holds nothing: whoever migrates has locked it. */
export const migrationLock = pgTable("migration_lock", {});

const sourceKind = (name: string) => text(name, { enum: ["account", "simulated", "import"] }).notNull();

/** What a view says of the instrument. */
const named = () => ({
  instrumentId: integer("instrument_id").notNull(),
  securityType: text("security_type").notNull(),
  symbol: text("symbol").notNull(),
  expiration: date("expiration", { mode: "string" }),
  optionType: text("option_type", { enum: ["CALL", "PUT"] }),
  strike: numeric("strike"),
});

/** Every collector that has joined: what it said of itself last. */
export const collectors = pgTable("collectors", {
  id: uuid("id").primaryKey(),
  number: smallint("number").notNull().unique(),
  name: text("name").notNull().unique(),
  run: text("run").notNull(),
  pid: integer("pid").notNull(),
  host: text("host").notNull(),
  version: text("version").notNull(),
  startedAt: instant("started_at").notNull(),
  seenAt: instant("seen_at").notNull(),
  beat: bigintText("beat").notNull(),
  stopped: boolean("stopped").notNull(),
  jobsDigest: text("jobs_digest").notNull(),
  files: jsonb("files").notNull(),
  knows: jsonb("knows").notNull(),
  journalLag: bigintText("journal_lag"),
  clockOffsetMs: integer("clock_offset_ms"),
});

/** Which collector calls each account. */
export const leases = pgTable("leases", {
  accountId: smallint("account_id")
    .primaryKey()
    .references(() => accounts.id),
  fence: bigintText("fence").notNull(),
  holder: uuid("holder").notNull(),
  run: text("run").notNull(),
  beat: bigintText("beat").notNull(),
  grantedAt: instant("granted_at").notNull(),
  renewedAt: instant("renewed_at").notNull(),
  expiresAt: instant("expires_at").notNull(),
  released: boolean("released").notNull(),
  governor: jsonb("governor"),
});

/** Who took each account when, and from whom. */
export const leaseHistory = pgTable(
  "lease_history",
  {
    accountId: smallint("account_id")
      .notNull()
      .references(() => accounts.id),
    fence: bigintText("fence").notNull(),
    takenAt: instant("taken_at").notNull(),
    holder: uuid("holder").notNull(),
    collector: text("collector").notNull(),
    how: text("how", { enum: ["new", "released", "restarted", "expired"] }).notNull(),
    previous: text("previous"),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.fence] })],
);

/** What all collectors go by from an instant on. */
export const epochs = pgTable("epochs", {
  number: integer("number").primaryKey(),
  fromAt: instant("from_at").notNull(),
  jobsDigest: text("jobs_digest").notNull(),
  accounts: text("accounts").array().notNull(),
  prices: jsonb("prices").notNull(),
  proposedBy: text("proposed_by").notNull(),
});

/** The newest quote of each instrument. */
export const latestQuotes = pgView("latest_quotes", {
  ...named(),
  description: text("description"),
  source: sourceKind("source"),
  delayed: boolean("delayed").notNull(),
  observedAt: instant("observed_at").notNull(),
  bid: numeric("bid"),
  ask: numeric("ask"),
  last: numeric("last"),
  change: numeric("change"),
  pctChange: numeric("pct_change"),
  bidSize: bigintText("bid_size"),
  askSize: bigintText("ask_size"),
  volume: bigintText("volume"),
  delta: numeric("delta"),
  sourceName: text("source_name").notNull(),
  root: text("root"),
}).existing();

/** Price and count columns that all bars share. */
const bar = () => ({
  open: numeric("open"),
  high: numeric("high"),
  low: numeric("low"),
  close: numeric("close"),
  meanSpread: numeric("mean_spread"),
  quoteCount: bigintText("quote_count").notNull(),
  volume: bigintText("volume"),
  sourceName: text("source_name").notNull(),
});

/** Which series and session a bar is of. */
const series = () => ({
  ...named(),
  source: sourceKind("source"),
  delayed: boolean("delayed").notNull(),
  date: date("date", { mode: "string" }).notNull(),
});

const intradayBar = () => ({
  ...series(),
  session: text("session", { enum: ["pre", "regular", "post", "closed"] }).notNull(),
  barAt: instant("bar_at").notNull(),
  ...bar(),
});

/** Bars of a minute within a session. */
export const bars1m = pgView("bars_1m", intradayBar()).existing();
/** Of five minutes, with their returns: logarithms of a close by the one before it in the same session. */
export const bars5m = pgView("bars_5m", {
  ...intradayBar(),
  logReturn: numeric("log_return"),
}).existing();
/** Of an hour. */
export const bars1h = pgView("bars_1h", intradayBar()).existing();

/** One bar for each exchange date. */
export const bars1d = pgView("bars_1d", {
  ...series(),
  session: text("session", { enum: ["regular", "early", "closed"] }).notNull(),
  firstAt: instant("first_at").notNull(),
  lastAt: instant("last_at").notNull(),
  ...bar(),
  closeSession: text("close_session", { enum: ["pre", "regular", "post", "closed"] }),
}).existing();

/** Calls and puts side by side. */
export const optionChainLatest = pgView("option_chain_latest", {
  underlying: text("underlying").notNull(),
  expiration: date("expiration", { mode: "string" }).notNull(),
  strike: numeric("strike").notNull(),
  source: sourceKind("source"),
  delayed: boolean("delayed").notNull(),
  underlyingId: integer("underlying_id"),
  callInstrumentId: integer("call_instrument_id"),
  callObservedAt: instant("call_observed_at"),
  callBid: numeric("call_bid"),
  callAsk: numeric("call_ask"),
  callMid: numeric("call_mid"),
  callSpread: numeric("call_spread"),
  callLast: numeric("call_last"),
  callDelta: numeric("call_delta"),
  callVolume: bigintText("call_volume"),
  putInstrumentId: integer("put_instrument_id"),
  putObservedAt: instant("put_observed_at"),
  putBid: numeric("put_bid"),
  putAsk: numeric("put_ask"),
  putMid: numeric("put_mid"),
  putSpread: numeric("put_spread"),
  putLast: numeric("put_last"),
  putDelta: numeric("put_delta"),
  putVolume: bigintText("put_volume"),
  sourceName: text("source_name").notNull(),
  underlyingLast: numeric("underlying_last"),
  moneyness: numeric("moneyness"),
  root: text("root"),
}).existing();

/** What the service said of each dividend when, and what it had said before. */
export const dividendCalendar = pgView("dividend_calendar", {
  instrumentId: integer("instrument_id").notNull(),
  securityType: text("security_type").notNull(),
  symbol: text("symbol").notNull(),
  source: sourceKind("source"),
  observedAt: instant("observed_at").notNull(),
  exDate: date("ex_date", { mode: "string" }),
  amount: numeric("amount"),
  yield: numeric("yield"),
  previousExDate: date("previous_ex_date", { mode: "string" }),
  previousAmount: numeric("previous_amount"),
  previousYield: numeric("previous_yield"),
  change: text("change", { enum: ["first", "ex_date", "amount", "yield"] }).notNull(),
  isNewest: boolean("is_newest").notNull(),
  isAhead: boolean("is_ahead").notNull(),
  sourceName: text("source_name").notNull(),
}).existing();

/** Expected against stored for each instrument and exchange date. */
export const coverageDaily = pgView("coverage_daily", {
  date: date("date", { mode: "string" }).notNull(),
  source: text("source", { enum: ["account", "simulated", "import"] }).notNull(),
  instrument: text("instrument").notNull(),
  expected: bigintText("expected").notNull(),
  stored: bigintText("stored").notNull(),
  missed: bigintText("missed").notNull(),
  reasons: jsonb("reasons").notNull(),
}).existing();
