import { expect, test } from "@jest/globals";
import { createTurns } from "../../src/serve/turns.ts";

/** The end of the turn as a promise. */
function promised(first: () => void): () => Promise<void> {
  const atEndOfTurn = createTurns(first);
  return () =>
    new Promise((resolve, reject) =>
      atEndOfTurn((failed) => (failed ? reject(failed.error as Error) : resolve())),
    );
}

test("shared work is done once for all calls of a turn, before any of them continues", async () => {
  const happened: string[] = [];
  const endOfTurn = promised(() => void happened.push("kept"));

  await Promise.all(["one", "other"].map((name) => endOfTurn().then(() => happened.push(name))));
  await endOfTurn();

  expect(happened).toEqual(["kept", "one", "other", "kept"]);
});

test("an error of shared work reaches all calls of the turn, and no later call", async () => {
  let isFull = true;
  const endOfTurn = promised(() => {
    if (isFull) throw new Error("no space");
  });

  const waited = await Promise.allSettled([endOfTurn(), endOfTurn()]);
  isFull = false;

  expect(waited.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await expect(endOfTurn()).resolves.toBeUndefined();
});
