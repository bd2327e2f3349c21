import { expect, test } from "@jest/globals";
import { security } from "../../../src/market/instrument.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { run } from "../../cli/edges.ts";

const market = createSimulatedMarket({ seed: 3 });
const AAPL = security("AAPL");

test("at speed 60 a minute of the clock is an hour of the market, and delayed means 15 minutes of the market", async () => {
  const playback = { from: "2026-03-11T15:00:00.000000Z", startedMs: 0, speed: 60, loopTo: null };
  const source = createSimulatedMarket({ seed: 3, playback });
  const now = new Date(60_000);

  const [realTime] = await source.quotes([AAPL], { now, delayed: false });
  const [delayed] = await source.quotes([AAPL], { now, delayed: true });
  const [byDefault] = await source.quotes([AAPL], { now, delayed: null });

  expect(realTime).toEqual(market.quote(AAPL, new Date("2026-03-11T16:00:00Z")));
  expect(delayed).toEqual(market.quote(AAPL, new Date("2026-03-11T15:45:00Z")));
  expect(byDefault).toEqual(delayed);
});

test("a quote that was given before is the quote that a market without memory gives", () => {
  const at = (minute: number): Date => new Date(Date.UTC(2026, 2, 8, 6, minute, 7));
  const used = createSimulatedMarket({ seed: 3 });

  for (const minute of [0, 15, 0, 30, 90, 15, 0])
    expect(used.quote(AAPL, at(minute))).toEqual(createSimulatedMarket({ seed: 3 }).quote(AAPL, at(minute)));
});

test.each([
  [["--loop"], /^USAGE: --loop is for --source archive/],
  [["--rows", "real"], /^USAGE: --rows is for --source archive/],
  [["--watchlists", "lists.yaml"], /^USAGE: --watchlists is for --source archive/],
])("%j beside a simulated market is wrong usage", async (flags, said) => {
  const { exitCode, stderr } = await run(["serve", "--source", "simulated", ...flags]);

  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(said) });
});

test("a market remembers the quotes of a few hundred instruments, and forgets them among thousands", () => {
  const at = new Date("2026-03-11T15:00:00Z");
  const asked = createSimulatedMarket({ seed: 3 });
  const made = (number: number) => security(`SIM${String(number).padStart(4, "0")}`);
  const first = asked.quote(AAPL, at);

  for (let number = 0; number < 400; number++) asked.quote(made(number), at);
  const soon = asked.quote(AAPL, at);
  for (let number = 400; number < 1_400; number++) asked.quote(made(number), at);
  const late = asked.quote(AAPL, at);

  expect(soon).toBe(first);
  expect(late).not.toBe(first);
  expect(late).toEqual(first);
});
