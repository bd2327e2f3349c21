import { setImmediate } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { systemClock } from "../../../src/ground/clock.ts";
import { createLogger } from "../../../src/cli/terminal/logger.ts";

async function logged(isTTY: boolean, env: Record<string, string> = {}): Promise<string> {
  let text = "";
  const log = await createLogger("info", { isTTY, columns: 80, write: (more) => void (text += more) }, env);
  log.debug("not worth a line");
  log.info({ job: "a" }, "the job files have changed");
  for (let turn = 0; turn < 20 && !text.includes("\n"); turn++) await setImmediate();
  return text;
}

test("elsewhere than on a terminal a log line is one JSON object", async () => {
  const text = await logged(false);

  expect(text.trimEnd().split("\n")).toHaveLength(1);
  expect(JSON.parse(text)).toMatchObject({ level: 30, job: "a", msg: "the job files have changed" });
});

test("a log line on a terminal has the exchange's time, in any zone of the machine, and names the exchange", async () => {
  const line = (await logged(true, { NO_COLOR: "1" })).split(" INFO")[0] ?? "";

  const shown = /^\[(\d\d):\d\d:\d\d New York\]$/.exec(line)?.[1];
  const now = new Intl.DateTimeFormat("en-GB", { timeZone: "America/New_York", hour: "2-digit" });
  const hours = [0, 60_000].map((agoMs) => now.format(systemClock.now().getTime() - agoMs));
  expect(hours).toContain(shown);
});

test("a log line on a terminal is for people, coloured unless NO_COLOR is set", async () => {
  expect(await logged(true)).toMatch(/\u001b\[32mINFO\u001b.*the job files have changed.*"job":"a"/s);
  expect(await logged(true, { NO_COLOR: "1" })).toMatch(
    /^\[\d\d:\d\d:\d\d New York\] INFO: the job files have changed \{"job":"a"\}\n$/,
  );
});
