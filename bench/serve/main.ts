/**
 * `npm run bench:serve`: requests per second of `serve`, beside a bare fastify route that sends a fixed XML of the same
 * size; both in processes of their own, in turns, medians of several rounds. Exit code 1 when a target is missed.
 *
 * - `-- --rounds 7`: more rounds
 * - `-- --minutes 5`: memory under load for so long, and its slope
 * - `-- --hostile`: processor time of requests that nobody has signed for, one kind at a time
 * - `-- --idle 10000`: so many idle connections, and whether it answers beside them
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileProgram } from "../../test/support/compileProgram.ts";
import { archiveUnderLoad } from "./archive.ts";
import { hostileRequests } from "./hostile.ts";
import { idleConnections } from "./idle.ts";
import { CREDENTIALS, serveArgv, SERVE_ENV, targetsOf } from "./inputs.ts";
import { median, type Round, sendAll, signAll } from "./load.ts";
import { memoryOverTime } from "./memory.ts";
import { type Server, startServer } from "./server.ts";

/** What must be reached: share of the bare route's requests per second. */
const CASES = [
  { symbols: 1, requests: 16_000, target: 0.5 },
  { symbols: 100, requests: 3_200, target: 0.3 },
] as const;

const BARE = fileURLToPath(new URL("bare.js", import.meta.url));

const numberOf = (flag: string): number | null => {
  const place = process.argv.indexOf(flag);
  return place < 0 ? null : Number(process.argv[place + 1] ?? NaN);
};
const rounds = numberOf("--rounds") ?? 5;
const minutes = numberOf("--minutes");
const idle = numberOf("--idle");

/**
 * Memory is watched in a heap that cannot grow for minutes before it is collected, as one of gigabytes does: what is not
 * bounded fills it, and is seen.
 */
const HEAP: Record<string, string> = minutes === null ? {} : { NODE_OPTIONS: "--max-old-space-size=96" };

const dir = mkdtempSync(join(tmpdir(), "quotekeeper-bench-"));
const program = compileProgram(dir);
const service = await startServer(serveArgv(program, "simulated"), {
  ...SERVE_ENV,
  ...HEAP,
  QUOTEKEEPER_DATA_DIR: dir,
});
try {
  if (minutes !== null) process.exitCode = (await memoryOverTime(service, minutes)) ? 0 : 1;
  else if (process.argv.includes("--hostile")) process.exitCode = (await hostileRequests(service)) ? 0 : 1;
  else if (idle !== null) process.exitCode = (await idleConnections(service, idle)) ? 0 : 1;
  else process.exitCode = await compare();
} finally {
  await service.close();
  rmSync(dir, { recursive: true, force: true });
}

async function compare(): Promise<number> {
  let missed = 0;
  console.log(
    `${"".padEnd(26)}${"requests/s".padStart(12)}${"p99 ms".padStart(9)}${"CPU µs".padStart(9)}   share (target)`,
  );
  for (const { symbols, requests, target } of CASES) {
    const bare = await startBare(symbols);
    try {
      const share = await compareBeside(bare, symbols, requests, target);
      if (!(share >= target)) missed += 1;
    } finally {
      await bare.close();
    }
  }
  await archiveUnderLoad(program, dir);
  return missed > 0 ? 1 : 0;
}

/** The bare route, with a document of the service's own as its fixed text. */
async function startBare(symbols: number): Promise<Server> {
  const [target = ""] = targetsOf(symbols, 1);
  const [signed] = signAll(service.baseUrl, [target], CREDENTIALS);
  const answer = await fetch(`${service.baseUrl}${target}`, { headers: signed?.headers ?? {} });
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}: ${await answer.text()}`);
  const file = join(dir, `${symbols}.xml`);
  writeFileSync(file, await answer.text());
  return startServer([BARE, file], { NODE_ENV: "production" });
}

async function compareBeside(
  bare: Server,
  symbols: number,
  requests: number,
  target: number,
): Promise<number> {
  const ours: Round[] = [];
  const theirs: Round[] = [];
  // The first round warms both up and does not count.
  for (let round = 0; round <= rounds; round++) {
    const ofBare = await sendAll(bare, signAll(bare.baseUrl, targetsOf(symbols, requests), CREDENTIALS));
    const ofService = await sendAll(
      service,
      signAll(service.baseUrl, targetsOf(symbols, requests), CREDENTIALS),
    );
    if (round === 0) continue;
    theirs.push(ofBare);
    ours.push(ofService);
  }
  const share = median(ours.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? NaN)));
  const name = `${symbols} symbol${symbols === 1 ? "" : "s"}`;
  console.log(line(`bare route, ${name}`, theirs));
  console.log(`${line(`serve, ${name}`, ours)}   ${share.toFixed(2)} (${target})`);
  return share;
}

function line(name: string, measured: readonly Round[]): string {
  const of = (pick: (round: Round) => number): number => median(measured.map(pick));
  return [
    name.padEnd(26),
    of(({ perSecond }) => perSecond)
      .toFixed(0)
      .padStart(12),
    of(({ p99Ms }) => p99Ms)
      .toFixed(1)
      .padStart(9),
    of(({ cpuMicros }) => cpuMicros)
      .toFixed(0)
      .padStart(9),
  ].join("");
}
