/** What the commands need of their surroundings to collect one job: a database, and directories. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

/** @param job of the file us.yaml */
export async function surroundings(job: string) {
  const { url, pool }: { url: string; pool: pg.Pool } = await freshDatabase();
  const dir = tempDir();
  mkdirSync(join(dir, "jobs"));
  writeFileSync(join(dir, "jobs", "us.yaml"), job);
  const settings = {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: join(dir, "data"),
    QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"),
    QUOTEKEEPER_HTTP_PORT: "0",
  };
  return { pool, settings };
}
