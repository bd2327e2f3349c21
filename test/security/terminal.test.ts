/** Text of others that is printed: by a service, in files, in the database. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import type { Sink } from "../../src/ground/edges.ts";
import { harmlessEdges, oneLine, own, say } from "../../src/cli/terminal/harmless.ts";
import { createLogger } from "../../src/cli/terminal/logger.ts";
import { painter } from "../../src/cli/terminal/colour.ts";
import { widthOf } from "../../src/cli/terminal/width.ts";
import { table } from "../../src/cli/terminal/table.ts";
import { createProgram, runProgram } from "../../src/cli/program.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import { capturedEdges, type Outcome } from "../cli/edges.ts";
import { anyCharacter } from "../support/anyCharacter.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { accountAt } from "../support/simulatedService.ts";
import { startStubService } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

// Many commands run one after the other, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** Some of all the characters that are dangerous and that XML can hold, in an order that chance has made once. */
const SPREAD = fc
  .sample(
    fc.constantFrom(
      ...Array.from({ length: 0xff_80 }, (_, index) => String.fromCodePoint(0x7f + index)).filter((one) =>
        /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(one),
      ),
    ),
    { numRuns: 15, seed: 14 },
  )
  .join("");

/** One of each kind: C1 as CSI and as OSC, text that runs backwards, ends of lines, what hides, a tag beyond 16 bits. */
const IN_XML = `${SPREAD}\u009b31m\u009d0;owned\u009c\u202eLIVE\u2066\u2028FORGED\u0085FORGED\u200b\u{e0041}\u007f\nFORGED`;
/** The same with controls that XML cannot hold. */
const HOSTILE = `${IN_XML}\u001b[2J\u001b]0;owned\u0007\b\r\nFORGED`;

/** What a terminal would act on, or what would begin another line; a text that is wrapped goes on further to the right. */
const DANGEROUS = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|^ {0,4}FORGED/mu;

/** Sequences that only our own code may send, to a terminal. */
const OURS =
  /\r?\u001b\[(?:1|22|2|22|31|39|32|33|36|90|0)m|\r?\u001b\[(?:2K|K|J|H|\d+A|\?1049[hl]|\?25[hl]|\?7[hl])/g;

function recording(isTTY = false) {
  let written = "";
  const sink: Sink = { isTTY, columns: 100, write: (text) => void (written += text) };
  return { sink: harmlessEdges({ stdout: sink, stderr: sink }).stdout, written: () => written };
}

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc
    .array(fc.constantFrom(...'\u009b\u009d\u001b\u202e\u2028\n\r\t\u0000[31m;A\\"\ud800'), { maxLength: 20 })
    .map((a) => a.join("")),
);

test("nothing is printed that a terminal would act on, and each line is one line", () => {
  fc.assert(
    fc.property(fc.array(anyText), (lines) => {
      const { sink, written } = recording();

      say(sink, ...lines);
      sink.write(oneLine(lines.join("\n")));

      expect(written()).not.toMatch(DANGEROUS);
      expect(written().match(/\n/g) ?? []).toHaveLength(lines.length);
    }),
  );
});

test("JSON stays JSON of the same text", () => {
  fc.assert(
    fc.property(fc.dictionary(anyText, anyText), (value) => {
      const { sink, written } = recording();

      sink.write(`${JSON.stringify(value, null, 2)}\n`);

      expect(JSON.parse(written())).toEqual(JSON.parse(JSON.stringify(value)));
      expect(written()).not.toMatch(DANGEROUS);
    }),
  );
});

test("our own colours and cursor movements pass, the same ones of somebody else do not", () => {
  const { sink, written } = recording(true);
  const paint = painter(sink, {});

  say(sink, `${paint("red", "ours")} \u001b[31mtheirs\u001b[39m`);
  sink.write(`${own("\r\u001b[2K")}${own("\u001b[H")}`);

  expect(written()).toBe("\u001b[31mours\u001b[39m \\u001b[31mtheirs\\u001b[39m\n\r\u001b[2K\u001b[H");
});

test("a table keeps its columns, whatever stands in them", () => {
  const { sink, written } = recording();
  const columns = [{ heading: "Job" }, { heading: "Due", right: true }];

  sink.write(
    table(
      columns,
      [
        [HOSTILE, "1"],
        ["a\nb\tc", "23"],
      ],
      { stdout: sink, env: {} },
    ),
  );

  const lines = written().trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  expect(new Set(lines.map(widthOf)).size).toBe(1);
  expect(lines[2]).toMatch(/^a\\nb\\tc +23$/);
});

test.each([[true], [false]])("a log line is one line (on a terminal: %s)", async (isTTY) => {
  const { sink, written } = recording(isTTY);
  const error = new Error(`lost\nFORGED${HOSTILE}`, { cause: new Error(HOSTILE) });

  (await createLogger("info", sink)).warn(
    { err: error, job: HOSTILE, [HOSTILE]: [HOSTILE] },
    `${HOSTILE}\nFORGED`,
  );

  expect(written().replace(OURS, "")).not.toMatch(DANGEROUS);
  if (isTTY) expect(written()).toMatch(/\u001b\[33mWARN\u001b\[39m/);
  else expect(JSON.parse(written())).toMatchObject({ job: HOSTILE, msg: `${HOSTILE}\nFORGED` });
});

/** XML text. */
const xml = (text: string): string =>
  [...text].map((c) => (/[\w ]/.test(c) ? c : `&#${c.codePointAt(0)};`)).join("");

function quoteXml(symbol: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><response id="1"><quotes><instrumentquote><greeks/><instrument><desc>${xml(IN_XML)}</desc><exch>${xml(IN_XML)}</exch><sectyp>CS</sectyp><sym>${xml(symbol)}</sym></instrument><quote><askprice>1</askprice><bidprice>1</bidprice><change>0</change><extendedquote/><lastprice>1</lastprice><pctchange>0</pctchange></quote><unknownsymbol>false</unknownsymbol></instrumentquote></quotes></response>`;
}

const clock = createTestClock();
const { url, pool } = await freshDatabase();
const service = await startStubService({ body: quoteXml(`SYM${IN_XML}`) });
/** Gives whoever logs in a token that stands in the address to open. */
const loginService = await startStubService({
  body: new URLSearchParams({ oauth_token: HOSTILE, oauth_token_secret: HOSTILE }).toString(),
});

/** Files of somebody else, in names and in content. Their names can hold all but a slash. */
const files = tempDir();
const [jobsDir, badJobsDir, savedDir, dataDir] = ["jobs", "bad", "saved", "data"].map((name) => {
  const dir = join(files, `${name}${HOSTILE}`);
  mkdirSync(dir);
  return dir;
}) as [string, string, string, string];
const yaml = (text: string): string => JSON.stringify(text);
writeFileSync(
  join(jobsDir, `job${HOSTILE}.yaml`),
  `name: good\nschedule: "*/5 * * * *"\nsymbols: [AAPL]\nchains:\n  - { underlying: GE, expirations: { next: 1 }, strikes: { around: last, percent: 5, step: 5 } }\n`,
);
writeFileSync(
  join(jobsDir, "calendar.yaml"),
  `overrides:\n  - { date: 2026-11-24, kind: early, close: '13:00', reason: ${yaml(HOSTILE)} }\n`,
);
writeFileSync(join(badJobsDir, `bad${HOSTILE}.yaml`), `name: ${yaml(HOSTILE)}\nschedule: ${yaml(HOSTILE)}\n`);
writeFileSync(
  join(badJobsDir, "b.yaml"),
  `${yaml(HOSTILE)}: ${yaml(HOSTILE)}\nsymbols: [${yaml(HOSTILE)}]\n`,
);
writeFileSync(join(savedDir, `saved${HOSTILE}.xml`), "<response");
writeFileSync(join(savedDir, `rows${HOSTILE}.csv`), `${HOSTILE},last\n"${HOSTILE}",1\n`);
writeFileSync(join(savedDir, `symbols${HOSTILE}.txt`), `${HOSTILE}\n`);

const env = {
  DATABASE_URL: url,
  QUOTEKEEPER_DATA_DIR: dataDir,
  QUOTEKEEPER_JOBS_DIR: jobsDir,
  ...accountAt(service.baseUrl),
};
const BAD_JOBS = { QUOTEKEEPER_JOBS_DIR: badJobsDir };

async function quotekeeper(
  argv: readonly string[],
  more: Record<string, string> = {},
  isTTY = false,
): Promise<Outcome> {
  clock.advance(1_000);
  const { edges, stdout, stderr } = capturedEdges({ env: { ...env, ...more }, clock, isTTY });
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

const HARMLESS: unknown = expect.not.stringMatching(DANGEROUS);

/** Commands that print tables and lines for people, and end at once. */
const PRINTED = new Set(["status", "coverage", "plan", "calendar", "jobs", "journal"]);

const SOME_DAYS = ["--from", "2026-11-18", "--to", "2026-11-25"];

/** Every command, so that it prints what others wrote; those that go on for ever, so that they fail: see below for them. */
const COMMANDS: readonly (readonly [argv: readonly string[], more?: Record<string, string>])[] = [
  [["poll", "--watchlist", "W"]],
  [["doctor"]],
  [["login"], { QUOTES_SERVICE: "etrade", QUOTES_BASE_URL: loginService.baseUrl }],
  [["login", "--account", HOSTILE], { QUOTES_SERVICE: "etrade", QUOTES_BASE_URL: loginService.baseUrl }],
  [["status"]],
  [["status"], BAD_JOBS],
  [["coverage", ...SOME_DAYS]],
  [["plan", "--date", "2026-11-24"]],
  [["plan", "--date", "2026-11-24"], BAD_JOBS],
  [["calendar", ...SOME_DAYS, "--closed"]],
  [["jobs", "check"]],
  [["jobs", "check"], BAD_JOBS],
  [["accounts", "list"]],
  [["accounts", "drain", HOSTILE]],
  [["accounts", "forget", HOSTILE]],
  [["init", "--yes", "--symbols", HOSTILE]],
  [["migrate"]],
  [["migrate"], { DATABASE_URL: `postgresql://u@127.0.0.1:1/q${HOSTILE}` }],
  [["journal", "list"]],
  [["journal", "verify"]],
  [["journal", "repair"]],
  [["backfill", "--journal"]],
  [["backfill", "--gaps", ...SOME_DAYS]],
  [["backfill", "--xml", savedDir]],
  [["backfill", "--csv", join(savedDir, `rows${HOSTILE}.csv`)]],
  [["backfill", "--symbols-file", join(savedDir, `symbols${HOSTILE}.txt`)]],
  [["export", "--format", "csv", "--out", join(files, `out${HOSTILE}`), "--replace"]],
  [["serve", "keys", "list"]],
  [["serve", "keys", "revoke", HOSTILE]],
  [["collect"], BAD_JOBS],
  [["start"], { QUOTES_LIMIT: HOSTILE }],
  [["web"], { QUOTEKEEPER_HTTP_PORT: HOSTILE }],
  [["lake", "--out", HOSTILE]],
  [["sql", "select description, observed_at from latest_quotes order by 1"]],
  [["sql", `select '${HOSTILE}' as "${HOSTILE.replaceAll('"', '""')}"`]],
  [["sql", "--csv", "select description from instruments order by 1"]],
  [["sql", HOSTILE]],
  [["sql", "--file", HOSTILE]],
  [["lake", "verify", "--out", HOSTILE]],
  [["lake", "restore", "--out", HOSTILE, "--from", "2026-11-01", "--to", "2026-11-30"]],
];

test("no command prints anything that a terminal acts on, and no line is forged, with a hostile service, hostile files and a hostile database", async () => {
  await quotekeeper(["poll", "--watchlist", "W"]);
  await fillArchive();
  writeFileSync(join(dataDir, "journal", `stranger${HOSTILE}.journal`), "");
  expect(readdirSync(join(dataDir, "journal")).length).toBeGreaterThan(1);
  const withJson = await jsonCommands();

  for (const [argv, more] of COMMANDS) {
    const json = withJson.some((command) => argv.join(" ").startsWith(command));
    const plain = await quotekeeper(argv, more);
    const onTerminal = await quotekeeper(json ? [...argv, "--json"] : argv, more, true);
    // What is quick is printed for a person as well.
    const shown = PRINTED.has(argv[0] ?? "") ? await quotekeeper(argv, more, true) : onTerminal;

    const name = argv.slice(0, 2).join(" ");
    const printed = [plain, onTerminal, shown].map(({ stdout, stderr }) => `${stdout}${stderr}`);
    for (const text of printed.slice(0, 1)) expect([name, text]).toEqual([name, HARMLESS]);
    for (const text of printed.slice(1)) expect([name, text.replace(OURS, "")]).toEqual([name, HARMLESS]);
    const { stdout, stderr } = onTerminal;
    if (json) expect(JSON.parse(stdout || (stderr.trimEnd().split("\n").at(-1) ?? ""))).toBeTruthy();
  }
  const tried = new Set(COMMANDS.map(([[command = ""]]) => command));
  const all = (await createProgram(capturedEdges().edges, () => undefined)).commands.map((command) =>
    command.name(),
  );
  expect([...tried].sort()).toEqual(all.sort());
});

test("errors of the service are said in one line, and with --json to the letter", async () => {
  service.answerWith({ body: `<response id="1"><error>${xml(IN_XML)}</error></response>` });

  const { stderr, stdout } = await quotekeeper(["poll", "--watchlist", "W"]);
  const json = await quotekeeper(["poll", "--watchlist", "W", "--json"]);
  const status = await quotekeeper(["status"]);

  expect(`${stdout}${stderr}${status.stdout}`).not.toMatch(DANGEROUS);
  expect(stderr).toContain("\\u009b31m");
  expect(json.stdout).not.toMatch(DANGEROUS);
  expect(JSON.stringify(JSON.parse(json.stdout))).toContain("\u009b31m");
});

test.each([
  ["start", true],
  ["collect", false],
])(
  "%s, polling a hostile service and then ended, prints nothing that a terminal acts on (on a terminal: %s)",
  async (command, isTTY) => {
    // The one that stands there has gone, and nobody has had its account: one who left no count would be waited for, a minute.
    await pool.query("update collectors set seen_at = now() - interval '1 hour'");
    await pool.query("delete from leases");
    const hostile = await startStubService({ body: quoteXml(`SYM${IN_XML}`) });
    const dir = tempDir();
    mkdirSync(join(dir, "jobs"));
    writeFileSync(
      join(dir, "jobs", "job.yaml"),
      'name: job\nschedule: "* * * * * *"\nsession: always\nwatchlist: W\n',
    );
    const { edges, stdout, stderr, interrupt } = capturedEdges({
      env: {
        ...env,
        ...{ QUOTES_BASE_URL: hostile.baseUrl, QUOTEKEEPER_DATA_DIR: join(dir, `data${HOSTILE}`) },
        ...{ QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"), QUOTEKEEPER_HTTP_PORT: "0" },
      },
      isTTY,
    });
    const ended = runProgram([command], edges);

    for (const answer of [
      {},
      { body: `<response id="1"><error>${xml(IN_XML)}</error></response>` },
      { status: 500, body: HOSTILE },
      { status: 401, body: `<response id="1"><error>${xml(IN_XML)}</error></response>` },
    ]) {
      hostile.answerWith(answer);
      const before = hostile.requests.length;
      await until(() => hostile.requests.length > before || null, "another call");
    }
    interrupt();
    await ended;

    expect(`${stdout()}${stderr()}`.replace(OURS, "")).toEqual(HARMLESS);
  },
);

test("--json prints to the letter what the archive holds", async () => {
  const { stdout } = await quotekeeper(["coverage", ...SOME_DAYS, "--json"]);

  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ instrument: `GE${HOSTILE}` }));
});

/** Names of commands that have --json. */
async function jsonCommands(): Promise<string[]> {
  const program = await createProgram(capturedEdges().edges, () => undefined);
  type One = (typeof program.commands)[number];
  const named = (command: One, above: string): string[] => {
    const path = `${above} ${command.name()}`.trim();
    const has = command.options.some(({ long }) => long === "--json");
    return [...(has ? [path] : []), ...command.commands.flatMap((below) => named(below, path))];
  };
  return program.commands.flatMap((command) => named(command, ""));
}

/** An archive into which somebody else has written, with what its owner may write. */
async function fillArchive(): Promise<void> {
  const client = await pool.connect();
  const slotAt = instantFromDate(new Date("2026-11-20T20:00:00Z"));
  const misses: [string, "budget" | "unknown_symbol"][] = [
    [`GE${HOSTILE}`, "budget"],
    [`NO${HOSTILE}`, "unknown_symbol"],
  ];
  const due = ["AAPL", `GE${HOSTILE}`, `NO${HOSTILE}`];
  await insertLedger(client, [{ type: "slots", entries: [{ job: `job${HOSTILE}`, slotAt, due, misses }] }]);
  client.release();
  await pool.query(
    `with joined as (
       insert into collectors (id, number, name, run, pid, host, version, started_at, seen_at, beat, stopped, jobs_digest, files, knows)
       values (gen_random_uuid(), 0, 'quotes' || $1, 'r', 1, 'h', '1', now(), now(), 0, false, '', '{}', '{}') returning id
     )
     insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released)
     select 1, 1, id, 'r', 0, now(), now(), now() + interval '1 day', false from joined`,
    [HOSTILE],
  );
  await pool.query("update instruments set symbol = symbol || $1, description = $1, exchange = $1", [
    HOSTILE,
  ]);
}
