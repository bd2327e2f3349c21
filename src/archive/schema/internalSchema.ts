/**
 * The tables in which the program notes its own work, as Drizzle sees them: positions, the bars that it keeps, who collects, the
 * lake, migrations. What the archive holds for its readers stands in schema.ts.
 */
import {
  bigint,
  boolean,
  integer,
  numeric,
  pgTable,
  primaryKey,
  smallint,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { instant, bigintText, jsonb, transactionText, accountId, day } from "./columns.ts";
import { accounts, dueSets, sources } from "./schema.ts";

export const journalPositions = pgTable("journal_positions", {
  segment: text("segment").primaryKey(),
  loadedTo: bigint("loaded_to", { mode: "number" }).notNull(),
  loadedAt: instant("loaded_at").notNull(),
});

export const calendarDays = pgTable("calendar_days", {
  date: day("date").primaryKey(),
  kind: text("kind", { enum: ["closed", "early", "regular"] }).notNull(),
  close: text("close"),
  reason: text("reason"),
});

export const sessionBars = pgTable(
  "session_bars",
  {
    instrumentId: integer("instrument_id").notNull(),
    sourceId: smallint("source_id").notNull(),
    delayed: boolean("delayed").notNull(),
    date: day("date").notNull(),
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

export const lateDays = pgTable("late_days", {
  date: day("date").primaryKey(),
  changedBy: transactionText("changed_by").notNull(),
  changedAt: instant("changed_at").notNull(),
});

export const droppedDays = pgTable("dropped_days", {
  date: day("date").primaryKey(),
  droppedAt: instant("dropped_at").notNull(),
  files: jsonb("files"),
});

export const archiveLake = pgTable("archive_lake", {
  id: uuid("id").primaryKey(),
  setAt: instant("set_at").notNull(),
});

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

export const epochs = pgTable("epochs", {
  number: integer("number").primaryKey(),
  fromAt: instant("from_at").notNull(),
  jobsDigest: text("jobs_digest").notNull(),
  accounts: text("accounts").array().notNull(),
  prices: jsonb("prices").notNull(),
  proposedBy: text("proposed_by").notNull(),
});

export const schemaMigrations = pgTable("schema_migrations", {
  version: integer("version").primaryKey(),
  name: text("name").notNull(),
  sha256: text("sha256").notNull(),
  appliedAt: instant("applied_at").notNull(),
});

export const schemaTexts = pgTable("schema_texts", {
  name: text("name").primaryKey(),
  sha256: text("sha256").notNull(),
  appliedAt: instant("applied_at").notNull(),
});
