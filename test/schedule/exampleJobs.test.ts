/** `quotekeeper start` where there are no job files. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "@jest/globals";
import { offerExampleJobs } from "../../src/schedule/exampleJobs.ts";
import { DEFAULT_JOBS_DIR } from "../../src/config/environment.ts";
import { type Config, loadConfig } from "../../src/config/loadEnvironment.ts";
import { accountAt } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";

const EXAMPLES = fileURLToPath(new URL("../../jobs/", import.meta.url));
const ACCOUNT = accountAt("https://api.broker.example");

const home = process.cwd();
afterEach(() => process.chdir(home));

/** What is said, and what ./jobs holds afterwards, started with these settings in a directory of its own. */
async function offered(env: Record<string, string>, prepare: (dir: string) => void = () => undefined) {
  const dir = tempDir();
  process.chdir(dir);
  prepare(dir);
  const config: Config = loadConfig(env, dir);
  let said = "";
  await offerExampleJobs(config, { write: (text) => void (said += text) });
  return { dir, said, entries: readdirSync(dir).sort() };
}

test("a start without an account, in an empty directory, writes the example jobs to ./jobs, whole, and says so", async () => {
  const { dir, said, entries } = await offered({});

  expect(entries).toEqual(["jobs"]);
  expect(said).toContain(join(dir, "jobs"));
  expect(said).toContain("us-equities.yaml");
  for (const name of readdirSync(EXAMPLES))
    expect(readFileSync(join(dir, DEFAULT_JOBS_DIR, name))).toEqual(readFileSync(join(EXAMPLES, name)));
});

test("a start with an account writes no example jobs: its calls are for what its owner asks for", async () => {
  expect(await offered(ACCOUNT)).toMatchObject({ said: "", entries: [] });
});

test("a start with a named jobs directory writes no example jobs", async () => {
  expect(await offered({ QUOTEKEEPER_JOBS_DIR: "./mine" })).toMatchObject({ said: "", entries: [] });
});

test("a start beside a directory ./jobs, even an empty one, writes no example jobs", async () => {
  const { dir, said } = await offered({}, (at) => mkdirSync(join(at, "jobs")));

  expect({ said, names: readdirSync(join(dir, "jobs")) }).toEqual({ said: "", names: [] });
});

test("where the examples cannot be written, the error names the directory", async () => {
  const dir = tempDir();
  process.chdir(dir);
  // A file in the way of the draft, as a directory without rights would be for anybody but root.
  writeFileSync(join(dir, `jobs.new-${process.pid}`), "");

  await expect(
    offerExampleJobs({ jobsDir: DEFAULT_JOBS_DIR, feed: { kind: "simulated" } }, { write: () => undefined }),
  ).rejects.toMatchObject({ code: "JOBS_UNREADABLE", detail: expect.stringContaining(join(dir, "jobs")) });
});
