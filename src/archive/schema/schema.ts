/**
 * What the archive holds for its readers, as Drizzle sees it: for types and queries. The migrations make the tables; a test holds
 * the two together.
 */
import {
  bigint,
  boolean,
  integer,
  numeric,
  pgTable,
  pgView,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
  type AnyPgColumn,
} from "drizzle-orm/pg-core";
import { EXTENDED_FIELDS, PRICE_FIELDS } from "../../quotes/fields.ts";
import { CLOCK_STEP_KINDS, type MissReason } from "../../journal/ledger.ts";
import { instant, bigintText, jsonb, numberColumns, accountId, day } from "./columns.ts";

export const sources = pgTable(
  "sources",
  {
    id: smallint("id").primaryKey(),
    name: text("name").notNull(),
    kind: text("kind", { enum: ["account", "simulated", "import"] }).notNull(),
    /** The names of the sources of the same kind that have the prices of its underlyings, and its open interest; null: itself. */
    spot: text("spot"),
    interest: text("interest"),
  },
  (table) => [unique().on(table.kind, table.name)],
);

export const accounts = pgTable("accounts", {
  id: smallint("id").primaryKey(),
  name: text("name").notNull().unique(),
  callLimit: integer("call_limit"),
  windowMs: integer("window_ms"),
  wanted: text("wanted", { enum: ["active", "drained"] }),
  state: text("state", { enum: ["active", "drained", "refused", "gone"] }),
});

export const instruments = pgTable(
  "instruments",
  {
    id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
    securityType: text("security_type").notNull(),
    symbol: text("symbol").notNull(),
    exchange: text("exchange"),
    description: text("description"),
    underlyingId: integer("underlying_id").references((): AnyPgColumn => instruments.id),
    expiration: day("expiration"),
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
    /** Whether it named a further page; null: it did not. */
    hasMore: boolean("has_more"),
  },
  (table) => [primaryKey({ columns: [table.observedAt, table.sourceId, table.requestId] })],
);

const quoteKey = () => ({
  observedAt: instant("observed_at").notNull(),
  instrumentId: integer("instrument_id").notNull(),
  sourceId: smallint("source_id").notNull(),
});

export const quoteColumns = () => ({
  ...quoteKey(),
  delayed: boolean("delayed").notNull(),
  ...numberColumns(PRICE_FIELDS),
});

export const quotes = pgTable("quotes", quoteColumns(), (table) => [
  primaryKey({ columns: [table.instrumentId, table.observedAt, table.sourceId] }),
]);

export const extendedColumns = () => ({ ...quoteKey(), ...numberColumns(EXTENDED_FIELDS) });

export const extendedQuotes = pgTable("extended_quotes", extendedColumns(), (table) => [
  primaryKey({ columns: [table.instrumentId, table.observedAt, table.sourceId] }),
]);

/** A row where a quote says something else of the dividend than the quote before it (load/dividends.ts). */
export const dividends = pgTable(
  "dividends",
  { ...quoteKey(), exDate: day("ex_date"), amount: numeric("amount"), yield: numeric("yield") },
  (table) => [primaryKey({ columns: [table.instrumentId, table.observedAt, table.sourceId] })],
);

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

export const clockSteps = pgTable(
  "clock_steps",
  {
    movedAt: instant("moved_at").notNull(),
    stepMs: bigint("step_ms", { mode: "number" }).notNull(),
    kind: text("kind", { enum: CLOCK_STEP_KINDS }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.movedAt, table.kind, table.stepMs] })],
);

export const sessions = pgTable("sessions", {
  date: day("date").primaryKey(),
  kind: text("kind", { enum: ["regular", "early"] }).notNull(),
  preAt: instant("pre_at").notNull(),
  openAt: instant("open_at").notNull(),
  closeAt: instant("close_at").notNull(),
  postAt: instant("post_at").notNull(),
  reason: text("reason"),
});

const sourceKind = (name: string) => text(name, { enum: ["account", "simulated", "import"] }).notNull();

const named = () => ({
  instrumentId: integer("instrument_id").notNull(),
  securityType: text("security_type").notNull(),
  symbol: text("symbol").notNull(),
  expiration: day("expiration"),
  optionType: text("option_type", { enum: ["CALL", "PUT"] }),
  strike: numeric("strike"),
});

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
  quotedAt: instant("quoted_at"),
  tradedAt: instant("traded_at"),
  openInterest: bigintText("open_interest"),
  impliedVolatility: numeric("implied_volatility"),
  bidIv: numeric("bid_iv"),
  askIv: numeric("ask_iv"),
  gamma: numeric("gamma"),
  theta: numeric("theta"),
  vega: numeric("vega"),
  rho: numeric("rho"),
  greeksAt: instant("greeks_at"),
}).existing();

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

const series = () => ({
  ...named(),
  source: sourceKind("source"),
  delayed: boolean("delayed").notNull(),
  date: day("date").notNull(),
});

const intradayBar = () => ({
  ...series(),
  session: text("session", { enum: ["pre", "regular", "post", "closed"] }).notNull(),
  barAt: instant("bar_at").notNull(),
  ...bar(),
});

/** Bars of five minutes within a session, with their returns: logarithms of a close by the one before it in the same session. */
export const bars5m = pgView("bars_5m", {
  ...intradayBar(),
  logReturn: numeric("log_return"),
}).existing();
export const bars1h = pgView("bars_1h", intradayBar()).existing();

export const bars1d = pgView("bars_1d", {
  ...series(),
  session: text("session", { enum: ["regular", "early", "closed"] }).notNull(),
  firstAt: instant("first_at").notNull(),
  lastAt: instant("last_at").notNull(),
  ...bar(),
  closeSession: text("close_session", { enum: ["pre", "regular", "post", "closed"] }),
}).existing();
