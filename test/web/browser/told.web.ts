/** What a page says when something beside its server is wrong: the collector, the database, a newer version, the login, a proxy's path. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import type { NowView } from "../../../src/web/api/types.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { faultsOf } from "./faults.ts";
import { countedWire } from "./wire.ts";
import { DASHBOARD, openBrowser, openPage, smallArchive, startProcess } from "./world.ts";

const SECOND_MS = 1_000;

const directory = tempDir();
let bin: string;
let browser: Browser;
beforeAll(async () => {
  bin = compileProgram(join(directory, "program"));
  mkdirSync(join(directory, "jobs"));
  writeFileSync(
    join(directory, "jobs", "us.yaml"),
    'name: us\nschedule: "* * * * * *"\ntimezone: America/New_York\nsession: any\nsymbols: [AAPL]\n',
  );
  browser = await openBrowser();
});

const closers: (() => Promise<unknown> | unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

const serve = (env: Record<string, string>, command = "web") =>
  startProcess(bin, [command], {
    directory,
    env: { QUOTEKEEPER_DATA_DIR: tempDir(), ...env },
    says: DASHBOARD,
  });

/** A page that is live at an address. */
async function livePage(address: string, path = "/"): Promise<Page> {
  const { page } = await openPage(browser);
  await page.goto(address + path);
  await page.waitForSelector(".connection[data-state=live]");
  return page;
}

/** Rows stand on these. */
const WITH_ROWS = {
  Quotes: "table.quotes tbody tr",
  Chain: "[role=tab]",
  Chart: ".chart",
  Coverage: "main h1",
};

test.each([
  ["silent", "timeout"],
  ["gone", "ECONNREFUSED"],
])(
  "a database that is %s is told on every view with rows, which are grey, until it answers again",
  async (how, words) => {
    const url = new URL(await smallArchive());
    const wire = await countedWire(`http://${url.host}`);
    closers.push(wire.close);
    const through = new URL(url);
    through.host = new URL(wire.address).host;
    const { address } = await serve({ DATABASE_URL: through.href });
    const page = await livePage(address, "/quotes");
    await page.waitForSelector(WITH_ROWS.Quotes);

    if (how === "silent") wire.swallow(true);
    else wire.close();
    const found: Record<string, unknown> = {};
    for (const [name, drawn] of Object.entries(WITH_ROWS)) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.waitForSelector("main > .note:has-text('DATABASE_UNREACHABLE')");
      found[name] = {
        drawn: name === "Quotes" ? await page.locator(drawn).count() : 0,
        grey: await page.locator(".view[data-old]").count(),
        remedy: /DATABASE_URL/.test((await page.locator("main > .note").textContent()) ?? ""),
      };
    }
    const note = await page.locator("main > .note").textContent();

    expect(found).toEqual(
      Object.fromEntries(
        Object.keys(WITH_ROWS).map((name) => [name, { drawn: expect.any(Number), grey: 1, remedy: true }]),
      ),
    );
    expect(note).toContain(words);
    expect(await page.locator(".connection").getAttribute("data-state")).toBe("live");
    if (how === "silent") {
      wire.swallow(false);
      await page.waitForSelector("main > .note", { state: "detached" });
      expect(await page.locator(".view[data-old]").count()).toBe(0);
    }
  },
);

test("a collector that was killed is told by the page of another process, in red as soon as a poll was due, and nothing is called well", async () => {
  const { url } = await freshDatabase();
  const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() };
  const { child } = await startProcess(bin, ["collect"], { directory, env, says: /(Collecting|Jobs)/ });
  const { address } = await serve(env);
  const page = await livePage(address);
  await page.waitForSelector(".verdict[data-tone=good]");

  child.kill("SIGKILL");
  await page.waitForSelector(".verdict[data-tone=alarm]:has-text('collector')");

  expect(await page.locator(".lines").textContent()).toMatch(/collector.*quotekeeper start/);
  expect(await page.locator("main").textContent()).not.toContain("All is well");
  expect(await faultsOf(page)).toEqual([]);
});

test("a newer page at the server is told, and loaded when nothing is being typed", async () => {
  const { address } = await serve({ DATABASE_URL: await smallArchive() });
  const { page } = await openPage(browser);
  let isNewer = false;
  await page.route("**/api/now", async (route) => {
    const view = (await (await route.fetch()).json()) as NowView;
    const newer = { ...view, page: { ...view.page, version: "9.9.9", script: "index-another.js" } };
    return route.fulfill({ json: isNewer ? newer : view });
  });
  let loads = 0;
  page.on("load", () => (loads += 1));
  await page.goto(`${address}/quotes`);
  await page.waitForSelector(WITH_ROWS.Quotes);
  const field = page.getByRole("searchbox").last();

  await field.pressSequentially("AA");
  isNewer = true;
  const bar = page.locator(".verdict:has-text('A newer version runs')");
  await bar.waitFor();
  const words = await bar.textContent();
  await page.waitForTimeout(5 * SECOND_MS);
  const whileTyping = [loads, await field.inputValue()];
  isNewer = false;
  await field.blur();
  await page.waitForEvent("load");

  expect(words).toContain("9.9.9");
  expect(whileTyping).toEqual([1, "AA"]);
  await page.waitForSelector(WITH_ROWS.Quotes);
  expect(await bar.count()).toBe(0);
});

test("a page whose login has ended asks for the token again, and goes on where it was", async () => {
  const token = "a-token-of-the-test-0123456789";
  const { address } = await serve({ DATABASE_URL: await smallArchive(), QUOTEKEEPER_WEB_TOKEN: token });
  const { page } = await openPage(browser);
  await page.goto(`${address}/quotes`);
  const logIn = async (): Promise<void> => {
    await page.getByLabel("Token of this dashboard").fill(token);
    await page.keyboard.press("Enter");
    await page.waitForSelector(WITH_ROWS.Quotes);
  };
  await logIn();

  await page.context().clearCookies();
  await page.getByLabel("Token of this dashboard").waitFor();
  const rows = await page.locator(WITH_ROWS.Quotes).count();
  await logIn();

  expect(rows).toBe(0);
  expect(new URL(page.url()).pathname).toBe("/quotes");
});

test("below a path of a proxy every view works, and nothing is asked for outside of it", async () => {
  const { address } = await serve({ DATABASE_URL: await smallArchive() });
  const strangers: string[] = [];
  const proxy = createServer((asked, answer) => {
    const path = asked.url ?? "";
    if (!path.startsWith("/quotes/")) {
      strangers.push(path);
      return void answer.writeHead(404).end();
    }
    const onward = request(`${address}${path.slice("/quotes".length)}`, {
      method: asked.method,
      headers: asked.headers,
    });
    onward.on("response", (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    asked.pipe(onward);
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  closers.push(() => proxy.close());
  const { port } = proxy.address() as { port: number };

  const page = await livePage(`http://127.0.0.1:${port}`, "/quotes/");
  for (const [name, drawn] of Object.entries(WITH_ROWS)) {
    await page.getByRole("link", { name, exact: true }).click();
    await page.waitForSelector(drawn);
    expect(new URL(page.url()).pathname).toMatch(/^\/quotes\/\w+$/);
    await page.reload();
    await page.waitForSelector(drawn);
  }
  await page.getByRole("link", { name: "Help" }).click();
  await page.waitForSelector("h1:text('Documentation')");
  await page.getByRole("link", { name: "quotekeeper" }).first().click();
  await page.waitForSelector(".connection[data-state=live]");

  expect(strangers.filter((path) => path !== "/favicon.ico")).toEqual([]);
});
