/**
 * A day of the archive played at speed 60 to twenty keys. A key makes its 60 calls a minute: of the real minute, in which
 * its budget is counted, or as a program would that lives in the time played, of a played one, which is a real second.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "undici";
import { CREDENTIALS, targetsOf } from "./inputs.ts";
import { signAll } from "./load.ts";
import type { Server } from "./server.ts";

/** Calls of all keys in a real second, each of so many symbols. */
const PACES = [
  { what: "60 calls a real minute, 100 symbols", symbols: 100, perSecond: CREDENTIALS.length },
  { what: "60 calls a played minute, 1 symbol", symbols: 1, perSecond: 60 * CREDENTIALS.length },
] as const;

/** How long each pace is held, in seconds: minutes of the time played. */
const SECONDS = 15;

/** Seconds before that in which the service and this client get warm, which do not count. */
const WARM_UP = 3;

/** An answer is in time when it is there within a minute played of the moment at which the call was due. */
const IN_TIME_MS = 1_000;

/** Share of the calls that must be answered in time; none may be refused. */
const IN_TIME_SHARE = 0.99;

/** Plays to twenty keys and prints what became of their calls. @returns how many paces were not held */
export async function replayDay(service: Server): Promise<number> {
  let missed = 0;
  for (const { what, symbols, perSecond } of PACES) {
    const calls = { symbols, perSecond };
    await callAtPace(service, { ...calls, seconds: WARM_UP });
    const { asked, refused, times, cpuMs } = await callAtPace(service, { ...calls, seconds: SECONDS });
    const inTime = times.filter((ms) => ms <= IN_TIME_MS).length;
    const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? NaN;
    const cpu = (100 * cpuMs) / (SECONDS * 1_000);
    console.log(
      `speed 60, ${CREDENTIALS.length} keys, ${what}: ${asked} asked, ${inTime} answered in time, ${refused} refused, p95 ${p95.toFixed(0)} ms, ${cpu.toFixed(0)} % of a processor`,
    );
    if (refused > 0 || inTime < IN_TIME_SHARE * asked) missed += 1;
  }
  return missed;
}

type Outcome = { asked: number; refused: number; times: number[]; cpuMs: number };

/** Each call leaves when it is due, whatever became of those before it. */
async function callAtPace(
  service: Server,
  { symbols, perSecond, seconds }: { symbols: number; perSecond: number; seconds: number },
): Promise<Outcome> {
  const pool = new Pool(service.baseUrl, { connections: 4 * CREDENTIALS.length, pipelining: 1 });
  const targets = targetsOf(symbols, seconds * perSecond);
  const outcome: Outcome = { asked: targets.length, refused: 0, times: [], cpuMs: 0 };
  const underWay: Promise<void>[] = [];
  const begun = performance.now();
  const cpu = service.cpuMs();
  const call = async (place: number, dueMs: number): Promise<void> => {
    const key = CREDENTIALS[place % CREDENTIALS.length];
    const [signed] = signAll(service.baseUrl, [targets[place] ?? ""], key ? [key] : []);
    if (!signed) return;
    const { statusCode, body } = await pool.request({
      method: "GET",
      path: signed.path,
      headers: signed.headers,
    });
    await body.arrayBuffer();
    if (statusCode === 200) outcome.times.push(performance.now() - begun - dueMs);
    else outcome.refused += 1;
  };
  for (let place = 0; place < targets.length; place++) {
    const dueMs = (1_000 * place) / perSecond;
    while (performance.now() - begun < dueMs) await pause(1);
    underWay.push(call(place, dueMs));
  }
  await Promise.all(underWay);
  outcome.cpuMs = service.cpuMs() - cpu;
  await pool.close();
  return outcome;
}
