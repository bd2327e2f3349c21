/** A small archive to export, with what makes exports go wrong: borders of days, wide numbers, absent values. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePartitions } from "../../../src/archive/schema/partitions.ts";
import type { Manifest } from "../../../src/files/export/manifest.ts";
import { run } from "../../cli/edges.ts";
import { followOwnRows } from "../../support/archive.ts";
import { freshDatabase, type TestDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";

/** Two equities, one option, three exchange dates. Times are chosen so that UTC's dates are not New York's. */
export async function exportableArchive(): Promise<TestDatabase> {
  const database = await freshDatabase();
  const client = await database.pool.connect();
  try {
    await ensurePartitions(client, "2026-11-18T00:00:00.000000Z", "2026-11-22T00:00:00.000000Z");
    await client.query(`
      insert into instruments (id, security_type, symbol, description, underlying_id, expiration, option_type, strike, first_seen_at, last_seen_at) values
        (1, 'CS', 'AAPL', 'Äpfel, "Inc"', null, null, null, null, '2026-11-18 09:00+00', '2026-11-21 01:00+00'),
        (2, 'CS', 'MSFT', '', null, null, null, null, '2026-11-18 09:00+00', '2026-11-21 01:00+00'),
        (3, 'OPT', 'AAPL', E'two\\nlines', 1, '2026-12-18', 'CALL', 150.50, '2026-11-18 09:00+00', '2026-11-21 01:00+00')`);
    // 04:59 UTC is still the day before in New York.
    await client.query(`
      insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change) values
        ('2026-11-19 15:00:00.000001+00', 1, 1, false, 149.9, 150.10, 150.0000, -1.25, -0.8264462),
        ('2026-11-20 04:59:59.999999+00', 1, 1, false, 0, 0, 150.01, null, null),
        ('2026-11-20 05:00:00+00', 1, 2, true, 0.0001, 700000.00, 12345678.12345678, 0, 0),
        ('2026-11-20 20:59:00+00', 2, 1, false, null, null, null, null, null),
        ('2026-11-20 21:00:00+00', 3, 1, false, 4.2, 4.3, 4.25, 0.1, 2.4)`);
    await client.query(`
      insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, volume, pe_ratio, delta, contract_size) values
        ('2026-11-19 15:00:00.000001+00', 1, 1, 100, 9007199254740993, 22.75, null, null),
        ('2026-11-20 21:00:00+00', 3, 1, null, 5, null, -0.0000030, 100)`);
    await client.query(`
      insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield) values
        ('2026-11-19 15:00:00.000001+00', 1, 1, '2026-11-25', 0.26, 0.0045)`);
    await client.query(`
      insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome, body_bytes, journal_segment, journal_offset) values
        ('2026-11-19 15:00:00.000001+00', 1, '0192f5a0-0000-7000-8000-000000000001', '2026-11-19 15:00:00+00', 'us', '{"form": "symbols"}', 200, 'quotes', 812, 'a', 0)`);
    await client.query(`insert into due_sets (id, digest, instruments) values (1, 'd', '{AAPL,MSFT}')`);
    await client.query(`insert into slots values ('us', '2026-11-20 15:00+00', 1, 2, 1, 1, 1)`);
    await client.query(`insert into misses values ('us', '2026-11-20 15:00+00', 1, 'MSFT', 'transport')`);
    await client.query(
      `insert into fills values ('us', '2026-11-20 14:59+00', 1, 'MSFT', 'down', '2026-11-20 14:59:30+00', 1, 'journal', '2026-11-21 01:00+00')`,
    );
    await client.query(
      `insert into derived_closes values (2, '2026-11-19', 1, 301.25, '2026-11-20 20:59+00', '2026-11-21 01:00+00')`,
    );
    await client.query(
      `insert into dead_letters values ('2026-11-20 15:00+00', 1, 0, 'AAPL:2026-12-18:CALL:150.5', 'malformed', 'bid is "x"', '<bid>x</bid>')`,
    );
  } finally {
    client.release();
  }
  await followOwnRows(database.pool);
  return database;
}

/** Runs `export` with words behind it. Default: of this archive, into a directory that is not there yet. */
export function exporterOf(archive: Pick<TestDatabase, "url">) {
  return async (words: string, { out = join(tempDir(), "out"), url = archive.url } = {}) => {
    const outcome = await run(["export", "--out", out, ...words.split(" ")], { DATABASE_URL: url });
    return { ...outcome, out };
  };
}

export function manifestOf(out: string): Manifest {
  return JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as Manifest;
}
