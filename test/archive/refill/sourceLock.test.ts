/** Imports beside each other. */
import { expect, test } from "@jest/globals";
import { withSourceLock } from "../../../src/archive/refill/oneAtATime.ts";
import { backfillWorld } from "../../backfill/world.ts";
import { backfill, fileOf, HEADER, series } from "../../backfill/csv/csvFiles.ts";

test("two imports into one source take turns: the second is refused and may be tried again; another source is free", async () => {
  const world = await backfillWorld();
  const given = fileOf(`${HEADER}\n${series(3)}`);

  const [refused, other] = await withSourceLock(world.pool, "quotes", async () => [
    await backfill(world, given),
    await backfill(world, given, "--name", "other"),
  ]);
  const later = await backfill(world, given);

  expect(refused?.exitCode).toBe(1);
  expect(JSON.parse(refused?.stderr ?? "")).toMatchObject({
    error: {
      code: "BACKFILL_OVERTAKEN",
      detail: "another import into the source quotes is under way",
      retryable: true,
    },
  });
  expect(other?.report).toMatchObject({ stored: 3 });
  expect(later.report).toMatchObject({ stored: 3 });
});
