import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "@jest/globals";
import { createTestClock } from "../support/clock.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

/** A journal of 10 answers, and the settings with which the commands find it. */
async function journalOfTen() {
  const dataDir = tempDir();
  const dir = join(dataDir, "journal");
  const bodies = Array.from({ length: 10 }, (_, n) => answerRecord(at(n), `<response id="${n}"/>`));
  await appendAll(dir, bodies);
  const [file = ""] = readdirSync(dir);
  return {
    dir,
    path: join(dir, file),
    name: file.split(".")[0] ?? "",
    env: { QUOTEKEEPER_DATA_DIR: dataDir },
  };
}

/** Changes one byte in the body of the fifth answer. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf('<response id="5"/>');
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
  writeFileSync(path, bytes);
}

/** Runs `quotekeeper journal <command>`, and again with --json. */
async function journal(command: string, env: Record<string, string>, ...names: string[]) {
  const text = await run(["journal", command, ...names], env);
  const json = await run(["journal", command, ...names, "--json"], env);
  return { ...text, json: JSON.parse(json.stdout) as unknown, jsonExitCode: json.exitCode };
}

test("journal list shows the segments with their state, size and last write", async () => {
  const { name, env, path } = await journalOfTen();

  const { exitCode, stdout, json } = await journal("list", env);

  const bytes = readFileSync(path).length;
  expect(exitCode).toBe(0);
  // Swedish dates are ISO's.
  const written = statSync(path).mtime.toLocaleString("sv-SE", { timeZone: "America/New_York" });
  expect(stdout).toMatch(/ Last written \(New York\)$/m);
  const size = `${(bytes / 1_000).toFixed(1)} kB`;
  expect(stdout).toMatch(new RegExp(`^${name} +closed +${size} +${size} +${written}$`, "m"));
  expect(json).toEqual([
    { name, state: "closed", bytes, fileBytes: bytes, writtenAt: expect.stringMatching(/Z$/) },
  ]);
});

test("journal verify counts the records of an undamaged journal", async () => {
  const { env } = await journalOfTen();

  const { exitCode, stdout, json } = await journal("verify", env);

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "10 records in 1 segment, all whole.\n" });
  expect(json).toMatchObject({ records: 10, damages: { fresh: 0, setAside: 0 } });
});

test("journal repair has nothing to do in an undamaged journal, which stays as it is", async () => {
  const { env, path, dir } = await journalOfTen();
  const before = readFileSync(path);

  const { exitCode, stdout } = await journal("repair", env);

  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: "Nothing to do: 10 records in 1 segment.\n",
  });
  expect(readFileSync(path)).toEqual(before);
  expect(readdirSync(dir)).toEqual([basename(path), "segments.jsonl"]);
});

test("journal verify names damage with its place, and the damage needs a person until it is set aside", async () => {
  const { env, path, name, dir } = await journalOfTen();
  damage(path);

  const before = await journal("verify", env);
  const repair = await run(["journal", "repair"], env);
  const after = await journal("verify", env);

  expect([before.exitCode, before.jsonExitCode]).toEqual([1, 1]);
  expect(before.stdout).toMatch(new RegExp(`^${name} at \\d+: \\d+ bytes, damaged_body$`, "m"));
  expect(before.stdout).toMatch(/^Whole: 9 records in 1 segment\. New: 1 damaged stretch\./m);
  expect(before.json).toMatchObject({ records: 9, damages: { fresh: 1, setAside: 0 } });
  expect(repair.exitCode).toBe(0);
  expect(repair.stdout).toMatch(/, damaged_body, copied to damaged\/.*\.bin$/m);
  expect(readdirSync(join(dir, "damaged"))).toHaveLength(2);
  expect(after.exitCode).toBe(0);
  expect(after.stdout).toMatch(
    /damaged_body \(set aside\)\n9 records .* 1 damaged stretch was set aside before\.\n$/,
  );
});

test("a file that is no segment is left to a person, exit code 1", async () => {
  const { env, dir } = await journalOfTen();
  writeFileSync(join(dir, "copy of 20261120T22.journal"), "");

  const verify = await journal("verify", env);
  const repair = await journal("repair", env);

  expect([verify.exitCode, verify.jsonExitCode, repair.exitCode, repair.jsonExitCode]).toEqual([1, 1, 1, 1]);
  expect(verify.stdout).toContain("copy of 20261120T22.journal: no segment has such a name");
});

test("journal verify names a missing segment, which turns status red until it is accepted", async () => {
  const { env, path, name, dir } = await journalOfTen();
  await appendAll(dir, [answerRecord(at(60), "<response/>")], {
    clock: createTestClock("2026-11-20T23:00:00Z"),
  });
  rmSync(path);

  const verify = await journal("verify", env);
  const red = await run(["status"], env);
  const accept = await journal("accept", env, name);
  const after = await journal("verify", env);
  const green = await run(["status"], env);

  expect([verify.exitCode, verify.jsonExitCode]).toEqual([1, 1]);
  expect(verify.stdout).toContain(`${name}: missing: its file is not there\n`);
  expect(verify.json).toMatchObject({ findings: [{ segment: name, problem: "missing" }] });
  expect(red.stdout).toMatch(
    new RegExp(`^journal +ATTENTION +JOURNAL_INCOMPLETE: .*missing: ${name}.*journal verify`, "m"),
  );
  expect(accept).toMatchObject({ exitCode: 0, stdout: `${name}: may be elsewhere from now on\n` });
  expect(after).toMatchObject({ exitCode: 0, stdout: "1 record in 1 segment, all whole.\n" });
  expect(green.stdout).toMatch(/^journal +ok /m);
});

test("journal accept takes a missing segment by name or by day, and not without either", async () => {
  const { env } = await journalOfTen();

  expect(await run(["journal", "accept"], env)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("--before"),
  });
  expect(await run(["journal", "accept", "--before", "2026-11-21"], env)).toMatchObject({
    exitCode: 0,
    stdout: "Nothing to accept.\n",
  });
});

test("a journal that was never begun is empty and healthy", async () => {
  const env = { QUOTEKEEPER_DATA_DIR: join(tempDir(), "data") };

  const list = await journal("list", env);
  const verify = await journal("verify", env);

  expect(list).toMatchObject({ exitCode: 0, stdout: "The journal is empty.\n", json: [] });
  expect(verify).toMatchObject({ exitCode: 0, stdout: "0 records in 0 segments, all whole.\n" });
});

test("journal verify names a segment that only the database knows, and journal accept takes it as gone", async () => {
  const { url, pool } = await freshDatabase();
  const { dir, name, env: files } = await journalOfTen();
  const env = { ...files, DATABASE_URL: url };
  await pool.query("insert into journal_positions (segment, loaded_to, loaded_at) values ($1, 1000, now())", [
    name,
  ]);
  const whole = await journal("verify", env);
  rmSync(dir, { recursive: true });

  const { exitCode, stdout } = await run(["journal", "verify"], env);
  const accepted = await run(["journal", "accept", name], env);
  const { exitCode: after } = await run(["journal", "verify"], env);

  expect(whole.exitCode).toBe(0);
  expect(exitCode).toBe(1);
  expect(stdout).toContain(`${name}: missing: the database has loaded it`);
  expect(accepted).toMatchObject({ exitCode: 0, stdout: `${name}: may be elsewhere from now on\n` });
  expect(after).toBe(0);
});

test("journal verify says that a database which is away was not asked, and verifies the files", async () => {
  const { env } = await journalOfTen();
  const away = { ...env, DATABASE_URL: "postgresql://nobody@127.0.0.1:1/nothing" };

  const { exitCode, stdout, stderr } = await run(["journal", "verify"], away);

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "10 records in 1 segment, all whole.\n" });
  expect(stderr).toMatch(/^The database was not asked.*DATABASE_UNREACHABLE/);
});

test("a journal that is not where a collector has run is red in status, with its time where that is known", async () => {
  const dataDir = tempDir();
  const lineOf = async (): Promise<string | undefined> => {
    const { stdout } = await run(["status"], { QUOTEKEEPER_DATA_DIR: dataDir });
    return /^journal .*$/m.exec(stdout)?.[0];
  };
  const before = await lineOf();
  writeFileSync(join(dataDir, "clock.json"), "{}");
  const removed = await lineOf();
  mkdirSync(join(dataDir, "journal"));
  writeFileSync(join(dataDir, "journal-gone.json"), JSON.stringify({ since: "2026-11-20T15:03:05.000Z" }));
  const madeAgain = await lineOf();

  expect(before).toMatch(/^journal +- +empty/);
  expect(removed).toMatch(
    /^journal +ATTENTION JOURNAL_REMOVED: .*journal is not there, although a collector/,
  );
  expect(madeAgain).toMatch(
    /^journal +ATTENTION .*answers have been lost since 2026-11-20 10:03:05 New York/,
  );
});
