/** Draws docs/images/ anew, in light and dark: `npm run test:web -- --screenshots`. */
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "@jest/globals";
import { openPage, openWorld, type World } from "./world.ts";

const IMAGES = fileURLToPath(new URL("../../../docs/images/", import.meta.url));

/** Each view, and what stands there when it is drawn. */
const VIEWS = [
  { name: "now", path: "/", drawn: "[data-testid=calls-used]" },
  { name: "quotes", path: "/quotes", drawn: "table.quotes tbody tr" },
  {
    name: "instrument",
    path: "/instrument?name=AAPL&range=5D&interval=5m&indicators=vwap,spread,ema20",
    drawn: ".chart[data-drawn] canvas",
  },
  { name: "chain", path: "/chain?underlying=AAPL", drawn: "[data-picture=term] .curves[data-drawn]" },
  { name: "coverage", path: "/coverage", drawn: "[data-instrument]" },
  { name: "health", path: "/health?span=4+weeks", drawn: ".columns rect[data-tone=down]" },
  { name: "jobs", path: "/jobs", drawn: ".asks .facts" },
];

let world: World;
beforeAll(async () => {
  world = await openWorld();
});

test.each(VIEWS.flatMap((view) => [true, false].map((dark) => ({ ...view, dark }))))(
  "$name, dark: $dark",
  async ({ name, path, drawn, dark }) => {
    const { page, settled } = await openPage(world.browser, { dark });
    // The directory of the jobs is one of the machine that draws.
    await page.route("**/api/jobs", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), dir: "./jobs" } });
    });
    await page.goto(world.address + path);
    await page.waitForSelector(drawn, { state: "attached" });
    if (name === "coverage") await page.locator(".heat button[data-level=part]").first().click();
    await settled();
    // Charts draw in frames of their own.
    if (name === "instrument" || name === "chain") await page.waitForTimeout(500);

    await page.screenshot({ path: `${IMAGES}${name}-${dark ? "dark" : "light"}.png` });

    expect(await page.locator(drawn).count()).toBeGreaterThan(0);
  },
);

test("now, on a phone", async () => {
  const { page, settled } = await openPage(world.browser, { width: 360, height: 740 });
  await page.goto(world.address);
  await page.waitForSelector("[data-testid=calls-used]");
  await settled();

  await page.screenshot({ path: `${IMAGES}now-phone.png` });
});
