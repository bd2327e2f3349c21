import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { databaseError } from "../../src/archive/connect/databaseError.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

test("a session speaks UTC, and gives decimals, counts, dates and times as text", async () => {
  const { pool } = await freshDatabase();
  await pool.query("set datestyle to iso");

  const [row] = await rowsOfQuery(
    pool,
    `select 0.0450::numeric as price, 9007199254740993::bigint as volume, date '2026-11-12' as day,
       timestamptz '2026-11-20 17:50:00.123456-05' as time`,
  );

  expect(row).toEqual({
    price: "0.0450",
    volume: "9007199254740993",
    day: "2026-11-12",
    time: "2026-11-20 22:50:00.123456+00",
  });
});

describe("a pool whose answers have a limit of time", () => {
  /** A statement that waits for a lock, and whoever has the lock. */
  async function waiting(answerMs: number) {
    const { url, pool } = await freshDatabase({ migrated: false });
    const limited = poolOn(url, { answerMs, max: 1 });
    const { rows } = await limited.query("select pg_backend_pid() as pid");
    const holder = await pool.connect();
    await holder.query("select pg_advisory_lock(1)");
    let failed = false;
    const asked = limited.query("select pg_advisory_lock_shared(1)").then(
      () => "answered",
      () => {
        failed = true;
        return "cut";
      },
    );
    const waits = "select from pg_stat_activity where wait_event = 'advisory' and pid = $1";
    await until(
      async () => failed || (await holder.query(waits, [(rows[0] as { pid: number }).pid])).rowCount === 1,
      "the statement waiting",
    );
    return { limited, holder, asked, hasFailed: () => failed };
  }

  test("a pool with a limit of time cuts a connection whose statement is not answered, and opens another", async () => {
    const { limited, holder, asked } = await waiting(50);

    const how = await asked;
    holder.release();
    expect(how).toBe("cut");
    expect(await rowsOfQuery(limited, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a pool with a limit of time reads an answer that arrived while the process stood still", async () => {
    // A machine may be so slow that the statement is cut before the process stands still.
    for (let answerMs = 500; ; answerMs *= 2) {
      const { holder, asked, hasFailed } = await waiting(answerMs);
      if (!hasFailed()) {
        const released = holder.query("select pg_advisory_unlock(1)");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, answerMs + 500);
        const how = await asked;
        await released;
        holder.release();
        expect(how).toBe("answered");
        return;
      }
      holder.release(true);
    }
  });
});

describe("an address without a password", () => {
  const without = (url: string): string => url.replace(/:[^:@/]*@/, "@");

  test("a password that the address lacks is found in the file of PGPASSFILE, and no driver warns", async () => {
    const { url, name } = await freshDatabase({ migrated: false });
    const { hostname, port, username, password } = new URL(url);
    const file = join(tempDir(), "pgpass");
    writeFileSync(file, `${hostname}:${port}:${name}:${username}:${decodeURIComponent(password)}\n`, {
      mode: 0o600,
    });
    process.env["PGPASSFILE"] = file;
    const warnings = jest.spyOn(process, "emitWarning");

    expect(await rowsOfQuery(poolOn(without(url)), "select 1 as one")).toEqual([{ one: 1 }]);
    expect(warnings).not.toHaveBeenCalled();
  });

  test("an address without a password is refused if PGPASSFILE names no file", async () => {
    const { url } = await freshDatabase({ migrated: false });
    process.env["PGPASSFILE"] = join(tempDir(), "none");

    const failure = await poolOn(without(url))
      .query("select 1")
      .catch((error: unknown) => error);

    expect(databaseError(failure, "db").code).toBe("DATABASE_REFUSED");
  });
});
