/** An embedded server that went away and has another port when it is back. */
import { chmodSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { openArchive } from "../../src/archive/openArchive.ts";
import { databaseError } from "../../src/archive/connect/databaseError.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { killPostmaster } from "../faults/kit/server.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

// A cluster is made, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Takes a port as soon as it is free. */
async function occupy(port: number): Promise<Server> {
  for (;;) {
    const server = createServer();
    const taken = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (taken) return server;
  }
}

test("every pool finds the embedded server again when another program has taken its port meanwhile", async () => {
  const dir = tempDir();
  chmodSync(dir, 0o755);
  const archive = await openArchive(
    loadConfig({ QUOTEKEEPER_DATA_DIR: join(dir, "data") }, dir),
    systemClock,
  );
  closers.push(() => archive.close());
  const reader = archive.openReader();
  closers.push(() => reader.end());
  const before = archive.readerUrl;
  const cluster = join(dir, "data", "postgres");
  await archive.pool.query("select 1");

  const port = Number(readFileSync(join(cluster, "postmaster.pid"), "utf8").split("\n")[3]);
  await killPostmaster(cluster);
  const other = await occupy(port);
  closers.push(() => other.close());
  await archive.revive();

  expect(archive.readerUrl).not.toBe(before);
  for (const pool of [archive.pool, reader])
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});

test("an embedded server that ended is started again at the first refusal, whichever pool meets it, and says so", async () => {
  const dir = tempDir();
  chmodSync(dir, 0o755);
  const config = loadConfig({ QUOTEKEEPER_DATA_DIR: join(dir, "data") }, dir);
  const archive = await openArchive(config, systemClock);
  closers.push(() => archive.close());
  const reader = archive.openReader();
  closers.push(() => reader.end());
  await reader.query("select 1");

  await killPostmaster(join(dir, "data", "postgres"));
  const told: string[] = [];
  const { rows } = await until(
    () =>
      reader.query("select 1 as one").catch((error: unknown) => {
        told.push(databaseError(error, archive.address).message);
        return null;
      }),
    "the server that came back",
  );

  expect(rows).toEqual([{ one: 1 }]);
  expect(told.join("\n")).toMatch(
    /^EMBEDDED_ENDED: .* does not run, and is being started. Nothing has to be done/m,
  );
  expect(told.join("\n")).not.toContain("EMBEDDED_FAILED");
});
