/** What recorded releases promised (docs/promises.md) still holds. `node scripts/promised.js` records a release. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { brokenPromises, type PromiseRecord, promisesOf } from "../../scripts/promised/record.ts";
import { lackOf } from "../../src/journal/ledger.ts";
import { joinRecord } from "../../src/journal/record.ts";
import { freshDatabase } from "../support/database.ts";

const HERE = new URL("./", import.meta.url);
const HOW = "To record new promises, or changed ones before the first publication: node scripts/promised.js";

const { pool } = await freshDatabase();
const today = await promisesOf(fileURLToPath(new URL("../../", import.meta.url)), pool);
const records = readdirSync(HERE)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(new URL(name, HERE), "utf8")) as PromiseRecord)
  // Each major version has promises of its own.
  .filter(({ release }) => release.split(".")[0] === today.release.split(".")[0]);

test("there is a record of this release, which has promises of each kind", () => {
  const own = records.find(({ release }) => release === today.release)?.promises ?? {};

  expect(Object.keys(own)).toEqual(Object.keys(today.promises));
  for (const promises of Object.values(own)) expect(Object.keys(promises).length).toBeGreaterThan(2);
});

describe.each(records)("$release", (record) => {
  test("no promise of a recorded release is broken", () => {
    const broken = brokenPromises(record, today);

    expect([...broken, ...(broken.length > 0 ? [HOW] : [])]).toEqual([]);
  });

  test("records of a journal as a recorded release wrote them are read, with every field", () => {
    for (const head of Object.values(record.heads)) {
      const read = joinRecord(Buffer.from(head), Buffer.from(""));

      expect(read).toMatchObject(JSON.parse(head) as object);
      if (read?.kind === "note") expect(lackOf(read.note)).toBeNull();
    }
  });
});

test("a promise is broken by what is gone and by what has changed, and not by what is new", () => {
  const recorded = { PORT: "default 8080", HOST: "default 127.0.0.1", LEVEL: "default info" };
  const later = { PORT: "default 9090", LEVEL: "default info", NEW: "default 1" };

  const broken = brokenPromises(
    { release: "1.0.0", promises: { setting: recorded }, heads: {} },
    { release: "1.1.0", promises: { setting: later }, heads: {} },
  );

  expect(broken).toEqual([
    "1.0.0 promised of the setting `PORT`: default 8080. Today it is: default 9090.",
    "1.0.0 promised the setting `HOST` (default 127.0.0.1), which is gone.",
  ]);
});
