/** The embedded server on a machine that is slow: whoever finds it starting waits for it. */
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { openEmbedded } from "../../../src/archive/embedded/embeddedServer.ts";
import { createTestClock } from "../../support/clock.ts";
import { openDir } from "../../support/tempDir.ts";

/** How PostgreSQL refuses a connection while it recovers from a crash, in its own protocol: an ErrorResponse. */
const STARTING_UP = (() => {
  const fields = "SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";
  const head = Buffer.alloc(5, "E");
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
})();

test("a server that is recovering from a crash is waited for, however long that takes", async () => {
  const dataDir = openDir();
  const clock = createTestClock();
  await (await openEmbedded(dataDir, clock)).close();
  const pidFile = join(dataDir, "postgres", "postmaster.pid");
  let refused = 0;
  const recovering = createServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end(STARTING_UP));
    refused += 1;
    if (refused < 200) return;
    recovering.close();
    rmSync(pidFile);
  });
  const port = 54_329;
  await new Promise<void>((resolve) =>
    recovering.listen(join(dataDir, "postgres", `.s.PGSQL.${port}`), resolve),
  );
  writeFileSync(pidFile, [process.pid, join(dataDir, "postgres"), 0, port, "", "127.0.0.1"].join("\n"));

  const server = await openEmbedded(dataDir, clock);
  await server.close();

  expect(refused).toBe(200);
});
