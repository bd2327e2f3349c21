/** The routes of an operator's views: Health and its holes, Jobs, Accounts. Each reads; none writes. */
import type pg from "pg";
import { z } from "zod";
import { readAccountsView } from "../../archive/ask/accountsView.ts";
import { readHealth } from "../../archive/ask/healthRows.ts";
import { readHoles, readSlot } from "../../archive/ask/holeRows.ts";
import type { Clock } from "../../clock.ts";
import type { LedgerSource } from "../../journal/ledger.ts";
import { refusal } from "../live.ts";
import { type Get, name } from "./queryFields.ts";
import type { JobsView } from "./operatorTypes.ts";
import { rememberAnswers } from "./rememberAnswers.ts";

export type OperatorOptions = {
  pool: pg.Pool;
  clock: Clock;
  /** Which market the configuration names. */
  configured: LedgerSource;
  /** The job files and their plan; null where nobody has any. */
  jobs: (() => Promise<JobsView>) | null;
};

/** A month takes seconds to add up: whoever asks within so many ms gets the same answer. */
const HEALTH_FRESH_MS = 60_000;

/** Every page that shows the accounts asks every other second. */
const ACCOUNTS_FRESH_MS = 1_000;

export function addOperatorRoutes(get: Get, { pool, clock, configured, jobs }: OperatorOptions): void {
  const health = rememberAnswers(clock, HEALTH_FRESH_MS);
  const accounts = rememberAnswers(clock, ACCOUNTS_FRESH_MS);
  get("/api/health", spanQuery, ({ from, to, source }) =>
    health(`${from} ${to} ${source}`, () =>
      readHealth(pool, { from, to }, { configured, source: source ?? null }),
    ),
  );
  get("/api/holes", spanQuery, ({ from, to, source = configured, reason = null }) =>
    readHoles(pool, { from, to }, { source, reason }),
  );
  get("/api/slot", slotQuery, async (key, reply) => {
    const slot = await readSlot(pool, key);
    return (
      slot ?? reply.code(404).send(refusal("QUERY_INVALID", `${key.job} has no settled slot at ${key.at}`))
    );
  });
  get("/api/accounts", null, () => accounts("", () => readAccountsView(pool, configured, clock.now())));
  if (jobs) get("/api/jobs", null, jobs);
}

const DAY_MS = 86_400_000;

/** Most days at once: each day of the busiest collector has 86,400 answers. */
const MOST_DAYS = 100;

const instant = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .refine((text) => text >= "2000" && text < "2200", "expected a time between 2000 and 2200");
const kind = z.enum(["account", "simulated", "import"]);

/** Which time, of which market; of the holes those with misses for one reason. */
const spanQuery = z
  .object({ from: instant, to: instant, source: kind.optional(), reason: name.optional() })
  .refine(({ from, to }) => from < to, "from is not before to")
  .refine(
    ({ from, to }) => Date.parse(to) - Date.parse(from) <= MOST_DAYS * DAY_MS,
    `expected at most ${MOST_DAYS} days`,
  );

const slotQuery = z.object({ job: name, at: z.iso.datetime({ offset: true }), source: kind });
