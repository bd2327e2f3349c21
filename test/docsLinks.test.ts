/** The pages as a reader finds them: links lead somewhere, every page can be found, and the README's SQL is answered. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { fillFixture } from "../scripts/sql/fixture.ts";
import { answer } from "../scripts/sql/page.ts";
import { run } from "./cli/edges.ts";
import { createTestClock } from "./support/clock.ts";
import { freshDatabase } from "./support/database.ts";
import { tempDir } from "./support/tempDir.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DOCS = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => join("docs", name));
const PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...DOCS];

/** A page without its code, in which brackets mean something else. */
function proseOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8")
    .replace(/^(```|~~~)[^]*?^\1/gm, "")
    .replace(/`[^`\n]*`/g, "");
}

/** Files that a page links to or shows, from the top of the checkout, and their anchors. */
function linksOf(page: string): { path: string; anchor: string }[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = "", anchor = ""] = target.split("#");
    return [{ path: path === "" ? page : relative(ROOT, join(ROOT, dirname(page), path)), anchor }];
  });
}

/** The anchors that GitHub makes of a page's headings. */
function anchorsOf(page: string): string[] {
  return [...readFileSync(join(ROOT, page), "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test.each(PAGES)("every link of %s leads to a file of the checkout, and to a heading of it", (page) => {
  const broken = linksOf(page).filter(({ path, anchor }) => {
    if (!existsSync(join(ROOT, path))) return true;
    return anchor !== "" && statSync(join(ROOT, path)).isFile() && !anchorsOf(path).includes(anchor);
  });

  expect(broken).toEqual([]);
});

test("every page can be found from the first page of the documentation, and that from the README", () => {
  const found = new Set<string>();
  const follow = (page: string): void => {
    // A link that leads nowhere is the test above's.
    if (found.has(page) || !page.endsWith(".md") || !existsSync(join(ROOT, page))) return;
    found.add(page);
    linksOf(page).forEach(({ path }) => follow(path));
  };

  follow("docs/README.md");

  expect(linksOf("README.md").map(({ path }) => path)).toContain("docs/README.md");
  expect(DOCS.filter((page) => !found.has(page))).toEqual([]);
});

test("every page of the documentation begins with its title, and no page is a stub", () => {
  for (const page of DOCS) {
    const text = readFileSync(join(ROOT, page), "utf8").replace(/^<!--.*-->\n\n/, "");
    expect([page, text.slice(0, 2)]).toEqual([page, "# "]);
    expect([page, text.length > 300]).toEqual([page, true]);
  }
});

/** What a page asks below its heading "Ask it". */
function statementsOf(page: string): string[] {
  const [, sql = ""] =
    /^## Ask it$[^]*?^```sql\n([^]*?)^```/m.exec(readFileSync(join(ROOT, page), "utf8")) ?? [];
  return sql.split(";").filter((statement) => statement.trim() !== "");
}

const statements = [...statementsOf("README.md"), ...statementsOf("docs/first-steps.md")];
const { pool, url } = await freshDatabase();
await fillFixture(pool);
const firstAnswer = await answer(pool, statements[0] ?? "");
// An answer of the simulated service at 22:50 UTC, through journal and loader.
await run(
  ["poll", "--symbols", "AAPL"],
  { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() },
  createTestClock("2026-11-20T22:50:00Z"),
);

test("the README asks three questions, and first steps two more", () => {
  expect(["README.md", "docs/first-steps.md"].map((page) => statementsOf(page).length)).toEqual([3, 2]);
});

test("the README shows the made-up archive's answer to its first question", () => {
  const [, shown = ""] = /^```text\n([^]*?)^```/m.exec(readFileSync(join(ROOT, "README.md"), "utf8")) ?? [];

  expect(shown).toBe(firstAnswer);
});

test("the newest release's changes fit on one screen, and say whom they concern", () => {
  const text = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  const [, newest = ""] = /^## \d+\.\d+\.\d+$([^]*?)^## /m.exec(text) ?? [];

  expect(newest.trim().split("\n").length).toBeLessThanOrEqual(45);
  expect([...newest.matchAll(/^### (.*)$/gm)].map(([, whom]) => whom)).toEqual([
    "Newcomers",
    "Operators",
    "People who ask in SQL",
    "Programs that read --json, metrics or exports",
  ]);
});

test("the README fits on one screen, with the commands that CI calls, and one picture", () => {
  const text = readFileSync(join(ROOT, "README.md"), "utf8");

  expect(text.split("\n").length).toBeLessThanOrEqual(60);
  expect(text).toMatch(/^npm ci && npm start\b.*\nnpm ci && npm test\b/m);
  expect(text.match(/<img |!\[/g)).toHaveLength(1);
});

test.each(statements.map((statement) => [/-- (.+)/.exec(statement)?.[1] ?? "", statement] as const))(
  "the archive answers the question of the README or of first steps: %s",
  async (_title, statement) => {
    // The questions of the last day and hour are asked just after the poll above.
    const asked = statement
      .replaceAll("now()", "timestamptz '2026-11-20 23:00+00'")
      .replaceAll("current_date", "date '2026-11-20'");

    const { rows } = await pool.query(asked);

    expect(rows.length).toBeGreaterThan(0);
  },
);
