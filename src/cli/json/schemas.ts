/** The JSON of every command that prints any: `docs/json.md` is generated from this table. */
import type { z } from "zod";
import { backfillOrGapsJson } from "./backfill.ts";
import { exportJson } from "./export.ts";
import { journalAcceptJson, journalListJson, journalRepairJson, journalVerifyJson } from "./journal.ts";
import { keysAddJson, keysListJson, keysRevokeJson, migrateJson } from "./operating.ts";
import { calendarJson, jobsCheckJson, planJson } from "./planning.ts";
import { coverageJson, pollJson } from "./quotes.ts";
import { statusJson } from "../../run/statusJson.ts";

/** By the command's words behind `quotekeeper`, in the order in which people read them. */
export const JSON_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  status: statusJson,
  poll: pollJson,
  coverage: coverageJson,
  plan: planJson,
  calendar: calendarJson,
  "jobs check": jobsCheckJson,
  migrate: migrateJson,
  backfill: backfillOrGapsJson,
  export: exportJson,
  "journal list": journalListJson,
  "journal verify": journalVerifyJson,
  "journal accept": journalAcceptJson,
  "journal repair": journalRepairJson,
  "serve keys add": keysAddJson,
  "serve keys list": keysListJson,
  "serve keys revoke": keysRevokeJson,
};
