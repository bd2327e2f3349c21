/** The schema of every command's JSON; `docs/json.md` is generated from this table. */
import { z } from "zod";
import { dryRunJson } from "./backfill/dryRun.ts";
import { gapsJson } from "./backfill/gaps.ts";
import { backfillJson } from "./backfill/report.ts";
import { accountsForgetJson, accountsListJson, accountJson } from "./accounts.ts";
import { calendarJson } from "./calendar.ts";
import { coverageJson } from "./coverage.ts";
import { doctorJson } from "./doctor.ts";
import { exportJson } from "./export.ts";
import { jobsCheckJson } from "./jobs.ts";
import {
  journalAcceptJson,
  journalListJson,
  journalRepairJson,
  journalVerifyJson,
} from "../journal/journalReports.ts";
import { lakeJson, lakeRestoreJson, lakeVerifyJson } from "../files/lake/lakeReports.ts";
import { migrateJson } from "./migrate.ts";
import { planJson } from "./plan.ts";
import { pollJson } from "./pollReport.ts";
import { keysAddJson, keysListJson, keysRevokeJson } from "./serveKeys.ts";
import { sqlJson } from "./sqlAnswer.ts";
import { statusJson } from "../status/statusJson.ts";

/** By the command's words behind `quotekeeper`, in the order of the page. */
export const JSON_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  status: statusJson,
  poll: pollJson,
  doctor: doctorJson,
  coverage: coverageJson,
  plan: planJson,
  "accounts list": accountsListJson,
  "accounts drain": accountJson,
  "accounts resume": accountJson,
  "accounts forget": accountsForgetJson,
  calendar: calendarJson,
  "jobs check": jobsCheckJson,
  migrate: migrateJson,
  backfill: z.union([backfillJson, gapsJson, dryRunJson]),
  export: exportJson,
  lake: lakeJson,
  "lake verify": lakeVerifyJson,
  "lake restore": lakeRestoreJson,
  sql: sqlJson,
  "journal list": journalListJson,
  "journal verify": journalVerifyJson,
  "journal accept": journalAcceptJson,
  "journal repair": journalRepairJson,
  "serve keys add": keysAddJson,
  "serve keys list": keysListJson,
  "serve keys revoke": keysRevokeJson,
};
