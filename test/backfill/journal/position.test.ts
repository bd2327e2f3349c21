/** Where a backfill of the journal stands beside the loader. */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { ofBatches, readPositions } from "../../../src/archive/load/loadPosition.ts";
import { loadBatch } from "../../../src/archive/load/loadBatch.ts";
import { beginRun } from "../../../src/archive/refill/runs.ts";
import { readReadPositions, positionOfRun } from "../../../src/archive/refill/runPosition.ts";
import { NOTHING_LOADED } from "../../../src/archive/load/batch.ts";
import { backfillWorld, MINUTES } from "../world.ts";

/** A backfill that has read a segment up to 100, on a connection of its own. */
async function readTo100(pool: pg.Pool, segment: string) {
  const run = await beginRun(pool, { kind: "journal" }, MINUTES[0] ?? "");
  const position = positionOfRun(run, { loaderToo: true });
  const client = await pool.connect();
  await position.take(client, { segment, from: 0 });
  await position.move(client, { segment, from: 0, to: 100 }, NOTHING_LOADED);
  return { run, client, position };
}

test("a stretch that is read again moves the loader's position where it joins it, and never over unread bytes", async () => {
  const { pool } = await backfillWorld();
  const after = async (loadedTo: number): Promise<number | undefined> => {
    const segment = `loaded-to-${loadedTo}`;
    const { client, position } = await readTo100(pool, segment);
    await client.query("update journal_positions set loaded_to = $1 where segment = $2", [loadedTo, segment]);
    await position.move(client, { segment, from: 100, to: 300 }, NOTHING_LOADED);
    client.release();
    return (await readPositions(pool)).get(segment);
  };

  expect([await after(0), await after(99)]).toEqual([0, 99]);
  expect([await after(100), await after(200)]).toEqual([300, 300]);
  expect(await after(301)).toBe(301);
});

test("a stretch that is read again is loaded at the backfill's position, neither behind nor before it", async () => {
  const { pool } = await backfillWorld();
  const segment = "read-to-100";
  const { run, client, position } = await readTo100(pool, segment);
  client.release();
  const take = (from: number) =>
    loadBatch(
      pool,
      { segment, from, to: from + 50, answers: [], notes: [] },
      { position: ofBatches(position) },
    );

  expect([await take(99), await take(101)]).toEqual([null, null]);
  expect(await take(100)).not.toBeNull();
  expect(await readReadPositions(pool, run.id)).toEqual(new Map([[segment, 150]]));
});
