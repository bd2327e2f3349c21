import { expect, test } from "@jest/globals";
import { freshDatabase } from "../support/database.ts";
import { run } from "./edges.ts";

test("an empty database gets the schema; a second run finds nothing to do", async () => {
  const { url, pool, name } = await freshDatabase({ migrated: false });

  const first = await run(["migrate"], { DATABASE_URL: url });
  const second = await run(["migrate"], { DATABASE_URL: url });

  expect(first).toMatchObject({ exitCode: 0, stderr: "" });
  expect(first.stdout).toMatch(/^applied 0029_baseline.sql\n(applied 00\d\d_\w+\.sql\n)+applied 10_/);
  expect(second).toMatchObject({ exitCode: 0, stderr: "" });
  expect(second.stdout).toMatch(new RegExp(`/${name} is at schema version \\d+, nothing to do\n$`));
  await expect(pool.query("select from quotes")).resolves.toMatchObject({ rowCount: 0 });
});

test("--json prints database, version and what was applied", async () => {
  const { url } = await freshDatabase({ migrated: false });

  const first = await run(["migrate", "--json"], { DATABASE_URL: url });
  const second = await run(["migrate", "--json"], { DATABASE_URL: url });

  const { version, applied } = JSON.parse(first.stdout) as { version: number; applied: string[] };
  expect(applied).toEqual(expect.arrayContaining(["0029_baseline.sql", "20_bars.sql"]));
  expect(JSON.parse(second.stdout)).toMatchObject({ version, applied: [] });
});

test("a user the database does not know is named as refused, exit code 1", async () => {
  const url = new URL((await freshDatabase()).url);
  url.username = "nobody_of_that_name";
  url.password = "canary-password";

  const { exitCode, stderr } = await run(["migrate"], { DATABASE_URL: url.href });

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^DATABASE_REFUSED: .*Correct DATABASE_URL/);
  expect(stderr).not.toContain("canary");
});
