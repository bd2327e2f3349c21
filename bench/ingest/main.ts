/**
 * npm run bench:ingest -- [--json] [--minutes N] [--rounds N] [--answers N] [--chains]
 *
 * Measures, in one run on one embedded server, how fast the archive is filled: in bulk beside COPY of prepared text
 * (the limit), and live, one answer at a time. Exits 1 when a bound is missed (report.ts).
 * `--minutes` is the size of the bulk sample: polls of 500 equities a minute. `--chains`: the live answers are whole chains.
 */
import { parseArgs } from "node:util";
import { benchBulk } from "./bulk.ts";
import { benchLive } from "./live.ts";
import { printReport, reportOf } from "./report.ts";
import { openBenchServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    minutes: { type: "string", default: "120" },
    rounds: { type: "string", default: "5" },
    answers: { type: "string", default: "60" },
    chains: { type: "boolean", default: false },
  },
});
const minutes = Number(options.minutes);

const server = await openBenchServer();
try {
  const bulk = await benchBulk(server, minutes, Number(options.rounds));
  const live = await benchLive(server, minutes, {
    count: Number(options.answers),
    chains: options.chains,
  });
  const report = reportOf(bulk, live);
  if (options.json) console.log(JSON.stringify(report, null, 2));
  else printReport(report);
  process.exitCode = report.misses.length === 0 ? 0 : 1;
} finally {
  await server.close();
}
