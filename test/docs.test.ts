import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { ACCOUNTS_EXAMPLE } from "../scripts/docs/accounts.ts";
import { CALENDAR_EXAMPLE, JOB_EXAMPLES } from "../scripts/docs/jobs.ts";
import { generatePages, type Page } from "../scripts/docs/pages.ts";
import { readPages } from "../scripts/help/plugin.ts";
import { readAccounts } from "../src/accounts/accountsFile.ts";
import { createProgram } from "../src/cli/program.ts";
import { VARIABLE_NAMES } from "../src/config/environment.ts";
import { loadConfig } from "../src/config/loadEnvironment.ts";
import { readJobs } from "../src/schedule/readJobs.ts";
import { jobSchema } from "../src/schedule/jobSchema.ts";
import { ERRORS } from "../src/ground/errors.ts";
import { capturedEdges } from "./cli/edges.ts";
import { tempDir } from "./support/tempDir.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const pages = await generatePages();

function page(path: string): string {
  return pages.find((one) => one.path === path)?.text ?? "";
}

test.each(pages)("$path says what the program does today (npm run docs)", ({ path, text }: Page) => {
  const onDisk = readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

  expect(onDisk).toBe(text);
});

test("the page of errors names every error and what to do about it", () => {
  const text = page("docs/errors.md");

  for (const [code, { hint }] of Object.entries(ERRORS)) {
    expect(text).toContain(`\`${code}\``);
    expect(text).toContain(hint);
  }
});

test("the page of settings and the example file name every variable", () => {
  for (const name of VARIABLE_NAMES) {
    expect(page("docs/configuration.md")).toContain(`| \`${name}\``);
    expect(page(".env.example")).toContain(`# ${name}=`);
  }
});

test("the example file of settings sets nothing until somebody takes a # away", () => {
  const set = page(".env.example")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

  expect(set).toEqual([]);
});

test("the page of commands shows the help of every command", async () => {
  const { edges } = capturedEdges();

  for (const command of (await createProgram(edges, () => undefined)).commands)
    expect(page("docs/cli.md")).toContain(`## quotekeeper ${command.name()}\n`);
});

test("every statement that a page shows ends with a semicolon: psql waits for it", () => {
  const open = [...readPages(ROOT)].flatMap(([file, text]) =>
    [...text.matchAll(/^( *)```sql\n([^]*?)^\1```$/gm)].flatMap(([, indent = "", block = ""]) =>
      block
        .replaceAll(new RegExp(`^${indent}`, "gm"), "")
        // A comment at the margin, or an empty line, stands between two statements.
        .split(/^(?:--.*)?\n/m)
        .map((statement) => statement.replaceAll(/ *--.*$/gm, "").trim())
        .filter((statement) => statement !== "" && !statement.endsWith(";"))
        .map((statement) => `${file}: ${statement.split("\n").at(-1)}`),
    ),
  );

  expect(open).toEqual([]);
});

test("the page of job files names every option of a job", () => {
  for (const name of Object.keys(jobSchema.shape)) expect(page("docs/jobs.md")).toContain(`| \`${name}\``);
});

test("the page of job files shows examples that are right", async () => {
  const dir = tempDir();
  for (const [name, text] of Object.entries(JOB_EXAMPLES)) writeFileSync(join(dir, `${name}.yaml`), text);
  writeFileSync(join(dir, "calendar.yaml"), CALENDAR_EXAMPLE);
  writeFileSync(join(dir, "watched.txt"), "AAPL\nMSFT\n");

  const { jobs, calendar, problems } = await readJobs(dir);

  expect(problems).toEqual([]);
  expect(jobs).toHaveLength(Object.keys(JOB_EXAMPLES).length);
  expect(calendar).toHaveLength(2);
});

test("the page of accounts shows a file that is right, once its secrets are there", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, "accounts.yaml"), ACCOUNTS_EXAMPLE);
  mkdirSync(join(dir, "secrets"));
  for (const [, file = ""] of ACCOUNTS_EXAMPLE.matchAll(/File: (.*)/g))
    writeFileSync(join(dir, file), file, { mode: 0o600 });
  const variables = [...ACCOUNTS_EXAMPLE.matchAll(/Variable: (.*)/g)].map(([, name = ""]) => [name, name]);

  const { accounts, problems } = await readAccounts(dir, loadConfig(Object.fromEntries(variables), dir));

  expect(problems).toEqual([]);
  expect(accounts).toMatchObject([
    { name: "default", limit: 60 },
    { name: "second", limit: 120 },
  ]);
});
