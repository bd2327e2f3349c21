/** Help in a browser: its pages, its search, its keys. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { openPage, openWorld, type World } from "./world.ts";

const VERSION = (
  JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string }
).version;

let world: World;
beforeAll(async () => {
  world = await openWorld();
});

async function open(path: string): Promise<Page> {
  const { page } = await openPage(world.browser);
  await page.goto(world.address + path);
  await page.waitForSelector("main h1");
  return page;
}

const focused = (page: Page): Promise<string | null> =>
  page.evaluate(
    () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.id ?? null,
  );

test("is loaded when it is opened, with ?, from any view, and one can type at once", async () => {
  const page = await open("/coverage");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));

  await page.keyboard.press("?");
  await page.waitForSelector(".doc");

  expect(new URL(page.url()).pathname).toBe("/help");
  expect(asked).toContain("/docs/first-page.json");
  expect(asked.some((path) => /^\/assets\/help-.*\.js$/.test(path))).toBe(true);
  expect(asked).not.toContain("/docs/deploy.json");
  expect(await focused(page)).toBe("Search Help");
  expect(await page.locator("nav a[aria-current]").textContent()).toBe("Help");
  expect(await page.title()).toContain("Help");
  await page.waitForSelector(`text=quotekeeper ${VERSION}.`);
});

test("a ? that somebody types into a field is a letter", async () => {
  const page = await open("/quotes");

  await page.getByRole("searchbox").first().focus();
  await page.keyboard.type("?");

  expect(new URL(page.url()).pathname).toBe("/quotes");
});

test("the search finds as one types, shows where, and Enter opens the first place", async () => {
  const page = await open("/help");

  await page.getByLabel("Search Help").pressSequentially("certificate sslmode");
  // Each hit's words come with the file of its own page; those of others may be here first.
  await page.waitForSelector(".hits li:first-child a[href^='/help/database-server'] ~ p mark");
  const first = page.locator(".hits li").first();
  const href = await first.locator("a").getAttribute("href");
  const marked = await first.locator("mark").allTextContents();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".doc");

  expect(href).toMatch(/^\/help\/database-server/);
  expect(marked.map((text) => text.toLowerCase())).toEqual(
    expect.arrayContaining([expect.stringMatching(/certificate|sslmode/)]),
  );
  expect(page.url()).toBe(world.address + href);
  await page.goBack();
  await page.waitForSelector(".hits mark");
  expect(await page.getByLabel("Search Help").inputValue()).toBe("certificate sslmode");
});

test("the arrow keys go through what was found and back to the field, Escape ends the search", async () => {
  const page = await open("/help?search=journal");
  await page.waitForSelector(".hits mark");
  const second = await page.locator(".hits a").nth(1).getAttribute("href");

  await page.getByLabel("Search Help").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const there = await page.evaluate(() => document.activeElement?.getAttribute("href"));
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  const back = await focused(page);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".doc");

  expect(there).toBe(second);
  expect(back).toBe("Search Help");
  expect(await focused(page)).toBe("Search Help");
  expect(new URL(page.url()).search).toBe("");
});

test("what no page says is said to be so", async () => {
  const page = await open("/help?search=xyzzyplugh");

  await page.waitForSelector("text=No page says anything of “xyzzyplugh”");
  expect(await page.locator(".hits li").count()).toBe(0);
});

test("a link leads to a heading of another page, and to one of its own", async () => {
  const page = await open("/help/backfill-journal");

  await page.locator(".doc a[href='/help/backfill#what-holds-for-all-of-them']").click();
  await page.waitForFunction(() => document.activeElement?.id === "what-holds-for-all-of-them");
  const top = await page.evaluate(
    () => document.getElementById("what-holds-for-all-of-them")?.getBoundingClientRect().top ?? -1,
  );
  await page.goto(`${world.address}/help/deploy`);
  await page.locator(".doc a[href='#systemd']").click();
  await page.waitForFunction(() => document.activeElement?.id === "systemd");

  // Below the bar, which stays on top.
  expect(top).toBeGreaterThan(40);
  expect(page.url()).toBe(`${world.address}/help/deploy#systemd`);
});

test("a page that Help does not have says so", async () => {
  const page = await open("/help/no-such-page");

  await page.waitForSelector("text=Help has no such page");
});
