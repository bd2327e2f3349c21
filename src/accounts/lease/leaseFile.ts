/** What a collector knows of itself and its leases while the database is away: `lease.json` in the data directory. */
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../ground/clock.ts";
import { keepJson, readJson } from "../../ground/plainFiles.ts";

const FILE = "lease.json";

const known = z.object({
  id: z.uuid(),
  /** What the database has given it; null: it has never joined. */
  number: z.int().min(0).max(255).nullable(),
  name: z.string().nullable(),
  held: z.array(z.string()),
  others: z.boolean(),
  /** What all collectors go by, as it was last: see the table of that name. */
  epochs: z
    .array(
      z.object({
        number: z.int(),
        fromMs: z.number(),
        jobsDigest: z.string(),
        accounts: z.array(z.string()),
        prices: z.object({ date: z.string(), of: z.record(z.string(), z.string()) }).nullable(),
      }),
    )
    .default([]),
  /** Since when the database has not confirmed the leases, ISO 8601 UTC; null: it has. */
  unsureSince: z.iso.datetime().nullable(),
  /** Accounts that nobody calls, and since when, ISO 8601 UTC. */
  uncalled: z.record(z.string(), z.iso.datetime()).default({}),
});

export type KnownLeases = z.infer<typeof known>;

/** What stands there; null: nothing that can be read. */
export async function readLeaseFile(dataDir: string): Promise<KnownLeases | null> {
  return readJson(join(dataDir, FILE), known);
}

/** A collector that has never been one before. */
export function newCollector({ random }: Pick<Clock, "random">): KnownLeases {
  const bytes = Buffer.from(random(16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const id = bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return {
    id,
    number: null,
    name: null,
    held: [],
    others: false,
    epochs: [],
    unsureSince: null,
    uncalled: {},
  };
}

/** Keeps it; where nothing can be written, a start without the database knows less. */
export async function keepLeaseFile(dataDir: string, now: KnownLeases): Promise<void> {
  await keepJson(join(dataDir, FILE), now);
}
