/**
 * `npm run bench:serve`: requests per second of `serve`, beside a bare fastify route that sends a fixed XML of the same
 * size; both in processes of their own, in turns, medians of several rounds. Then the same of an archive, and a day of it
 * played at speed 60 to twenty keys. Exit code 1 when a target is missed.
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
import { withArchive } from "./archive.ts";
import { hostileRequests } from "./hostile.ts";
import { idleConnections } from "./idle.ts";
import { CREDENTIALS, serveArgv, SERVE_ENV, targetsOf } from "./inputs.ts";
import { median, type Round, sendAll, signAll } from "./load.ts";
import { memoryOverTime } from "./memory.ts";
import { replayDay } from "./replay.ts";
import { type Server, startServer } from "./server.ts";

/** What must be reached: share of the bare route's requests per second. */
const CASES: readonly Case[] = [
  { symbols: 1, requests: 16_000, target: 0.25 },
  { symbols: 100, requests: 3_200, target: 0.4 },
];
const ARCHIVE_CASES: readonly Case[] = [
  { symbols: 1, requests: 8_000, target: 0.2 },
  { symbols: 100, requests: 1_600, target: null },
];

/** A share that is measured; `target` null: it is printed only. */
type Case = { symbols: number; requests: number; target: number | null };

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
  const head = ["requests/s".padStart(12), "p99 ms".padStart(9), "CPU µs".padStart(9)].join("");
  console.log(`${"".padEnd(26)}${head}   share (target), share by processor time`);
  const missed = await compareAll("serve", service, CASES);
  return (
    await withArchive(program, dir, {
      still: (archive) => compareAll("archive", archive, ARCHIVE_CASES),
      played: replayDay,
    })
  ).reduce((sum, some) => sum + some, missed) > 0
    ? 1
    : 0;
}

/** @returns how many targets were missed */
async function compareAll(name: string, ours: Server, cases: readonly Case[]): Promise<number> {
  let missed = 0;
  for (const one of cases) {
    const bare = await startBare(one.symbols);
    try {
      const share = await compareBeside(bare, { name, ours, ...one });
      if (one.target !== null && !(share >= one.target)) missed += 1;
    } finally {
      await bare.close();
    }
  }
  return missed;
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
  { name, ours, symbols, requests, target }: Case & { name: string; ours: Server },
): Promise<number> {
  const measured: { bare: Round; ours: Round }[] = [];
  const send = (server: Server): Promise<Round> =>
    sendAll(server, signAll(server.baseUrl, targetsOf(symbols, requests), CREDENTIALS));
  // The first round warms both up and does not count.
  for (let round = 0; round <= rounds; round++) {
    const both = { bare: await send(bare), ours: await send(ours) };
    if (round > 0) measured.push(both);
  }
  const share = median(measured.map((round) => round.ours.perSecond / round.bare.perSecond));
  const ofCpu = median(measured.map((round) => round.bare.cpuMicros / round.ours.cpuMicros));
  const what = `${symbols} symbol${symbols === 1 ? "" : "s"}`;
  console.log(
    line(
      `bare route, ${what}`,
      measured.map((round) => round.bare),
    ),
  );
  const told = `${share.toFixed(2)} (${target ?? "none"}), ${ofCpu.toFixed(2)}`;
  console.log(
    `${line(
      `${name}, ${what}`,
      measured.map((round) => round.ours),
    )}   ${told}`,
  );
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
