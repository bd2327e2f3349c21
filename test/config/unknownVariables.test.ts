import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { VARIABLE_NAMES } from "../../src/config/environment.ts";
import { misspeltSettings } from "../../src/config/settingSources.ts";
import { describeUnknown, unknownVariables } from "../../src/config/unknownVariables.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "../cli/edges.ts";

test.each([
  ["QUOTES_LIMITS", "QUOTES_LIMIT"],
  ["QUOTEKEEPER_DATADIR", "QUOTEKEEPER_DATA_DIR"],
  ["QUOTEKEEPER_LOGLEVEL", "QUOTEKEEPER_LOG_LEVEL"],
  ["QUOTES_CONSUMER_SECRETS_FILE", "QUOTES_CONSUMER_SECRET_FILE"],
  ["quotes_base_url", "QUOTES_BASE_URL"],
  ["QOUTES_BASE_URL", "QUOTES_BASE_URL"],
  ["DATABSE_URL", "DATABASE_URL"],
])("%s is taken for a misspelt %s", (name, meant) => {
  expect(unknownVariables([name])).toEqual([{ name, meant }]);
});

test("a name of ours that is near no setting is named all the same", () => {
  const [unknown] = unknownVariables(["QUOTEKEEPER_TELEPORTATION_FREQUENCY"]);

  expect(unknown).toEqual({ name: "QUOTEKEEPER_TELEPORTATION_FREQUENCY", meant: null });
  expect(unknown && describeUnknown(unknown)).toContain("docs/configuration.md lists them all");
});

test("settings, the files of their secrets and other programs' variables are none", () => {
  const others = ["PATH", "HOME", "LIMIT", "PGHOST", "DATABASE_HOST", "QUOTES_ACCESS_TOKEN_FILE"];

  expect(unknownVariables([...VARIABLE_NAMES, ...others])).toEqual([]);
});

test("a misspelt setting is looked for in .env as well, and a variable that is set to nothing is not set", () => {
  const dir = tempDir();
  writeFileSync(join(dir, ".env"), "QUOTES_LIMITS=60\n");

  expect(misspeltSettings({ QUOTES_LIMTI: "" }, dir)).toEqual([
    { name: "QUOTES_LIMITS", meant: "QUOTES_LIMIT" },
  ]);
});

test("a command says so on stderr, without the value, and goes on", async () => {
  const { exitCode, stderr, stdout } = await run(["calendar", "--from", "2026-11-20", "--to", "2026-11-20"], {
    QUOTES_CONSUMER_SECERT: "canary",
  });

  expect(exitCode).toBe(0);
  expect(stdout).toContain("2026-11-20");
  expect(stderr).toContain(
    "QUOTES_CONSUMER_SECERT is not a setting of quotekeeper and is ignored. Did you mean QUOTES_CONSUMER_SECRET?\n",
  );
  expect(stderr).not.toContain("canary");
});
