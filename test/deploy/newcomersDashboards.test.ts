/** What a newcomer sees in Grafana some minutes after the first start: each panel, with what Grafana chooses by itself. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { type NewcomersArchive, newcomersArchive } from "../archive/newcomer.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { dashboards, expandedAt, type Values } from "./grafanaSql.ts";

/** A Tuesday in the session, a Saturday, and the night: the simulated market never closes. */
const STARTS = ["2026-11-24T16:00:20Z", "2026-11-21T19:30:20Z", "2026-11-24T08:00:20Z"];

const HOUR_MS = 3_600_000;

describe.each(STARTS)("begun at %s,", (start) => {
  let made: NewcomersArchive;
  let client: pg.PoolClient;
  beforeAll(async () => {
    made = await newcomersArchive(start, 10);
    // `start` joins as a collector and takes the account's lease before its first poll.
    const holder = await joinFleet(made.pool, { number: 1 });
    await made.pool.query(
      `insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released)
       values (1, 1, $1, 'r', 0, $2, $3, $3::timestamptz + interval '7 s', false)`,
      [holder, start, made.now],
    );
    await made.pool.query("insert into lease_history values (1, 1, $2, $1, 'quotes-1', 'new', null)", [
      holder,
      start,
    ]);
    client = await made.pool.connect();
    await client.query(`set quotekeeper.as_of = '${made.now}'`);
  });
  afterAll(() => client.release());

  /** What time it is there. */
  const atItsTime = (sql: string): string =>
    sql.replace(/\b(now|clock_timestamp)\(\)/g, `timestamptz '${made.now}'`);

  /** The values that a dashboard opens with: the first of a query's, or all, or the one it names. */
  async function defaults(name: string): Promise<Values> {
    const values: Values = {};
    for (const variable of dashboards.find((each) => each.name === name)?.dashboard.templating.list ?? []) {
      const { value } = variable.current;
      if (variable.type === "datasource") continue;
      if (variable.type === "custom") values[variable.name] = String(value);
      else {
        const { rows } = await client.query<unknown[]>({ text: variable.query, rowMode: "array" });
        const all = rows.map(([one]) => String(one));
        values[variable.name] = [value].flat().includes("$__all") ? all : (all[0] ?? "");
      }
    }
    return values;
  }

  test("Grafana chooses the simulated market by itself", async () => {
    for (const { name } of dashboards) expect(await defaults(name)).toMatchObject({ source: "simulated" });
  });

  test.each(
    dashboards.flatMap(({ name, dashboard }) =>
      dashboard.panels.flatMap(({ title, targets }) => targets.map((target) => ({ name, title, target }))),
    ),
  )("$name shows: $title", async ({ name, target: { rawSql } }) => {
    const { time } = dashboards.find((each) => each.name === name)?.dashboard ?? {};
    const hours = Number(/^now-(\d+)h$/.exec(time?.from ?? "")?.[1]);
    const range = { from: new Date(Date.parse(made.now) - hours * HOUR_MS).toISOString(), to: made.now };

    const { rows } = await client.query<Record<string, unknown>>(
      atItsTime(expandedAt(rawSql, await defaults(name), range)),
    );

    // A row that says nothing is none.
    const says = rows.filter((row) =>
      Object.entries(row).some(([column, value]) => column !== "time" && value !== null),
    );
    expect(says.length).toBeGreaterThan(0);
  });
});
