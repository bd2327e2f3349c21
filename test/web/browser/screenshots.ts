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
    path: "/instrument?name=AAPL&range=5D&interval=5m",
    drawn: ".chart[data-drawn] canvas",
  },
  { name: "chain", path: "/chain?underlying=AAPL", drawn: "[data-picture=term] .curves path" },
  { name: "coverage", path: "/coverage", drawn: "[data-instrument]" },
];

let world: World;
beforeAll(async () => {
  world = await openWorld();
});

test.each(VIEWS.flatMap((view) => [true, false].map((dark) => ({ ...view, dark }))))(
  "$name, dark: $dark",
  async ({ name, path, drawn, dark }) => {
    const { page, settled } = await openPage(world.browser, { dark });
    await page.goto(world.address + path);
    await page.waitForSelector(drawn, { state: "attached" });
    if (name === "coverage") await page.locator(".heat td button").first().click();
    await settled();
    // Charts draw in frames of their own.
    if (name === "instrument") await page.waitForTimeout(500);

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
