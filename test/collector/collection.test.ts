/** A start that fails half-way: what it had opened is closed. */
import { expect, test } from "@jest/globals";
import type { Account } from "../../src/accounts/account.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { openArchive } from "../../src/archive/openArchive.ts";
import { startCollection } from "../../src/collector/collection.ts";
import { credentialsOf } from "../support/accounts.ts";
import { freshDatabase } from "../support/database.ts";
import { silentLog } from "../support/silentLog.ts";
import { tempDir } from "../support/tempDir.ts";

test("a start that cannot open its second account closes the simulated market of the first one", async () => {
  const settings = { DATABASE_URL: (await freshDatabase()).url, QUOTEKEEPER_DATA_DIR: tempDir() };
  const config = loadConfig(settings, tempDir());
  const archive = await openArchive(config, systemClock);
  const simulated: Account = { name: "default", ...config };
  const feed = { kind: "account" as const, baseUrl: "nowhere", credentials: credentialsOf("second") };
  const listening = () => process.getActiveResourcesInfo().filter((one) => one === "TCPServerWrap").length;
  const before = listening();

  const started = startCollection({
    ...{ config, archive, clock: systemClock, bootId: null, onChange: () => undefined },
    log: silentLog as never,
    calm: { ...silentLog, flush: () => undefined },
    jobs: {
      jobs: [],
      calendar: [],
      accounts: [simulated, { ...simulated, name: "second", feed }],
      others: [],
    },
  });

  await expect(started).rejects.toThrow("Invalid URL");
  expect(listening()).toBe(before);
  await archive.close();
});
