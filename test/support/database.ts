/** A PostgreSQL database for one test file. */
import { afterAll, afterEach, beforeEach } from "@jest/globals";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { emptyArchive } from "./archive.ts";

/** A database of one's own on the run's server. */
export type TestDatabase = {
  /** Connection string of its owner. */
  url: string;
  name: string;
  /** Made by `createPool`, as the program's own; ended with the test file. */
  pool: pg.Pool;
};

const pools: pg.Pool[] = [];
const names: string[] = [];

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  for (const name of names) await ask("DELETE", name);
});

/** Whether a test of a file that hands on its databases is running, those it has, and those of tests that are over. */
let handingOn = false;
const had: TestDatabase[] = [];
const over: TestDatabase[] = [];

/**
 * In this test file a database goes from one test to the next, emptied: that takes a tenth of the time in which one is made,
 * and its connections have asked before. It is for tests that change rows alone, and after which nothing goes on loading.
 */
export function handOnDatabases(): void {
  beforeEach(() => {
    handingOn = true;
  });
  afterEach(() => {
    handingOn = false;
    over.push(...had.splice(0));
  });
}

/**
 * Makes a database, a copy of one that has been migrated; dropped when the test file ends.
 *
 * @param options.migrated false: an empty one, not even migrated
 */
export async function freshDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  if (!handingOn || !migrated) return makeDatabase(migrated);
  const again = over.pop();
  if (again !== undefined) await emptyArchive(again.pool);
  const database = again ?? (await makeDatabase(migrated));
  had.push(database);
  return database;
}

async function makeDatabase(migrated: boolean): Promise<TestDatabase> {
  const url = await ask("POST", migrated ? "migrated" : "empty");
  const name = new URL(url).pathname.slice(1);
  names.push(name);
  return { url, name, pool: poolOn(url) };
}

/** Another pool on a database, ended with the test file. */
export function poolOn(
  url: string,
  options?: { max?: number; readOnly?: boolean; readMs?: number; answerMs?: number },
): pg.Pool {
  const pool = createPool(url, options);
  pools.push(pool);
  return pool;
}

async function ask(method: string, path: string): Promise<string> {
  // Alone on its connection: one that is kept alive may be closed at the very moment it is used again.
  const headers = { connection: "close" };
  const response = await fetch(`${process.env["TEST_DATABASE_DESK"]}/${path}`, { method, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`no database for the test: ${text}`);
  return text;
}
