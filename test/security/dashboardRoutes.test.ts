/** However an address of the dashboard is spelled, and by whatever name it is called, the guard stands before it. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { FastifyInstance, RouteOptions } from "fastify";
import { freshDatabase, poolOn } from "../support/database.ts";
import { openDashboard, statusAs } from "../web/dashboard.ts";

const { url } = await freshDatabase();
const pool = poolOn(url, { readOnly: true, max: 2 });

const TOKEN = "a-token-of-the-test-0123456789";
const machines = {
  metrics: { text: async () => "quotekeeper_metric 1\n", contentType: "text/plain" },
  ready: async () => ({ ready: true, checks: {} }),
};

/** What is answered without the token: the login, the page it stands on with its files, and whether the process lives. */
const OPEN = [
  ...["/", "/quotes", "/instrument", "/chain", "/coverage"],
  ...["/icon.svg", "/healthz", "/api/login"],
];
const isOpen = (path: string): boolean => OPEN.includes(path) || path.startsWith("/assets/");
/** The documentation, of which one page stands for all. */
const isPage = (path: string): boolean => path.startsWith("/docs/") && path !== "/docs/dashboard.html";

/** Every route that the server adds, found out while it does: one that comes later is walked too. */
const routes: { method: string; path: string }[] = [];
const addRoute = ({ method, url: path }: RouteOptions): void => {
  for (const each of [method].flat()) routes.push({ method: each, path });
};
const onServer = (message: unknown): void => {
  (message as { fastify: FastifyInstance }).fastify.addHook("onRoute", addRoute);
};

let address: string;
beforeAll(async () => {
  subscribe("fastify.initialization", onServer);
  const jobs = async () => ({
    dir: "jobs",
    jobs: [],
    broken: [],
    isOfFilesBefore: false,
    plan: null,
    problem: null,
  });
  const beginLogin = () => Promise.reject(new Error("nobody gets here"));
  ({ address } = await openDashboard({ pool, token: TOKEN, machines, jobs, beginLogin }));
  unsubscribe("fastify.initialization", onServer);
});
afterAll(() => void unsubscribe("fastify.initialization", onServer));

const hex = (letter: string): string => `%${letter.charCodeAt(0).toString(16)}`;

/** One path in every spelling that some server, proxy or router takes for the same. */
function spellingsOf(path: string, host: string): string[] {
  const letters = [...path.matchAll(/[^/]/g)].map(({ index }) => index);
  const each = letters.map((at) => path.slice(0, at) + hex(path[at] ?? "") + path.slice(at + 1));
  const all = path.replace(/[^/]/g, hex);
  return [
    ...each,
    ...[path, all, all.toUpperCase(), path.toUpperCase(), path.replace(/[a-z]/, (a) => a.toUpperCase())],
    ...[`/${path}`, path.replaceAll("/", "//"), path.replaceAll("/", "\\"), path.replace(/(?!^)\//, "%2f")],
    ...[`/.${path}`, `/%2e${path}`, `/x/..${path}`, `/x/%2e%2e${path}`, `${path}/.`, `${path}/x/..`],
    ...[`http://${host}${path}`, `HTTP://${host}${path}`, `http://${host}/${all}`, `//${host}${path}`],
    ...[`${path};x`, `${path};`, `/;x${path}`, `${path}/`, `${path}//`, `${path}?`, `${path}?/healthz`],
    ...[`${path}#`, `${path}%00`, `${path}%20`, `${path}%3f`, `${path}%zz`, all.replaceAll("%", "%25")],
    ...[`/healthz/..${path}`, `/assets/..${path}`, `${path}/../healthz`],
  ];
}

/** Status and text of the answer to a target exactly as it is written here. */
async function ask(
  method: string,
  target: string,
  host: string,
  more: readonly string[] = [],
): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const head = [`Host: ${host}`, "Content-Length: 0", "Connection: close", ...more, "", ""].join("\r\n");
  // Not ended: node answers nobody who has ended, unless at once.
  socket.write(`${method} ${target} HTTP/1.1\r\n${head}`);
  const answer = await text(socket);
  return { status: Number(answer.split(" ")[1]), body: answer.slice(answer.indexOf("\r\n\r\n")) };
}

/** Walks every spelling of some routes. @returns those that were answered otherwise than expected */
async function walk(
  walked: readonly (typeof routes)[number][],
  host: string,
  expected: readonly number[],
): Promise<object[]> {
  const wrong: object[] = [];
  for (const { method, path } of walked)
    for (const target of spellingsOf(path, host)) {
      const answer = await ask(method, target, host);
      if (!expected.includes(answer.status)) wrong.push({ method, target, ...answer });
    }
  return wrong;
}

test("the routes of the dashboard are known to this test, one by one", () => {
  const closed = new Set(routes.map(({ path }) => path).filter((path) => !isOpen(path) && !isPage(path)));

  expect([...closed].sort()).toEqual([
    ...["/api/accounts/:name/login", "/api/accounts/:name/login/code"],
    ...["/api/bars", "/api/bars.csv", "/api/bars/misses", "/api/chain", "/api/chain.csv", "/api/chain/term"],
    ...[
      "/api/chains",
      "/api/coverage",
      "/api/instruments",
      "/api/logout",
      "/api/misses",
      "/api/now",
      "/api/quotes",
    ],
    ...["/docs/dashboard.html", "/metrics", "/readyz"],
  ]);
});

test("all routes of the dashboard but the login and health want the token, however they are spelled", async () => {
  const closed = routes.filter(({ path }) => !isOpen(path) && !isPage(path));

  expect(await walk(closed, new URL(address).host, [401, 400])).toEqual([]);
});

test("the routes of the dashboard answer to no host name but their own, with a token too, however they are spelled", async () => {
  const [file] = routes.filter(({ path }) => path.startsWith("/assets/"));
  const others = routes.filter(({ path }) => !path.startsWith("/assets/") && !isPage(path));

  expect(await walk([...others, ...(file ? [file] : [])], "evil.example", [421, 400])).toEqual([]);
});

test("the host of an absolute address counts for every route, whatever the Host header says", async () => {
  const { host } = new URL(address);

  expect(await ask("GET", "http://evil.example/healthz", host)).toMatchObject({ status: 421 });
  expect(await ask("GET", `http://${host}/healthz`, "evil.example")).toMatchObject({ status: 200 });
});

test("no page of the Host header's host gets an answer where an absolute address names another host", async () => {
  const { host } = new URL(address);
  const origins = async (target: string, named: string, origin: string) =>
    (await ask("GET", target, named, [`Origin: http://${origin}`])).status;

  expect(await origins(`http://${host}/healthz`, "evil.example", "evil.example")).toBe(403);
  expect(await origins(`http://${host}/healthz`, "evil.example", host)).toBe(200);
});

test("the routes of the dashboard refuse a head that two readers may understand differently", async () => {
  const { host } = new URL(address);
  const bearer = `Authorization: Bearer ${TOKEN}`;
  const status = async (...more: string[]) => (await ask("GET", "/api/now", host, more)).status;
  const many = Array.from({ length: 2_100 }, () => "a:");

  expect(await status(bearer)).toBe(200);
  expect(await status(bearer, `Host: ${host}`)).toBe(400);
  expect(await status(bearer, "hOST: evil.example")).toBe(400);
  // Node counts 2,000 headers unless it is told otherwise.
  expect(await status(bearer, ...many)).toBe(200);
  expect(await status(bearer, ...many, "Host: evil.example")).toBe(400);
  expect(await status(bearer, "Authorization: Bearer x")).toBe(400);
  expect(await status(bearer, `Origin: http://${host}`, `Origin: http://${host}`)).toBe(400);
  expect(await status("Cookie: a=1", bearer, "Cookie: b=2")).toBe(400);
  expect(await status("Content-Type: text/plain", bearer, "Content-Type: application/json")).toBe(400);
  expect(await status(bearer, "Content-Length: 0")).toBe(400);
  expect(await ask("GET", "/healthz", host, ["Host: evil.example"])).toMatchObject({
    status: 400,
    body: expect.stringContaining("HEADER_TWICE"),
  });
});

test("the routes of the dashboard do not repeat an address that cannot be decoded", async () => {
  const answer = await ask("GET", "/<b>%zz", new URL(address).host);

  expect(answer.status).toBe(400);
  expect(answer.body).not.toContain("<b>");
});

test("the names of the dashboard are this machine's own and those of QUOTEKEEPER_WEB_HOSTS, without a token", async () => {
  const open = await openDashboard({ pool, names: ["quotes.example"] });
  const statuses = async (hosts: string[]) =>
    Promise.all(hosts.map((host) => statusAs(open.address, "/api/now", host)));

  const ours = ["127.0.0.1:1", "localhost:1", "LOCALHOST", "[::1]", "quotes.example", "QUOTES.example:443"];
  const theirs = ["evil.example", "quotes.example.evil", "127.0.0.1.evil.example", "192.0.2.7"];
  expect(await statuses(ours)).toEqual(Array(6).fill(200));
  expect(await statuses([...theirs, "a@localhost", "localhost:1:1"])).toEqual(Array(6).fill(421));
});

test("with a token the dashboard answers to any IP address too: no name can be made to resolve to one", async () => {
  const statuses = ["192.0.2.7:8080", "[2001:db8::1]", "quotes.example", "192.0.2.7.evil.example"].map(
    (host) => statusAs(address, "/healthz", host),
  );

  expect(await Promise.all(statuses)).toEqual([200, 200, 421, 421]);
});

test("a NUL or another control character in a parameter is refused before the database sees it", async () => {
  const { get } = await openDashboard({ pool });

  const answers = await Promise.all(
    [
      "/api/chain?symbol=A%00&expiration=2026-12-18&source=1",
      "/api/misses?date=2026-11-20&instrument=%00&source=account",
      "/api/misses?date=2026-11-20&instrument=A%1b[2J&source=account",
      "/api/chain?symbol=A&expiration=2026-12-18&source=1&at=2026-11-20T15:00:00Z%00",
      "/api/bars?instrument=1%00&source=1",
      "/api/instruments?search=A%00",
      "/api/coverage?from=2026-11-20%00&to=2026-11-20",
    ].map((path) => get(path)),
  );

  expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(400));
  expect(await answers[0]?.json()).toMatchObject({ error: { code: "QUERY_INVALID" } });
});
