/** The tables of refilling the archive, as Drizzle sees them; a part of `schema.ts`. */
import { bigint, boolean, integer, numeric, pgTable, primaryKey, smallint, text } from "drizzle-orm/pg-core";
import { accountId, day, instant, jsonb } from "./columns.ts";
import { instruments, sources } from "./schema.ts";

export const backfills = pgTable("backfills", {
  id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
  kind: text("kind", { enum: ["journal", "xml", "csv", "parquet", "sweep"] }).notNull(),
  asked: jsonb("asked").notNull(),
  digest: text("digest").notNull(),
  beganEmpty: boolean("began_empty").notNull(),
  startedAt: instant("started_at").notNull(),
  finishedAt: instant("finished_at"),
  report: jsonb("report").notNull(),
});

export const backfillPositions = pgTable(
  "backfill_positions",
  {
    backfillId: integer("backfill_id")
      .notNull()
      .references(() => backfills.id),
    segment: text("segment").notNull(),
    readTo: bigint("read_to", { mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.backfillId, table.segment] })],
);

export const fills = pgTable(
  "fills",
  {
    job: text("job").notNull(),
    slotAt: instant("slot_at").notNull(),
    sourceId: smallint("source_id").notNull(),
    instrument: text("instrument").notNull(),
    reason: text("reason").notNull(),
    observedAt: instant("observed_at").notNull(),
    fillSourceId: smallint("fill_source_id")
      .notNull()
      .references(() => sources.id),
    filledBy: text("filled_by", { enum: ["journal", "xml", "csv", "parquet", "sweep", "gaps"] }).notNull(),
    filledAt: instant("filled_at").notNull(),
    accountId: accountId(),
  },
  (table) => [
    primaryKey({ columns: [table.job, table.slotAt, table.sourceId, table.accountId, table.instrument] }),
  ],
);

export const derivedCloses = pgTable(
  "derived_closes",
  {
    instrumentId: integer("instrument_id")
      .notNull()
      .references(() => instruments.id),
    date: day("date").notNull(),
    sourceId: smallint("source_id")
      .notNull()
      .references(() => sources.id),
    close: numeric("close").notNull(),
    derivedFrom: instant("derived_from").notNull(),
    derivedAt: instant("derived_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.instrumentId, table.date, table.sourceId] })],
);
