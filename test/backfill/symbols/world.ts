/** What tests of sweeps share: symbols files, services, and what was asked of them. */
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll } from "@jest/globals";
import type { Clock } from "../../../src/ground/clock.ts";
import { readSegment } from "../../../src/journal/reader.ts";
import type { ResponseRecord } from "../../../src/journal/record.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import type { QuoteCall } from "../../../src/quotes/call.ts";
import { writeDocument } from "../../../src/services/reference/writeDocument.ts";
import { type Outcome, run } from "../../cli/edges.ts";
import { accountAt } from "../../support/simulatedService.ts";
import { type BackfillWorld, equity } from "../world.ts";
import { createTestClock } from "../../support/clock.ts";

/** An account's settings for the running service at an address. */
export function account(world: BackfillWorld, baseUrl: string): Record<string, string> {
  return {
    ...world.env,
    ...accountAt(baseUrl),
  };
}

/** A symbols file in the world's data directory. */
export function symbolsFile({ env }: BackfillWorld, lines: readonly string[]): string {
  const path = join(env["QUOTEKEEPER_DATA_DIR"] ?? "", "symbols.txt");
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

/** Symbols that the simulated market knows. */
export function symbols(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `SIM${String(index).padStart(4, "0")}`);
}

/** Contracts, as a symbols file has them. */
export function contracts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `AAPL:2026-12-18:CALL:${100 + index}`);
}

/** The same as `askedOf` names them. */
export function strikes(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `AAPL:${100 + index}`);
}

/** A service whose answer to a list of symbols is a test's: a status other than 200, or quotes for all of them. */
export async function scripted(
  statusOf: (symbols: string[]) => number,
  prices: Record<string, string> = {},
): Promise<{ baseUrl: string; lists: string[][] }> {
  const lists: string[][] = [];
  const server = createServer((request, response) => {
    const list = new URL(request.url ?? "", "http://localhost").searchParams.get("symbols")?.split(",") ?? [];
    lists.push(list);
    const status = statusOf(list);
    const body = writeDocument({
      id: "1",
      instruments: list.map((symbol) => equity(symbol, prices[symbol] ?? "100.00")),
    });
    response.writeHead(status, { Date: "Fri, 20 Nov 2026 22:50:00 GMT" }).end(status === 200 ? body : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lists };
}

const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.close().closeAllConnections()));

/** The answers that the journal holds. */
export async function answersIn({ journalDir }: BackfillWorld): Promise<ResponseRecord[]> {
  const answers: ResponseRecord[] = [];
  for (const { name } of await listSegments(journalDir))
    for await (const item of readSegment(journalDir, name))
      if (item.kind === "record" && item.record.kind === "response") answers.push(item.record);
  return answers;
}

/** The instruments of answers, as they were asked. */
export function askedOf(answers: readonly ResponseRecord[]): string[] {
  return answers.flatMap(({ request }) => {
    const call = request as QuoteCall;
    if (call.form === "symbols") return call.symbols;
    return call.form === "option" ? [`${call.contract.underlying}:${call.contract.strike}`] : [];
  });
}

/** What `--json` prints. */
export type Printed = {
  dryRun: boolean;
  resumed: boolean;
  report: Record<string, number>;
  remarks: string[];
};

/** What it printed. */
export function printed({ stdout }: Outcome): Printed {
  return JSON.parse(stdout) as Printed;
}

/** Runs it to its end. */
export function sweep(env: Record<string, string>, clock: Clock, ...flags: string[]): Promise<Outcome> {
  return run(["backfill", ...flags], env, clock);
}

/** Sweeps a symbols file, and prints JSON. */
export function sweepFile(
  env: Record<string, string>,
  file: string,
  clock: Clock = createTestClock(),
): Promise<Outcome> {
  return sweep(env, clock, "--symbols-file", file, "--json");
}
