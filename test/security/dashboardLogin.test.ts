/** A guess at the dashboard's token gains nothing and keeps no user out; a login that is ended is refused. */
import { createHmac } from "node:crypto";
import { setMaxListeners } from "node:events";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { Agent, request } from "undici";
import { type Clock, systemClock } from "../../src/ground/clock.ts";
import { networkOf } from "../../src/web/guard/tries.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { openDashboard } from "../web/dashboard.ts";

const AT_ONCE = 10;
const MOST_WAITING = 30;
const PAUSE_MS = 1_000;

const { url } = await freshDatabase();
const pool = poolOn(url, { readOnly: true, max: 2 });

const TOKEN = "a-token-of-the-test-0123456789";
/** What a proxy on this machine says of where a request comes from. */
const PROXIES = ["127.0.0.1"];

type Get = Awaited<ReturnType<typeof openDashboard>>["get"];

const logIn = (get: Get, token: string, headers: Record<string, string> = {}): Promise<Response> =>
  get("/api/login", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ token }),
  });

const asBearer = (get: Get, token: string, headers: Record<string, string> = {}): Promise<Response> =>
  get("/api/now", { headers: { authorization: `Bearer ${token}`, ...headers } });

const asCookie = (get: Get, cookie: string, headers: Record<string, string> = {}): Promise<Response> =>
  get("/api/now", { headers: { cookie, ...headers } });

const cookieOf = (login: Response): string => login.headers.get("set-cookie")?.split(";")[0] ?? "";

const WAYS = {
  "the login": (get: Get, n: number) => logIn(get, `wrong ${n}`),
  "a bearer's token": (get: Get, n: number) => asBearer(get, `wrong ${n}`),
  "a cookie": (get: Get, n: number) => asCookie(get, `quotekeeper_login=${9e14 + n}-ab.c${n}`),
};

/** A clock whose waits are never over by themselves, only for who has gone. */
function stoppedClock(): Clock & { waiting: () => number } {
  let waiting = 0;
  const sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => {
      waiting += 1;
      signal?.addEventListener("abort", () => {
        waiting -= 1;
        reject(signal.reason as Error);
      });
    });
  return { ...createTestClock(), sleep, waiting: () => waiting };
}

test.each(Object.entries(WAYS))(
  "wrong tokens by %s slow their sender down, and the right one gets in",
  async (_way, guess) => {
    const clock = createTestClock();
    const { get } = await openDashboard({ pool, token: TOKEN, clock });
    const guesses = 60;

    const statuses = new Set<number>();
    for (let n = 0; n < guesses; n++) statuses.add((await guess(get, n)).status);
    const tookMs = clock.monotonicMs();
    const login = await logIn(get, TOKEN);

    expect([...statuses]).toEqual([401]);
    expect(tookMs).toBe((guesses - AT_ONCE) * PAUSE_MS);
    expect(login.status).toBe(200);
    expect((await asBearer(get, TOKEN)).status).toBe(200);
    expect((await asCookie(get, cookieOf(login))).status).toBe(200);
  },
);

test("wrong tokens count together, whichever way they come", async () => {
  const clock = createTestClock();
  const { get } = await openDashboard({ pool, token: TOKEN, clock });

  for (let n = 0; n < 10; n++) for (const guess of Object.values(WAYS)) await guess(get, n);

  expect(clock.monotonicMs()).toBe((30 - AT_ONCE) * PAUSE_MS);
});

test("wrong tokens by the thousand at the same time are not looked at, and neither is the right one among them", async () => {
  const clock = stoppedClock();
  const { get, address } = await openDashboard({ pool, token: TOKEN, clock });
  const cookie = cookieOf(await logIn(get, TOKEN));
  const leaving = new AbortController();
  // Each of the thousand listens to it; Node takes more than ten for a leak.
  setMaxListeners(0, leaving.signal);
  const found: number[] = [];
  // A thousand connections at once may take a busy machine longer than clients wait by themselves.
  const dispatcher = new Agent({ connect: { timeout: 0 }, headersTimeout: 0 });

  const all = Array.from({ length: 1_000 }, (_, n) =>
    request(`${address}/api/now`, {
      ...{ dispatcher, signal: leaving.signal },
      headers: { authorization: `Bearer ${n === 999 ? TOKEN : `wrong ${n}`}` },
    }).then(
      async ({ statusCode, body }) => {
        await body.dump();
        found.push(statusCode);
      },
      () => undefined,
    ),
  );
  await until(() => found.length >= 1_000 - MOST_WAITING, "all that do not wait");
  const loggedIn = await asCookie(get, cookie);
  leaving.abort();
  await Promise.all(all);
  await until(() => clock.waiting() === 0, "the last of those who waited");
  await dispatcher.destroy();

  expect(found.filter((status) => status === 401)).toHaveLength(AT_ONCE);
  expect(found.filter((status) => status === 429)).toHaveLength(1_000 - AT_ONCE - MOST_WAITING);
  expect(loggedIn.status).toBe(200);
});

test("wrong tokens slow nobody down at another address, which a proxy has to be trusted to name", async () => {
  const clock = createTestClock();
  const { get } = await openDashboard({ pool, token: TOKEN, clock, proxies: PROXIES });
  const from = (ip: string) => ({ "x-forwarded-for": ip });

  // Who guesses names another source each time; the proxy adds the one it sees.
  for (let n = 0; n < 40; n++) await asBearer(get, "wrong", from(`192.0.2.${n}, 198.51.100.7`));
  const guessedMs = clock.monotonicMs();
  for (let n = 0; n < AT_ONCE; n++) await asBearer(get, "wrong", from("203.0.113.9"));
  const login = await logIn(get, TOKEN, from("203.0.113.10"));

  expect(guessedMs).toBe((40 - AT_ONCE) * PAUSE_MS);
  expect(clock.monotonicMs()).toBe(guessedMs);
  expect(login.status).toBe(200);
});

test("wrong tokens cannot be spread over addresses that somebody makes up", async () => {
  const clock = createTestClock();
  const { get } = await openDashboard({ pool, token: TOKEN, clock });

  for (let n = 0; n < 40; n++) await asBearer(get, "wrong", { "x-forwarded-for": `192.0.2.${n}` });

  expect(clock.monotonicMs()).toBe((40 - AT_ONCE) * PAUSE_MS);
});

test("wrong tokens of one IPv6 network count as one source's", () => {
  expect(
    ["192.0.2.1", "::ffff:192.0.2.1", "::1", "2001:DB8:1:2:3::4", "2001:db8:1:2::9", "1::3:4:5:6:7:8"].map(
      networkOf,
    ),
  ).toEqual(["192.0.2.1", "192.0.2.1", "0:0:0:0", "2001:db8:1:2", "2001:db8:1:2", "1:0:3:4"]);
});

test("wrong tokens longer than any token are not even read", async () => {
  const { get } = await openDashboard({ pool, token: TOKEN });

  expect((await logIn(get, "x".repeat(5_000))).status).toBe(413);
});

test.each(["https://evil.example", "http://localhost:3000", "null", "file://", "http://127.0.0.1"])(
  "another site's page in the operator's browser, of %s, logs nobody in or out, and its wrong tokens do not count",
  async (origin) => {
    const clock = createTestClock();
    const { get } = await openDashboard({ pool, token: TOKEN, clock });
    const login = await logIn(get, TOKEN);

    const statuses = new Set<number>();
    for (let n = 0; n < 2 * AT_ONCE; n++) {
      const headers = { origin, "content-type": "text/plain" };
      statuses.add((await get("/api/login", { method: "POST", headers, body: "{}" })).status);
      statuses.add((await logIn(get, "wrong", { origin })).status);
    }
    statuses.add((await logIn(get, TOKEN, { origin })).status);
    const headers = { origin, cookie: cookieOf(login) };
    statuses.add((await get("/api/logout", { method: "POST", headers })).status);
    statuses.add((await asCookie(get, cookieOf(login), { origin })).status);

    expect([...statuses]).toEqual([403]);
    expect(clock.monotonicMs()).toBe(0);
  },
);

test("another site's page is kept apart from the dashboard's own, also behind a proxy that asks by another name", async () => {
  const { get, address } = await openDashboard({ pool, token: TOKEN, names: ["quotes.example"] });

  expect((await logIn(get, TOKEN, { origin: address })).status).toBe(200);
  expect((await logIn(get, TOKEN, { origin: "https://quotes.example" })).status).toBe(200);
  expect((await logIn(get, TOKEN, { origin: "https://quotes.example:9000" })).status).toBe(403);
});

test("logging out takes the cookie from the browser", async () => {
  const { get } = await openDashboard({ pool, token: TOKEN, clock: createTestClock() });
  const cookie = cookieOf(await logIn(get, TOKEN));

  const logout = await get("/api/logout", { method: "POST", headers: { cookie } });

  expect(logout.status).toBe(200);
  expect(logout.headers.get("set-cookie")).toMatch(/^quotekeeper_login=;.*Max-Age=0/);
});

test("a login holds after a restart and at another dashboard on the same directory; it ends with the token, and with the key's file", async () => {
  const loginsDir = join(tempDir(), "dashboard");
  const clock = createTestClock();
  const start = (token = TOKEN) => openDashboard({ pool, token, clock, loginsDir });
  const cookie = cookieOf(await logIn((await start()).get, TOKEN));
  const status = async (dashboard: Awaited<ReturnType<typeof start>>): Promise<number> =>
    (await asCookie(dashboard.get, cookie)).status;

  const [restarted, renamed] = [await start(), await start("another-token-of-the-test-0123")];
  rmSync(join(loginsDir, "key"));
  const rekeyed = await start();

  expect([await status(restarted), await status(renamed), await status(rekeyed)]).toEqual([200, 401, 401]);
});

test("a login tells nothing of the token: its key is made of chance too, in a file of its owner's without the token", async () => {
  const loginsDir = join(tempDir(), "dashboard");
  const { get } = await openDashboard({ pool, token: TOKEN, loginsDir, clock: createTestClock() });
  const cookie = cookieOf(await logIn(get, TOKEN));
  const key = join(loginsDir, "key");
  const chance = readFileSync(key, "utf8");
  const value = decodeURIComponent(cookie.split("=")[1] ?? "");
  const [signed = "", signature = ""] = value.split(/\.(?=[^.]+$)/);
  const signedBy = (secret: string): string =>
    createHmac("sha256", secret).update(signed).digest("base64").replace(/=+$/, "");

  expect(readdirSync(loginsDir)).toEqual(["key"]);
  expect([loginsDir, key].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
  expect(chance).toMatch(/^[0-9a-f]{64}$/);
  expect([signedBy(TOKEN), signedBy(chance)]).not.toContain(signature);
  expect(signedBy(createHmac("sha256", chance).update(TOKEN).digest("hex"))).toBe(signature);
});

test("where no key can be kept a login lasts as long as the process", async () => {
  const loginsDir = join(tempDir(), "dashboard");
  writeFileSync(loginsDir, "no directory");
  const start = () => openDashboard({ pool, token: TOKEN, loginsDir, clock: systemClock });
  const [{ get }, other] = [await start(), await start()];
  const cookie = cookieOf(await logIn(get, TOKEN));

  expect([(await asCookie(get, cookie)).status, (await asCookie(other.get, cookie)).status]).toEqual([
    200, 401,
  ]);
});
