import { expect, test } from "@jest/globals";
import { rememberAnswers } from "../../src/web/api/rememberAnswers.ts";
import { createTestClock } from "../support/clock.ts";

/** Answers that are counted: each one is the number of the look that found it out. */
function counting() {
  const clock = createTestClock();
  const remember = rememberAnswers(clock, 1_000);
  let looks = 0;
  const ask = (name: string): Promise<number> => remember(name, () => Promise.resolve((looks += 1)));
  return { clock, remember, ask };
}

test("an answer stands for all who ask the same until it is a second old, and for no other question", async () => {
  const { clock, ask } = counting();

  const atFirst = [await ask("a"), await ask("a"), await ask("b")];
  clock.advance(999);
  const soon = await ask("a");
  clock.advance(1);

  expect([...atFirst, soon, await ask("a")]).toEqual([1, 1, 2, 1, 3]);
});

test("an answer that failed is asked for again, also when it fails after it was forgotten or a newer one was found", async () => {
  const { clock, remember, ask } = counting();
  const fails: ((why: Error) => void)[] = [];
  const slow = ["a", "forgotten"].map((name) =>
    remember(name, () => new Promise((_resolve, reject) => fails.push(reject))),
  );
  clock.advance(1_000);

  const newer = await ask("a");
  for (const fail of fails) fail(new Error("too late"));
  for (const answer of slow) await expect(answer).rejects.toThrow("too late");
  await expect(remember("b", () => Promise.reject(new Error("away")))).rejects.toThrow("away");

  expect([newer, await ask("a"), await ask("b")]).toEqual([1, 1, 2]);
});

test("of more than twenty questions the oldest is forgotten first, and the others are not", async () => {
  const { ask } = counting();
  const names = Array.from({ length: 20 }, (_, place) => String(place));
  for (const name of [...names, "more"]) await ask(name);

  expect([await ask("1"), await ask("more"), await ask("0")]).toEqual([2, 21, 22]);
});
