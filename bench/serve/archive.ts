/** An archive under load: the same calls answered from rows of a real PostgreSQL. */
import { join } from "node:path";
import { loadAll } from "../../src/archive/load/loader.ts";
import { createPool } from "../../src/archive/connect/connect.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { systemClock, createObserver, instantFromDate } from "../../src/ground/clock.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { security } from "../../src/market/instrument.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { execute, startTestServer } from "../../test/support/postgres/server.ts";
import { SERVE_ENV, serveArgv, SYMBOLS } from "./inputs.ts";
import { type Server, startServer } from "./server.ts";

/** Minutes of quotes of all symbols in the archive. */
const MINUTES = 60;

/** What is measured of an archive, each by a service of its own. */
type Measured = {
  /** At its last moment, standing still. */
  still: (service: Server) => Promise<number>;
  /** From its first moment on, at speed 60. */
  played: (service: Server) => Promise<number>;
};

/** Fills an archive with an hour of quotes and has it measured. */
export async function withArchive(
  program: string,
  dir: string,
  { still, played }: Measured,
): Promise<number[]> {
  const server = process.env["TEST_DATABASE_URL"]
    ? { url: process.env["TEST_DATABASE_URL"], close: async () => undefined }
    : await startTestServer();
  const name = `quotekeeper_bench_${process.pid}`;
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  await execute(server.url, [`create database ${name}`]);
  const env = { ...SERVE_ENV, QUOTEKEEPER_DATA_DIR: join(dir, "archive"), DATABASE_URL: url.href };
  const measure = async (asOf: string, speed: string, by: Measured["still"]): Promise<number> => {
    const argv = serveArgv(program, "archive", "--as-of", asOf, "--speed", speed);
    const service = await startServer(argv, env);
    return by(service).finally(() => service.close());
  };
  try {
    const { first, last } = await fill(url.href, join(dir, "journal"));
    return [await measure(last, "0", still), await measure(first, "60", played)];
  } finally {
    await execute(server.url, [`drop database ${name} with (force)`]);
    await server.close();
  }
}

/** @returns the times of the oldest quotes and of the newest */
async function fill(url: string, journalDir: string): Promise<{ first: string; last: string }> {
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
    return { first: instantFromDate(new Date(begun)), last: instantFromDate(at) };
  } finally {
    await pool.end();
  }
}
