/** The archive under load: the same calls answered from rows of a real PostgreSQL. Figures alone, no target. */
import { join } from "node:path";
import { loadAll } from "../../src/archive/loader.ts";
import { createPool } from "../../src/archive/connect.ts";
import { migrate } from "../../src/archive/migrations.ts";
import { systemClock, createObserver, instantFromDate } from "../../src/clock.ts";
import { uuidv7 } from "../../src/journal/segmentName.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { security } from "../../src/market/instrument.ts";
import { writeDocument } from "../../src/quotes-api/writeDocument.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { execute, startTestServer } from "../../test/support/postgres/server.ts";
import { CREDENTIALS, SERVE_ENV, serveArgv, SYMBOLS, targetsOf } from "./inputs.ts";
import { sendAll, signAll } from "./load.ts";
import { startServer } from "./server.ts";

/** Minutes of quotes of all symbols in the archive. */
const MINUTES = 60;

/** Fills an archive with an hour of quotes and prints how fast it is served. */
export async function archiveUnderLoad(program: string, dir: string): Promise<void> {
  const server = process.env["TEST_DATABASE_URL"]
    ? { url: process.env["TEST_DATABASE_URL"], close: async () => undefined }
    : await startTestServer();
  const name = `quotekeeper_bench_${process.pid}`;
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  await execute(server.url, [`create database ${name}`]);
  try {
    const asOf = await fill(url.href, join(dir, "journal"));
    const argv = serveArgv(program, "archive", "--as-of", asOf, "--speed", "0");
    const env = { ...SERVE_ENV, QUOTEKEEPER_DATA_DIR: join(dir, "archive"), DATABASE_URL: url.href };
    const service = await startServer(argv, env);
    try {
      for (const [symbols, requests] of [
        [1, 1_600],
        [100, 160],
      ] as const) {
        const signed = () => signAll(service.baseUrl, targetsOf(symbols, requests), CREDENTIALS);
        await sendAll(service, signed());
        const { perSecond, p99Ms, cpuMicros } = await sendAll(service, signed());
        console.log(
          `archive, ${symbols} symbol${symbols === 1 ? "" : "s"}: ${perSecond.toFixed(0)} requests/s, p99 ${p99Ms.toFixed(1)} ms, CPU ${cpuMicros.toFixed(0)} µs of the service alone`,
        );
      }
    } finally {
      await service.close();
    }
  } finally {
    await execute(server.url, [`drop database ${name} with (force)`]);
    await server.close();
  }
}

/** @returns the time of the newest quote */
async function fill(url: string, journalDir: string): Promise<string> {
  const pool = createPool(url, { max: 1 });
  const begun = Date.now() - MINUTES * 60_000;
  try {
    await migrate(pool, instantFromDate(new Date()));
    const journal = await openJournal({
      dir: journalDir,
      clock: systemClock,
      upkeep: false,
      onProblem: (problem) => {
        throw problem;
      },
    });
    const market = createSimulatedMarket({ seed: 1 });
    let at = new Date(begun);
    for (let minute = 0; minute < MINUTES; minute++) {
      at = new Date(begun + minute * 60_000);
      const instruments = SYMBOLS.map((symbol) => market.quote(security(symbol), at));
      const observe = createObserver({ ...systemClock, now: () => at });
      const time = observe();
      await journal.append({
        kind: "response",
        requestId: uuidv7(at.getTime(), systemClock.random(16)),
        observedAt: time,
        requestedAt: time,
        source: { kind: "simulated", name: "simulated" },
        jobs: ["bench"],
        slotAt: time,
        request: { form: "watchlist", watchlist: "BENCH", delayed: false },
        status: 200,
        headers: {},
        body: Buffer.from(writeDocument({ id: "b", instruments })),
      });
    }
    await journal.close();
    await loadAll({ pool, journalDir, clock: systemClock });
    return instantFromDate(at);
  } finally {
    await pool.end();
  }
}
