/** CONTRIBUTING's page "A new service", followed with a service of three fields. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, jest, test } from "@jest/globals";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

// A copy of the program with one service more runs, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SOURCE = readFileSync(join(ROOT, "test", "services", "echo", "echo.ts"), "utf8");
const WORD = "the-right-word";
const run = promisify(execFile);

/** Echo itself: three fields of each symbol but one. */
const echo = createServer(({ url = "", headers }, response) => {
  const symbols = new URL(url, "http://echo").searchParams.get("symbols")?.split(",") ?? [];
  const quotes = symbols.map((symbol) => [
    symbol,
    symbol === "NOSUCH" ? null : { bid: 10.25, ask: 10.5, last: 10.3 },
  ]);
  response.statusCode = headers["x-echo-word"] === WORD ? 200 : 403;
  response.end(response.statusCode === 200 ? JSON.stringify(Object.fromEntries(quotes)) : "");
});
await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
afterAll(() => void echo.close());

/** The page's steps: the service in a folder of its own, and a line in the registry. */
function followPage(): string {
  const dir = tempDir();
  for (const name of ["src", "migrations", "bin", "scripts", "package.json"])
    cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"), "junction");
  mkdirSync(join(dir, "src", "services", "echo"));
  const here = SOURCE.replaceAll("../../../src/services/", "../").replaceAll("../../../src/", "../../");
  writeFileSync(join(dir, "src", "services", "echo", "echo.ts"), here);
  const registry = join(dir, "src", "services", "registry.ts");
  const text = readFileSync(registry, "utf8")
    .replace("import { ETRADE }", 'import { ECHO } from "./echo/echo.ts";\nimport { ETRADE }')
    .replace(/(?<=SERVICES: readonly Service\[\] = \[[^\]]*)\]/, ", ECHO]");
  writeFileSync(registry, text);
  return dir;
}

test("a service of under 150 lines and a line in the registry are checked, polled, tried by doctor, and read again from the journal", async () => {
  const dir = followPage();
  const modules = ["cli/main", "archive/load/readThread"];
  await run(process.execPath, [join(dir, "scripts", "compile.js"), join(dir, "dist"), ...modules]);
  const { url, pool } = await freshDatabase({ migrated: false });
  mkdirSync(join(dir, "jobs"));
  const job = (asked: string): void =>
    writeFileSync(
      join(dir, "jobs", "us.yaml"),
      `name: us\nschedule: "* * * * *"\nsession: always\n${asked}\n`,
    );
  const quotekeeper = async (argv: string[], word = WORD) => {
    const env = {
      ...{ PATH: process.env["PATH"] ?? "", DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: join(dir, "data") },
      ...{ QUOTES_SERVICE: "echo", QUOTES_ACCESS_TOKEN: word },
      QUOTES_BASE_URL: `http://127.0.0.1:${(echo.address() as AddressInfo).port}`,
    };
    return run(process.execPath, [join(dir, "bin", "quotekeeper.js"), ...argv], { cwd: dir, env }).then(
      ({ stdout }) => ({ exitCode: 0, text: stdout }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ exitCode: code, text: stderr }),
    );
  };

  job("watchlist: DEFAULT");
  const refused = await quotekeeper(["jobs", "check"]);
  job("symbols: [AAPL, NOSUCH]");
  const checked = await quotekeeper(["jobs", "check"]);
  const polled = await quotekeeper(["poll", "--symbols", "AAPL,NOSUCH"]);
  const wrong = await quotekeeper(["poll", "--symbols", "AAPL"], "another");
  const tried = await quotekeeper(["doctor"]);
  const rows = `select i.symbol, s.name as source, q.bid::text, q.ask::text, q.last::text, q.delayed
    from quotes q join instruments i on i.id = instrument_id join sources s on s.id = source_id order by i.symbol, q.observed_at`;
  const stored = await rowsOfQuery(pool, rows);
  await pool.query(
    "truncate quotes, extended_quotes, responses, journal_positions, session_bars, dead_letters",
  );
  const replayed = await quotekeeper(["backfill", "--journal", join(dir, "data", "journal")]);

  expect(SOURCE.split("\n").length).toBeLessThan(150);
  expect(refused).toMatchObject({ exitCode: 2, text: expect.stringContaining("Echo has no watchlists") });
  // What is unknown is told, and needs a person.
  expect([checked.exitCode, polled.exitCode, wrong.exitCode, tried.exitCode, replayed.exitCode]).toEqual([
    0, 1, 1, 0, 0,
  ]);
  expect(wrong.text).toContain("SERVICE_UNAUTHORIZED");
  expect(tried.text).toContain("All that is needed holds.");
  const quote = { source: "echo", bid: "10.25", ask: "10.5", last: "10.3", delayed: false };
  expect(stored).toEqual([{ symbol: "AAPL", ...quote }]);
  // What doctor has asked for is in the journal as well.
  expect(await rowsOfQuery(pool, rows)).toEqual([...stored, { symbol: "SPY", ...quote }]);
});
