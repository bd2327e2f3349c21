/** What may be read and written by other users of the machine, where nobody's umask protects it. */
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { beginRun } from "../../src/ledger/runMarker.ts";
import type { Account } from "../../src/accounts/account.ts";
import { onceJob } from "../../src/cli/askOnce.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { putOnce } from "../../src/collector/once/onceFiles.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";
import { nodeFs } from "../../src/journal/fs.ts";
import { setAside } from "../../src/journal/quarantine.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { answer, open } from "../journal/world.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

// A cluster is made, which takes as long as the machine is slow.
jest.setTimeout(300_000);

let umask = 0;
beforeEach(() => void (umask = process.umask(0)));
afterEach(() => void process.umask(umask));

/** Everything below a directory that has one of these bits, with its mode. */
function having(bits: number, dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .map((name) => ({ name, mode: statSync(join(dir, name)).mode & 0o777 }))
    .filter(({ mode }) => (mode & bits) !== 0)
    .map(({ name, mode }) => `${mode.toString(8)} ${name}`);
}

test("under a umask of 000 others may neither look into the data directory nor read or write anything in it", async () => {
  const parent = tempDir();
  chmodSync(parent, 0o755);
  const dir = join(parent, "data");
  const env = { QUOTEKEEPER_DATA_DIR: dir };

  const polled = await run(["poll", "--symbols", "AAPL"], env);
  const added = await run(["serve", "keys", "add"], env);
  await beginRun(dir, new Date(0));
  const account = { name: "default", service: REFERENCE, feed: { kind: "simulated" } } as Account;
  await putOnce(dir, onceJob([account], { name: "poll", symbols: ["AAPL"] }), systemClock);

  expect([polled.exitCode, added.exitCode]).toEqual([0, 0]);
  // Root's database belongs to another user, who must pass.
  expect((statSync(dir).mode & 0o777).toString(8)).toBe(process.getuid?.() === 0 ? "711" : "700");
  expect(having(0o077, dir)).toEqual([]);
  expect(readdirSync(dir).sort()).toEqual([
    ...["collector", "journal", "once", "postgres", "serve", "unaccounted.json"],
  ]);
});

test("a journal's compressed segments and the damage set aside are their owner's alone", async () => {
  const dir = join(tempDir(), "journal");
  const journal = await open(dir);
  await journal.append(answer(1));
  await journal.close();
  const upkeep = await open(dir);
  await upkeep.compressClosed();
  await upkeep.close();
  const [segment] = await listSegments(dir);
  await setAside({ dir, fs: nodeFs }, segment?.name ?? "", {
    damage: { offset: 0, length: 8, reason: "bad_header" },
    inFile: null,
  });

  expect(segment?.state).toBe("compressed");
  expect(having(0o077, dir)).toEqual([]);
});
