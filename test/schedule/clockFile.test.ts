/** A wall clock that is moved while nothing runs. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { openClockFile } from "../../src/schedule/clockFile.ts";
import { createTestClock } from "../support/clock.ts";
import { tempDir } from "../support/tempDir.ts";

const HOUR = 3_600_000;

/** A data directory, a machine, and runs on it. */
function machine() {
  const dir = tempDir();
  let bootId: string | null = "first";
  const clock = createTestClock("2026-11-20T14:00:00.000Z");
  return {
    ...{ dir, clock },
    boot: (id: string | null) => void (bootId = id),
    /** A run that is killed: what it wrote last is what is left. */
    run: async () => {
      const { away, keep } = await openClockFile(dir, clock, bootId);
      await keep();
      return away;
    },
    move: (ms: number) => clock.setTo(new Date(clock.now().getTime() + ms).toISOString()),
  };
}

test("the first run knows of nothing, and nor does one after an hour in which nobody touched the clock", async () => {
  const { clock, run } = machine();

  const first = await run();
  clock.advance(HOUR);

  expect([first, await run()]).toEqual([null, null]);
});

test.each([
  [-HOUR, "set_back"],
  [-90_000, "set_back"],
  [90_000, "set_forward"],
  [HOUR, "set_forward"],
])("a clock that was moved by %d ms while nothing ran is found out exactly, and once", async (ms, kind) => {
  const { clock, run, move } = machine();
  await run();

  clock.advance(10 * 60_000);
  move(ms);

  expect(await run()).toEqual({ kind, stepMs: ms });
  expect(await run()).toBeNull();
});

test("a clock that was moved by less than two seconds is no news", async () => {
  const { run, move } = machine();
  await run();

  move(-1_900);

  expect(await run()).toBeNull();
});

test.each([
  ["after another start of the machine", "second"],
  ["on a machine whose starts have no name", null],
])("%s only a clock that says an earlier time than before is sure to have been moved", async (_, name) => {
  const { boot, clock, run, move } = machine();
  if (name === null) boot(null);
  await run();
  if (name !== null) boot(name);

  clock.advance(5_000);
  move(HOUR);
  const forward = await run();
  if (name !== null) boot("third");
  clock.advance(5_000);
  move(-HOUR);

  expect(forward).toBeNull();
  expect(await run()).toEqual({ kind: "set_back", stepMs: -HOUR + 5_000 });
});

test.each(["", "{", "null", "[]", '{"wallMs":"x","uptimeMs":1,"bootId":"first"}', '{"wallMs":null}'])(
  "what is no such file (%j) tells nothing, and holds no start up",
  async (text) => {
    const { dir, run } = machine();
    writeFileSync(join(dir, "clock.json"), text);

    expect(await run()).toBeNull();
    expect(JSON.parse(readFileSync(join(dir, "clock.json"), "utf8"))).toMatchObject({ bootId: "first" });
  },
);

test("the file is its owner's, and where none can be written nothing fails", async () => {
  const { dir, run } = machine();
  await run();
  const mode = statSync(join(dir, "clock.json")).mode & 0o777;

  const blocked = machine();
  mkdirSync(join(blocked.dir, "clock.json.tmp"));

  expect(mode).toBe(0o600);
  await expect(blocked.run()).resolves.toBeNull();
});
