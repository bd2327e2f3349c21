import { afterAll, describe, expect, test } from "@jest/globals";
import type { Log } from "../../src/log.ts";
import { startWeb, type Web, type WebOptions } from "../../src/web/server.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { closedPort } from "../support/stubService.ts";

const open: Web[] = [];
afterAll(async () => {
  for (const web of open) await web.close();
});

type LogLine = { level: string; message: string; fields: object };

async function start(options: Pick<WebOptions, "pool"> & Partial<WebOptions>) {
  const logged: LogLine[] = [];
  const at =
    (level: string) =>
    (fields: object, message: string): void =>
      void logged.push({ level, message, fields });
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const web = await startWeb({ clock: createTestClock(), log, host: "127.0.0.1", port: 0, ...options });
  open.push(web);
  return { address: web.address, logged };
}

const { url, pool } = await freshDatabase();

describe("the dashboard", () => {
  test("before the first quote says that there are none yet", async () => {
    const { address } = await start({ pool });

    const response = await fetch(address);

    expect(response.status).toBe(200);
    expect(await response.text()).toContain("No quotes yet");
  });

  test("shows the newest quote of each instrument that the archive holds", async () => {
    const { address } = await start({ pool: poolOn(url, { readOnly: true, max: 1 }) });
    await pool.query(`
      insert into instruments (security_type, symbol, description, first_seen_at, last_seen_at)
        values ('EQ', 'GE', 'GENERAL <ELECTRIC>', now(), now())`);
    await pool.query(`
      insert into sources (id, name, kind) values (99, 'test', 'simulated') on conflict do nothing`);
    await pool.query(`
      insert into quotes (observed_at, instrument_id, source_id, delayed, last)
        select at, i.id, s.id, false, price
        from instruments i, (select id from sources where kind = 'simulated' limit 1) s,
             (values (timestamptz '2026-11-20 22:48:00Z', 30.10), ('2026-11-20 22:49:30Z', 30.25)) as q(at, price)`);

    const page = await (await fetch(address)).text();

    expect(page).toContain("GENERAL &#60;ELECTRIC&#62;");
    expect(page).toContain("30.25");
    expect(page).not.toContain("30.10");
    expect(page).toContain("30 s");
    expect(page).toContain("SIMULATED");
  });

  test("needs nothing from elsewhere: its style is its own, and no script may run", async () => {
    const { address } = await start({ pool });

    const page = await fetch(address);
    const style = await fetch(`${address}/style.css`);

    expect(page.headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self' data:",
    );
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(await page.text()).not.toMatch(/<script|(src|href)="(https?:)?\/\//);
    expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
    expect(style.status).toBe(200);
  });

  test("answers 503 while the database is away, names no password, and the program lives on", async () => {
    const port = await closedPort();
    const away = poolOn(`postgresql://me:canary-password@127.0.0.1:${port}/quotes`);
    const { address, logged } = await start({ pool: away });

    const response = await fetch(address);
    const health = await fetch(`${address}/healthz`);

    expect(response.status).toBe(503);
    expect(await response.text()).toContain("The archive cannot be read at the moment");
    expect(await health.json()).toEqual({ status: "alive" });
    expect(logged.map(({ level }) => level)).toEqual(["warn"]);
    expect(JSON.stringify(logged)).not.toContain("canary-password");
  });

  test("knows no other page", async () => {
    const { address } = await start({ pool });

    expect((await fetch(`${address}/quotes?token=canary`)).status).toBe(404);
  });
});

test("a port that is taken is named, with the setting that chooses another", async () => {
  const { port } = new URL((await start({ pool })).address);

  await expect(start({ pool, port: Number(port) })).rejects.toMatchObject({
    code: "PORT_IN_USE",
    exitCode: 1,
    message: expect.stringMatching(
      new RegExp(`dashboard cannot listen on 127\\.0\\.0\\.1:${port}, .*QUOTEKEEPER_HTTP_PORT`),
    ),
  });
});

test("an address that is not this machine's is named, with the settings to correct", async () => {
  await expect(start({ pool, host: "192.0.2.1" })).rejects.toMatchObject({
    code: "HTTP_ADDRESS_INVALID",
    message: expect.stringMatching(/192\.0\.2\.1.*QUOTEKEEPER_HTTP_HOST/),
  });
});
