/** Each class of SQLSTATE at each statement of a batch, with and without the place where it happened. */
import { expect, test } from "@jest/globals";
import { countsOf } from "../support/archive.ts";
import { injectedBatch, ROWS } from "./engineErrors.ts";

/** A condition of each class of PostgreSQL's Appendix A that an error can have. */
const CLASSES = [
  ..."03000 08006 09000 0A000 0B000 0F000 0L000 0P000 0Z000 10608 20000 21000 22003 22007 22008 22012".split(
    " ",
  ),
  ..."22021 22P02 23000 23001 23502 23503 23505 23514 23P01 24000 25000 26000 27000 28000 2B000 2D000".split(
    " ",
  ),
  ..."2F000 34000 38000 39000 3B000 3D000 3F000 40001 40P01 42501 42601 42P01 44000 53100 53300 54000".split(
    " ",
  ),
  ..."54001 55000 55P03 57014 58030 72000 F0000 HV000 P0001 XX000 XX001 XX002".split(" "),
];

test("no class makes a dead letter at any statement of a batch, and nothing is stored until it is gone", async () => {
  const batch = await injectedBatch();
  const wrong: (string | null)[] = [];

  for (const sqlstate of CLASSES)
    for (const statement of batch.statements)
      for (const bare of [true, false]) wrong.push(await batch.tryWith(statement, sqlstate, bare));
  await batch.load(batch.pool);

  expect(wrong.filter((one) => one !== null)).toEqual([]);
  expect(await countsOf(batch.pool)).toMatchObject(ROWS);
});
