import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { abandonConnections } from "../../src/archive/connect/connect.ts";
import { isRetryable } from "../../src/archive/connect/databaseError.ts";
import type { LoadReport } from "../../src/archive/load/batch.ts";
import { loadAll, startLoader, type Loader, type LoaderOptions } from "../../src/archive/load/loader.ts";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { fileSystem } from "../../src/journal/fs.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { contentOf, countsOf, rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { type LoadingWorld, loadingWorld } from "../support/loading.ts";
import { closedPort } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { errno, fsWith, plainFile } from "../journal/world.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const answers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) =>
    answerRecord(at(from + n), answerXml(equityXml("A", { dividend: { amt: String(n) } }), optionXml({}))),
  );

const loaders: Loader[] = [];
afterEach(async () => {
  for (const loader of loaders.splice(0)) await loader.close(1_000);
});

/** A loader that is closed after the test, and what it told. */
function started(options: Partial<LoaderOptions> & Pick<LoaderOptions, "pool" | "journalDir">) {
  const failures: { error: unknown; waitMs: number }[] = [];
  const reports: LoadReport[] = [];
  let recover: () => void = () => undefined;
  const recovered = new Promise<void>((resolve) => (recover = resolve));
  const loader = startLoader({
    clock: createTestClock(),
    onFailure: (error, waitMs) => failures.push({ error, waitMs }),
    onLoaded: (report) => reports.push(report),
    onRecovered: () => recover(),
    ...options,
  });
  loaders.push(loader);
  return { loader, failures, reports, recovered };
}

const KILL_FUNCTION = `
  create function kill_session() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`;
const KILL =
  "create trigger kill before update on journal_positions for each row execute function kill_session()";

describe("rows and position are one", () => {
  test("a session that is ended after the rows and before the position leaves nothing half", async () => {
    const { pool, append, load } = await loadingWorld();
    const before = await contentOf(pool);
    await append(...answers(5));
    await pool.query(`${KILL_FUNCTION}; ${KILL}`);

    const error = await load().catch((reason: unknown) => reason);

    expect(isRetryable(error)).toBe(true);
    expect(await contentOf(pool)).toEqual(before);
  });

  test("the loader tries again by itself after its session was ended, and then everything is stored once", async () => {
    const { url, pool, journalDir, append } = await loadingWorld();
    const admin = poolOn(url);
    await append(...answers(5));
    await pool.query(`${KILL_FUNCTION}; ${KILL}`);
    const onSleep = async () => void (await admin.query("drop trigger if exists kill on journal_positions"));

    const { failures, recovered } = started({
      pool,
      journalDir,
      clock: createTestClock(undefined, { onSleep }),
    });
    await recovered;

    expect(failures).toHaveLength(1);
    expect(await countsOf(pool)).toMatchObject({
      responses: 5,
      quotes: 15,
      dividends: 5,
      journal_positions: 1,
    });
    // Numbers of instruments that the session had given out went with it.
    const named = "select count(*)::int as n from quotes join instruments i on i.id = instrument_id";
    expect(await rowsOfQuery(pool, named)).toEqual([{ n: 15 }]);
  });
});

test("each outage is waited for from 250 ms on, and what was told of before it is loaded after it", async () => {
  const { url, pool, journalDir, append } = await loadingWorld();
  const admin = poolOn(url);
  const onSleep = async () => void (await admin.query("drop trigger if exists kill on journal_positions"));
  const clock = createTestClock(undefined, { onSleep });
  const { loader, failures, reports } = started({ pool, journalDir, clock });
  await loader.drain();
  await pool.query(KILL_FUNCTION);
  for (const outage of [1, 2]) {
    await pool.query(KILL);
    await append(...answers(1, outage));
    loader.notify((await listSegments(journalDir)).at(-1)?.name ?? "");
    await until(() => failures.length === outage && loader.failure() === null, "the end of an outage");
  }

  expect(failures.map(({ waitMs }) => waitMs)).toEqual([250, 250]);
  expect(reports.map(({ responses }) => responses)).toEqual([1, 1]);
});

test("a database that is away is tried again after 250 ms, 500 ms, 1 s ... at most 5 s, and nothing is lost", async () => {
  const { url, pool } = await freshDatabase();
  const journalDir = tempDir();
  await appendAll(journalDir, answers(3));
  const address = new URL(url);
  const server = { host: address.hostname, port: Number(address.port || 5432) };
  const port = await closedPort();
  address.hostname = "127.0.0.1";
  address.port = String(port);
  let asleep = 0;
  const clock = createTestClock(undefined, {
    onSleep: async () => {
      asleep += 1;
      // Answers keep coming meanwhile; then the database does.
      if (asleep === 2) await appendAll(journalDir, answers(2, 60), { clock: createTestClock(at(60)) });
      if (asleep === 7) await openRelay(port, server);
    },
  });

  const { loader, failures, recovered } = started({ pool: poolOn(address.href), journalDir, clock });
  await recovered;

  expect(clock.slept).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  expect(failures.every(({ error }) => isRetryable(error))).toBe(true);
  expect(loader.failure()).toBeNull();
  expect(await countsOf(pool)).toMatchObject({ responses: 5, quotes: 15 });
});

test("records that a failed write takes back are not loaded, though they stood in their file while the loader read it", async () => {
  const { pool } = await freshDatabase();
  const journalDir = tempDir();
  let fails = false;
  const fs = fsWith({
    open: async (path, flags) => {
      const file = plainFile(await fileSystem("owner").open(path, flags));
      const datasync = async (): Promise<void> => {
        if (!fails) return file.datasync();
        await loadAll({ pool, journalDir, clock, keptTo: journal.keptTo });
        throw errno("EIO");
      };
      return { ...file, datasync };
    },
  });
  const clock = createTestClock();
  const journal = await openJournal({
    dir: journalDir,
    clock,
    fs,
    upkeep: false,
    onProblem: () => undefined,
  });
  const [kept, lost, last] = answers(3) as [JournalRecord, JournalRecord, JournalRecord];
  await journal.append(kept);

  fails = true;
  await expect(journal.append(lost)).rejects.toMatchObject({ code: "JOURNAL_WRITE_FAILED" });
  fails = false;
  const during = await countsOf(pool);
  await journal.append(last);
  await journal.close();
  await loadAll({ pool, journalDir, clock, keptTo: journal.keptTo });

  expect(during).toMatchObject({ responses: 1 });
  expect(await countsOf(pool)).toMatchObject({ responses: 2 });
});

test("a database that cannot be revived is waited for with that reason, and loaded when it is back", async () => {
  const { url, journalDir, append } = await loadingWorld();
  await append(...answers(1));
  const address = new URL(url);
  const server = { host: address.hostname, port: Number(address.port || 5432) };
  const port = await closedPort();
  address.hostname = "127.0.0.1";
  address.port = String(port);
  const full = new QuotekeeperError("DISK_FULL", "the server in data/postgres does not start");
  const seen: unknown[] = [];
  const revive = async (): Promise<void> => {
    seen.push(loader.failure());
    if (seen.length < 4) throw full;
    await openRelay(port, server);
  };

  const { loader, failures, recovered } = started({ pool: poolOn(address.href), journalDir, revive });
  await recovered;

  expect(failures.map(({ error }) => error)).toEqual([seen[0], full, full, full]);
  expect(seen[0]).toMatchObject({ code: "ECONNREFUSED" });
  expect(seen.slice(1)).toEqual([full, full, full]);
  expect(loader.failure()).toBeNull();
});

test("a database that is away fails whoever waits for the load, and is revived between attempts", async () => {
  const { url } = await freshDatabase();
  const journalDir = tempDir();
  const address = new URL(url);
  address.port = String(await closedPort());
  let revived = 0;
  const revive = async () => void (revived += 1);

  const { loader, failures } = started({ pool: poolOn(address.href), journalDir, revive });

  await expect(loader.drain()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await expect(loader.drain()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  expect(loader.failure()).toMatchObject({ code: "ECONNREFUSED" });
  expect(revived).toBeGreaterThan(0);
  expect(failures.length).toBeGreaterThan(1);
});

test("a loader looks for what other programs have written once a minute, also while it is told of other segments", async () => {
  const { pool, journalDir, append } = await loadingWorld();
  const clock = createTestClock();
  const { loader, reports } = started({ pool, journalDir, clock });
  await loader.drain();
  await append(...answers(2));

  for (const second of [25, 50, 75]) {
    clock.advance(25_000);
    await append(...answers(1, second));
    loader.notify((await listSegments(journalDir)).at(-1)?.name ?? "");
    await until(() => reports.length >= second / 25, "the load of a segment");
  }
  await until(() => loader.failure() !== null || reports.length === 4, "the other program's answers");

  expect(reports.map(({ responses }) => responses)).toEqual([1, 1, 2, 1]);
});

test("a loader tells once since when records were loaded late: the oldest of all that were", async () => {
  const { pool, journalDir, append } = await loadingWorld();
  const { loader } = started({ pool, journalDir, clock: createTestClock(at(600)) });
  for (const from of [10, 60]) {
    await append(...answers(1, from));
    await loader.drain();
  }

  expect([loader.takeLate(), loader.takeLate()]).toEqual([at(10), null]);
});

test("a loader passes over a segment that its writer has taken back before it was read", async () => {
  const { pool, journalDir, append } = await loadingWorld();
  const { loader, failures, reports } = started({ pool, journalDir });
  await loader.drain();
  await append(...answers(2));
  const [kept] = await listSegments(journalDir);

  loader.notify("20261120T22-01a2047e-7d30-7e08-b088-f01695be4fc3");
  loader.notify(kept?.name ?? "");
  await until(() => reports.length > 0 || failures.length > 0, "the load");

  expect(failures).toEqual([]);
  expect(reports.map(({ responses }) => responses)).toEqual([2]);
});

test("a loader says how many bytes of its own journal the database lacks, and null if it cannot ask", async () => {
  const { pool, append, journalDir } = await loadingWorld();
  await append(...answers(2));
  await pool.query("insert into journal_positions values ('20261120T22-of-another-machine', 7, now())");
  const bytes = async () =>
    (await listSegments(journalDir)).reduce((sum, segment) => sum + (segment.bytes ?? 0), 0);
  let begin: () => void = () => undefined;
  const prepared = new Promise<void>((resolve) => (begin = resolve));
  const { loader } = started({ pool, journalDir, prepare: () => prepared });

  const atFirst = await loader.behind();
  begin();
  await loader.drain();
  const loaded = await loader.behind();
  const before = await bytes();
  await append(...answers(1, 2));

  expect([atFirst, loaded]).toEqual([before, 0]);
  expect(await loader.behind()).toBe((await bytes()) - before);
  const away = started({ pool: poolOn(`postgres://127.0.0.1:${await closedPort()}/x`), journalDir });
  expect(await away.loader.behind()).toBeNull();
});

test("a loader that is closed loads what is still in the journal", async () => {
  const { pool, journalDir, append } = await loadingWorld();
  const never = createTestClock(undefined, { onSleep: () => new Promise(() => undefined) });
  const loader = startLoader({ pool, journalDir, clock: never });
  await loader.drain();
  await append(...answers(4));

  await loader.close(1_000);

  expect(await countsOf(pool)).toMatchObject({ responses: 4 });
});

test("a loader that has all of a segment tells the bytes by which the segment grows later", async () => {
  const { pool, journalDir } = await loadingWorld();
  const journal = await openJournal({
    dir: journalDir,
    clock: createTestClock(),
    onProblem: () => undefined,
  });
  const [first, second] = answers(2);
  await journal.append(first as JournalRecord);
  const { loader } = started({ pool, journalDir });
  await loader.drain();
  await loader.drain();
  const loaded = await loader.behind();

  await journal.append(second as JournalRecord);
  const grown = await loader.behind();
  await journal.close();

  expect([loaded, (grown ?? 0) > 0]).toEqual([0, true]);
});

test.each([
  [
    "back to an earlier state",
    "delete from responses; delete from quotes; update journal_positions set loaded_to = 0",
  ],
  ["back to its beginning", "delete from responses; delete from quotes; delete from journal_positions"],
  ["on by another program", "update journal_positions set loaded_to = $1"],
])(
  "a loader that follows a segment goes on where the database is, when that was put %s",
  async (_, change) => {
    const { pool, journalDir } = await loadingWorld();
    const clock = createTestClock();
    const journal = await openJournal({ dir: journalDir, clock, onProblem: () => undefined });
    const { loader, reports } = started({ pool, journalDir, clock });
    const append = async (record: JournalRecord): Promise<void> => {
      const { segment } = await journal.append(record);
      const before = reports.length;
      loader.notify(segment);
      await until(() => reports.length > before || loader.failure() !== null, "the answer");
    };
    await loader.drain();
    const [first, second, third] = answers(3) as [JournalRecord, JournalRecord, JournalRecord];
    await append(first);
    await append(second);

    const [position] = await rowsOfQuery(pool, "select loaded_to from journal_positions");
    const isOn = change.includes("$1");
    const passed = isOn ? (await journal.append(third)).end : 0;
    expect(Number(position?.["loaded_to"])).toBeGreaterThan(0);
    await pool.query(isOn ? change.replace("$1", String(passed)) : change);
    await append(isOn ? (answers(1, 3)[0] as JournalRecord) : third);
    await loader.drain();
    await journal.close();

    expect(loader.failure()).toBeNull();
    // What the other program says it has loaded is not loaded again.
    expect(await countsOf(pool)).toMatchObject({ responses: 3 });
  },
);

const CUT_SHORT = { code: "DATABASE_SLOW", detail: "the last load did not end within 1000 ms" };

test("a loader that is closed before its last load has ended does not know whether all is loaded", async () => {
  const { pool, journalDir, append } = await loadingWorld();
  const { loader } = started({ pool, journalDir });
  await loader.drain();
  await append(...answers(1));
  const holder = await pool.connect();
  await holder.query("begin; lock table responses in access exclusive mode");

  await loader.close(1_000);

  expect(loader.failure()).toMatchObject(CUT_SHORT);
  await holder.query("rollback");
  holder.release();
});

test("a loader that is closed while it loads reports no failure of the pool that ends after it", async () => {
  const { url, journalDir, append } = await loadingWorld();
  const [pool, other] = [poolOn(url), poolOn(url)];
  const { loader, failures } = started({ pool, journalDir });
  await loader.drain();
  const holder = await other.connect();
  await holder.query("begin; lock table responses in access exclusive mode");
  await append(...answers(1));
  const draining = loader.drain().catch(() => undefined);
  const waits =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await other.query(waits)).rowCount === 1, "the loader waiting for the lock");

  await loader.close(1_000);
  abandonConnections(pool);
  await until(
    () => (loader.failure() as { code?: string } | null)?.code !== CUT_SHORT.code,
    "the last load being over",
  );
  await draining;

  expect(failures).toEqual([]);
  await holder.query("rollback");
  holder.release();
});

test("a load passes over damaged bytes, says so, and loads what is whole", async () => {
  const { pool, journalDir, append, load } = await loadingWorld();
  await append(...answers(3));
  const [file = ""] = readdirSync(journalDir).filter((name) => name.includes(".journal"));
  const bytes = readFileSync(`${journalDir}/${file}`);
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 0xff, bytes.length >> 1);
  writeFileSync(`${journalDir}/${file}`, bytes);
  const damaged: string[] = [];

  const report = await load({ onDamage: ({ reason }) => damaged.push(reason) });

  expect(report.responses).toBe(2);
  expect(damaged).toHaveLength(1);
  expect((await loadAll({ pool, journalDir, clock: createTestClock() })).responses).toBe(0);
});

const relays: { server: Server; sockets: Socket[] }[] = [];
afterEach(() => {
  for (const { server, sockets } of relays.splice(0)) {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
});

/** Opens a port that leads to the real server: the database comes back. */
async function openRelay(port: number, to: { host: string; port: number }): Promise<void> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const upstream = connect(to);
    sockets.push(socket, upstream);
    socket.on("error", () => upstream.destroy()).pipe(upstream);
    upstream.on("error", () => socket.destroy()).pipe(socket);
  });
  relays.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
}

describe("when instruments were seen last", () => {
  const lastSeen = async (pool: LoadingWorld["pool"]) =>
    (await rowsOfQuery(pool, "select distinct last_seen_at from instruments")).map(
      ({ last_seen_at }) => last_seen_at,
    );

  test("last_seen_at follows the quotes of an instrument that only comes again", async () => {
    const { pool, journalDir, append } = await loadingWorld();
    const { loader } = started({ pool, journalDir });
    for (const answer of answers(3)) {
      await append(answer);
      await loader.drain();
    }

    expect(await lastSeen(pool)).toEqual(["2026-11-20 22:50:02+00"]);
  });

  test("an instrument is described as it was described last, also where an answer from before comes later", async () => {
    const { pool, append, load } = await loadingWorld();
    const described = (second: number, desc: string) =>
      answerRecord(at(second), answerXml(equityXml("A", { instrument: { desc } })));
    await append(described(2, "LAST"), described(1, "FIRST"), described(3, "LAST"));
    await load();
    await append(described(2.5, "BETWEEN"));
    await load();

    expect(await rowsOfQuery(pool, "select description from instruments")).toEqual([{ description: "LAST" }]);
  });
});

test.each(["quotes", "extended_quotes", "dividends"])(
  "a journal loaded again brings back a missing row of %s",
  async (table) => {
    const { pool, append, load, forgetPositions } = await loadingWorld();
    await append(...answers(6));
    await load();
    const before = await contentOf(pool);
    await pool.query(`delete from ${table} where observed_at = $1`, [at(3)]);
    await forgetPositions();
    await load();

    expect(await contentOf(pool)).toEqual(before);
  },
);

test("a file that cannot be read keeps no other segment back, is named once, and is loaded once it can be read", async () => {
  const { pool, journalDir, append, load } = await loadingWorld();
  for (const from of [0, 10, 20]) await append(...answers(2, from));
  const [, middle] = await listSegments(journalDir);
  const path = middle?.path ?? "";
  renameSync(path, join(journalDir, "elsewhere"));
  mkdirSync(path);
  const told: (string | undefined)[] = [];
  const minutes: (() => void)[] = [];
  const clock = createTestClock(undefined, {
    onSleep: () => new Promise<void>((resolve) => minutes.push(resolve)),
  });
  const stored = () => rowsOfQuery(pool, "select observed_at::text as at from responses order by 1");

  const { loader, failures } = started({
    ...{ pool, journalDir, clock, onDamage: ({ unreadable }) => told.push(unreadable) },
  });
  // What goes wrong is seen below: the waits of the clock have to pass before a loader can be closed.
  const wrong = (error: unknown) => ({ error });
  const drained = await loader.drain().then(loader.drain).catch(wrong);
  const before = [(await stored()).length, await loader.behind(), loader.failure(), [...failures]];
  // A process that is ended and started again meanwhile.
  const again = await load().catch(wrong);
  minutes.shift()?.();
  await until(() => minutes.length === 1, "the second minute");
  rmdirSync(path);
  renameSync(join(journalDir, "elsewhere"), path);
  minutes.shift()?.();
  await until(async () => (await stored()).length === 6, "the file that can be read again");
  await loader.drain();

  expect([drained, again]).toEqual([undefined, expect.objectContaining({ quotes: 0 })]);
  expect(before).toEqual([4, 0, null, []]);
  expect(told).toEqual([expect.stringMatching(/^JOURNAL_UNREADABLE: .* cannot be read: EISDIR/)]);
  expect(new Set((await stored()).map((row) => JSON.stringify(row))).size).toBe(6);
  expect(loader.failure()).toBeNull();
});
