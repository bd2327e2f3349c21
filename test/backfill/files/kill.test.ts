/** An import that is killed at any moment loses nothing, doubles nothing, and goes on. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { compileProgram } from "../../support/compileProgram.ts";
import { tempDir } from "../../support/tempDir.ts";
import { run } from "../../cli/edges.ts";
import { shutGate } from "../gate.ts";
import { backfillWorld } from "../world.ts";
import { fileOf, HEADER, series } from "../csv/csvFiles.ts";
import { rowsOf, saved } from "../xml/saved.ts";

// Programs are killed and started again, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** Enough for five batches: while one waits at the gate, the next one is journaled, and both are loaded together then. */
const [PIECES, ANSWERS] = [70, 800];

/** Rows of a piece, which ends before so many empty lines. */
const PIECE_ROWS = 50;
const EMPTY = "\n".repeat(1_000);
const ROWS = PIECES * PIECE_ROWS;

test("an import that is killed twice while a CSV file comes in has every row once, and its report is of all runs", async () => {
  const pieces = Array.from({ length: PIECES }, (_, piece) => series(PIECE_ROWS, piece * PIECE_ROWS));
  const given = fileOf(`${HEADER}\n${pieces.join(EMPTY)}`);

  const last = await killedTwice(["--csv", given]);

  expect(last.stdout).toMatchObject({
    resumed: true,
    report: { answers: PIECES, newAnswers: PIECES, read: ROWS, stored: ROWS, repeated: 0, deadLettered: 0 },
  });
  // Pieces of the file bear the time of their import.
  const [{ responses, ...rows }, { responses: others, ...expected }] = [last.rows, last.expected];
  expect(rows).toEqual(expected);
  expect(responses).toHaveLength(PIECES);
  expect(others).toHaveLength(PIECES);
});

test("an import that is killed twice while saved answers come in has every row once, and its report is of all runs", async () => {
  const dir = tempDir();
  mkdirSync(dir, { recursive: true });
  for (let place = 0; place < ANSWERS; place++) {
    const at = new Date(Date.UTC(2026, 10, 18, 14, 30, place)).toISOString().slice(0, 19);
    writeFileSync(join(dir, `${at.replaceAll(/[:-]/gu, "")}Z.xml`), saved({ AAPL: `${place + 1}` }));
  }

  const last = await killedTwice(["--xml", dir]);

  expect(last.stdout).toMatchObject({
    resumed: true,
    report: { answers: ANSWERS, newAnswers: ANSWERS, read: ANSWERS, stored: ANSWERS, repeated: 0 },
  });
  expect(last.rows).toEqual(last.expected);
});

/** Imports with two kills, and once without. */
async function killedTwice(argv: readonly string[]) {
  const [world, whole] = [await backfillWorld(), await backfillWorld()];
  const bin = compileProgram(tempDir());
  await run(["backfill", ...argv], whole.env);
  const gate = await shutGate(world);
  for (let kill = 0; kill < 2; kill++) await gate.killed(bin, ["backfill", ...argv]);
  await gate.open();
  const { stdout } = await run(["backfill", ...argv, "--json"], world.env);
  return {
    stdout: JSON.parse(stdout) as unknown,
    rows: await rowsOf(world.pool),
    expected: await rowsOf(whole.pool),
  };
}
