import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { type JobsReport, passedByWords, readJobs, requireJobs } from "../../src/schedule/readJobs.ts";
import { readSymbols } from "../../src/schedule/symbolList.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { describeProblem } from "../../src/config/yamlFile.ts";
import { accountVariables, accountYaml } from "../support/accounts.ts";
import { tempDir, dirWith } from "../support/tempDir.ts";

/** The problems of a jobs directory, `file:line: message`, files relative to it. */
async function problemsIn(dir: string): Promise<string[]> {
  const { problems } = await readJobs(dir);
  return problems.map(({ file, ...rest }) =>
    describeProblem({ file: relative(dir, file), ...rest }).replaceAll(`${dir}/`, ""),
  );
}

/** The problems of one job file, `line: message`. */
async function problemsOf(text: string): Promise<string[]> {
  const problems = await problemsIn(dirWith({ "a.yaml": text }));
  return problems.map((problem) => problem.replace(/^a\.yaml:/, ""));
}

function read(files: Record<string, string>): Promise<JobsReport> {
  return readJobs(dirWith(files));
}

const HEAD = `name: a\nschedule: "* * * * *"\n`;

test("a job file with every option is read as it is written", async () => {
  const { jobs, problems } = await read({
    "all.yaml": `name: us-equities            # unique
schedule: "* * * * *"        # cron
timezone: America/Chicago
session: any
delayed: true
priority: -5
account: main
symbols: [AAPL, MSFT]
options: [{ underlying: AAPL, expiration: 2026-12-18, type: CALL, strike: 150 }]
chains:
  - { underlying: AAPL, expirations: { next: 3, kind: monthly }, strikes: { around: last, percent: 10, step: 5 }, types: [CALL, PUT] }
`,
  });

  expect(problems).toEqual([]);
  expect(jobs).toEqual([
    {
      name: "us-equities",
      file: expect.stringMatching(/all\.yaml$/),
      schedule: "* * * * *",
      timezone: "America/Chicago",
      session: "any",
      delayed: true,
      priority: -5,
      account: "main",
      symbols: ["AAPL", "MSFT"],
      symbolsFile: null,
      watchlist: null,
      options: [{ underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "150" }],
      chains: [
        {
          underlying: "AAPL",
          expirations: { next: 3, kind: "monthly" },
          strikes: { around: "last", percent: "10", step: "5" },
          types: ["CALL", "PUT"],
        },
      ],
    },
  ]);
});

test("files that an operating system puts among the job files are passed over", async () => {
  const { jobs, problems } = await read({
    "a.yaml": `${HEAD}symbols: [IBM]\n`,
    "._a.yaml": "\u0000\u0005\u0016\u0007Mac OS X",
  });

  expect(jobs.map(({ symbols }) => symbols)).toEqual([["IBM"]]);
  expect(problems).toEqual([]);
});

test("hidden names are no job files, whatever they are, and a visible link that leads nowhere is a broken one", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, "a.yaml"), `${HEAD}symbols: [IBM]\n`);
  symlinkSync("op@host.example.4242:1764300000", join(dir, ".#a.yaml"));
  mkdirSync(join(dir, ".hidden.yaml"));
  const hidden = await readJobs(dir);
  symlinkSync("nowhere.yaml", join(dir, "b.yaml"));

  const { jobs, problems } = await readJobs(dir);

  expect([hidden.jobs.length, hidden.problems]).toEqual([1, []]);
  expect(jobs).toHaveLength(1);
  expect(problems).toEqual([
    { file: join(dir, "b.yaml"), line: 1, message: expect.stringContaining("leads to no file") },
  ]);
});

test("names in capitals are passed by, and said to be", async () => {
  const { jobs, passedBy } = await read({
    "a.yaml": `${HEAD}symbols: [IBM]\n`,
    "P.YAML": `${HEAD}symbols: [GE]\n`,
    ".#P.YAML": "",
  });

  expect(jobs).toHaveLength(1);
  expect(passedByWords(passedBy)).toBe(
    "passed by, because job files end in .yaml or .yml in small letters: P.YAML",
  );
});

test("a list whose lines end in carriage returns is read line by line", () => {
  expect([...readSymbols("# mine\rGE\rIBM\r").symbols]).toEqual([
    ["GE", 2],
    ["IBM", 3],
  ]);
});

test("symbols in typographic quotes are no symbols", async () => {
  const { problems } = await read({ "a.yaml": `${HEAD}symbols: [“AAPL”, ‘MSFT’]\n` });

  expect(problems.map(({ message }) => message).join()).toContain("“AAPL”");
});

test.each([
  [
    "a job file needs a name, a schedule and something to poll; the rest has defaults",
    `${HEAD}watchlist: DEFAULT\n`,
    {
      ...{ timezone: "America/New_York", session: "regular", delayed: false, priority: 0 },
      ...{ symbols: [], watchlist: "DEFAULT", options: [], chains: [] },
    },
  ],
  [
    "a job file's symbols are text in capitals, whatever they look like, each once and in order",
    `${HEAD}symbols: [NaN, true, 1E5, 007, null, ~, .inf, 0x1F, 1_000, no, 2026-01-01, "007", brk.b, TRUE]\n`,
    { symbols: "NAN,TRUE,1E5,007,NULL,~,.INF,0X1F,1_000,NO,2026-01-01,BRK.B".split(",") },
  ],
  [
    "an underlying is read in capitals as well, and the id of a watchlist as it is written",
    `${HEAD}watchlist: my_watchlist
options: [{ underlying: brk.b, expiration: 2026-12-18, type: PUT, strike: 400 }]
chains: [{ underlying: aapl, expirations: [2026-12-18], strikes: [150] }]
`,
    { watchlist: "my_watchlist", options: [{ underlying: "BRK.B" }], chains: [{ underlying: "AAPL" }] },
  ],
  [
    "a job's name, its watchlist and an underlying are text, whatever they look like",
    `name: 007
schedule: "* * * * *"
watchlist: 18516
options: [{ underlying: true, expiration: 2026-12-18, type: PUT, strike: 0152.50 }]
`,
    { name: "007", watchlist: "18516", options: [{ underlying: "TRUE", strike: "152.5" }] },
  ],
  [
    "a job file may come from Windows, with a byte order mark and carriage returns",
    `\uFEFF${HEAD}symbols:\n  - AAPL\n  - MSFT\n`.replaceAll("\n", "\r\n"),
    { symbols: ["AAPL", "MSFT"] },
  ],
])("%s", async (_fact, text, job) => {
  const { jobs, problems } = await read({ "a.yaml": text });

  expect(problems).toEqual([]);
  expect(jobs).toMatchObject([job]);
});

test("the job files that the checkout ships are right", async () => {
  const { jobs, problems } = await readJobs(fileURLToPath(new URL("../../jobs/", import.meta.url)));

  expect(problems).toEqual([]);
  expect(jobs.length).toBeGreaterThan(0);
});

test.each([
  ["nothing in the file", "", ["1: the file is empty: expected options, each as name: value"]],
  ["comments alone", "# later\n", ["1: the file is empty: expected options, each as name: value"]],
  [
    "a list in place of options",
    "- AAPL\n- MSFT\n",
    [
      expect.stringMatching(
        /^1: the file has no option of its kind: expected name, schedule, .* or chains, each/,
      ),
    ],
  ],
  ["a tab that indents", `${HEAD}symbols:\n\t- AAPL\n`, ["4: a tab indents this line: expected spaces"]],
  [
    "a bracket that is never closed",
    `name: a\nsymbols: [AAPL, MSFT\nschedule: "* * * * *"\n`,
    [expect.stringMatching(/^3: this is not YAML: Flow sequence .* must .* end with a \]$/)],
  ],
  [
    "a schedule without quotes",
    "name: a\nschedule: * * * * *\nsymbols: [AAPL]\n",
    ['2: a value that begins with * stands in quotes, such as schedule: "* * * * *"'],
  ],
  [
    "an option given twice",
    `${HEAD}symbols: [AAPL]\nschedule: "5 * * * *"\n`,
    ["4: schedule is given twice"],
  ],
  [
    "an alias",
    `${HEAD}symbols: &all [AAPL]\nwatchlist: *all\n`,
    ["4: *all stands for another place of the file: write the value itself"],
  ],
  [
    "two jobs in one file",
    `${HEAD}symbols: [AAPL]\n---\nname: b\n`,
    ["4: a second document begins here (---): a file holds one job"],
  ],
  [
    "options that are missing",
    "symbols: [AAPL]\n",
    [
      "1: name is missing: expected a name of letters, digits, dots, dashes and underscores, at most 64 of them",
      '1: schedule is missing: expected a cron expression, such as "*/5 9-16 * * MON-FRI"',
    ],
  ],
  [
    "an option that does not exist",
    `${HEAD}symbols: [AAPL]\nsymbol: MSFT\n`,
    [
      "4: symbol is not an option here: expected name, schedule, timezone, session, delayed, priority, account, symbols, symbolsFile, watchlist, options or chains",
    ],
  ],
  [
    "nothing to poll",
    HEAD,
    ["1: the job polls nothing: give one of symbols, symbolsFile, watchlist, or options, or chains"],
  ],
  [
    "symbols and a watchlist",
    `${HEAD}symbols: [AAPL]\nwatchlist: DEFAULT\n`,
    [
      "4: watchlist is DEFAULT: a job has only one of symbols, symbolsFile, watchlist, and symbols is there too",
    ],
  ],
  [
    "wrong values everywhere",
    `name: us equities
schedule: "* * * *"
timezone: New York
session: lunch
delayed: yes
priority: high
symbols: AAPL
`,
    [
      "1: name is us equities: expected a name of letters, digits, dots, dashes and underscores, at most 64 of them",
      expect.stringMatching(
        /^2: schedule is "\* \* \* \*": expected a cron expression, such as .* \(.*5 or 6 fields but got 4\)$/,
      ),
      "3: timezone is New York: expected an IANA time zone, such as America/New_York",
      "4: session is lunch: expected pre, regular, post, any or always",
      "5: delayed is yes: expected true or false",
      "6: priority is high: expected a whole number from -1000 to 1000",
      "7: symbols is AAPL: expected a list, such as [AAPL, MSFT]",
    ],
  ],
  [
    "options that are there but empty",
    `name:\nschedule: ""\nsymbols:\noptions: []\nchains: []\n`,
    [
      "1: name is empty: expected a name of letters, digits, dots, dashes and underscores, at most 64 of them",
      expect.stringMatching(/^2: schedule is "": expected a cron expression/),
      "3: symbols is empty: expected a list, such as [AAPL, MSFT]",
      "4: options is an empty list: expected at least one entry",
      "5: chains is an empty list: expected at least one entry",
    ],
  ],
  [
    "symbols that are none",
    `${HEAD}symbols:\n  - AAPL\n  - BRK B\n  - ""\n  - A,B\n  - [MSFT]\n`,
    [
      "5: symbols[1] is BRK B: expected a symbol: 1 to 32 characters without blanks, commas, colons, quotes and brackets",
      '6: symbols[2] is "": expected a symbol: 1 to 32 characters without blanks, commas, colons, quotes and brackets',
      "7: symbols[3] is A,B: expected a symbol: 1 to 32 characters without blanks, commas, colons, quotes and brackets",
      "8: symbols[4] is a list: expected a symbol: 1 to 32 characters without blanks, commas, colons, quotes and brackets",
    ],
  ],
  [
    "a minute that no clock shows",
    `name: a\nschedule: "61 * * * *"\nsymbols: [AAPL]\n`,
    [expect.stringMatching(/^2: schedule is "61 \* \* \* \*": expected a cron expression.*61/)],
  ],
  [
    "a day that no month has",
    `name: a\nschedule: "0 0 31 2 *"\nsymbols: [AAPL]\n`,
    [expect.stringMatching(/^2: schedule is "0 0 31 2 \*": expected a cron expression.*impossible/)],
  ],
  [
    "wrong contracts",
    `${HEAD}options:
  - { underlying: AAPL, expiration: 2026-02-30, type: call, strike: -5 }
  - { underlying: AAPL, expiration: 12/18/2026, type: PUT, strike: 0 }
  - { underlying: AAPL, expiration: 2026-12-18, strike: 1e2, kind: CALL }
  - AAPL
`,
    [
      "4: options[0].expiration is 2026-02-30: expected a date that exists, YYYY-MM-DD",
      "4: options[0].type is call: expected CALL or PUT",
      "4: options[0].strike is -5: expected a decimal above 0, such as 150 or 2.5",
      "5: options[1].expiration is 12/18/2026: expected a date that exists, YYYY-MM-DD",
      "5: options[1].strike is 0: expected a decimal above 0, such as 150 or 2.5",
      "6: options[2].type is missing: expected CALL or PUT",
      "6: options[2].strike is 1e2: expected a decimal above 0, such as 150 or 2.5",
      "6: options[2].kind is not an option here: expected underlying, expiration, type or strike",
      "7: options[3] is AAPL: expected options, each as name: value",
    ],
  ],
  [
    "wrong chains",
    `${HEAD}chains:
  - underlying: AAPL
    expirations: { next: 0, kind: daily }
    strikes: { around: mid, percent: 200, step: 0 }
    types: [CALLS]
  - { underlying: AAPL, expirations: 2026-12-18, strikes: 150 }
  - { expirations: [2026-13-01], strikes: [a], types: [] }
`,
    [
      "5: chains[0].expirations.next is 0: expected 1 or more",
      "5: chains[0].expirations.kind is daily: expected monthly or weekly",
      "6: chains[0].strikes.around is mid: expected last",
      expect.stringMatching(/^6: chains\[0\]\.strikes\.percent is 200: .*at most 100$/),
      "6: chains[0].strikes.step is 0: expected a decimal above 0",
      "7: chains[0].types[0] is CALLS: expected CALL or PUT",
      expect.stringMatching(/^8: chains\[1\]\.expirations is 2026-12-18: expected .* list of dates/),
      expect.stringMatching(/^8: chains\[1\]\.strikes is 150: expected .* list of strikes/),
      "9: chains[2].underlying is missing: expected text",
      "9: chains[2].expirations[0] is 2026-13-01: expected a date that exists, YYYY-MM-DD",
      "9: chains[2].strikes[0] is a: expected a decimal above 0",
      "9: chains[2].types is an empty list: expected at least one entry",
    ],
  ],
])("%s is named with its line, and with all else that is wrong", async (_name, text, expected) => {
  expect(await problemsOf(text)).toEqual(expected);
});

test("a value of many lines is shown by its beginning, in one line", async () => {
  const [problem] = await problemsOf(`${HEAD}symbols: >\n  ${"AAPL, MSFT,\n  ".repeat(20)}\n`);

  expect(problem).toMatch(/^3: symbols is > AAPL, MSFT.{1,40}\.\.\.: expected a list/);
});

test("a directory of job files names every mistake in one pass, also where one hides another", async () => {
  const dir = dirWith({
    "a.yaml": `name: twin\nschedule: "* * * * *"\nsymbols: [AAPL]\n`,
    "b.yaml": `name: twin\nschedule: "* * *"\ncolour: red\naccount: nobody\nsymbols: [AAPL]\nsymbolsFile: ./none.txt\n`,
    "c.yaml": `name: twin\nname: c\nschedule: * * * * *\nsession: noon\n`,
    "d.yaml": `name: d\nsession: noon\nschedule: "* * * * *"\nsymbols: [AAPL\npriority: high\n`,
  });

  const { jobs, problems } = await readJobs(dir, loadConfig({}, dir));

  expect(jobs.map(({ file }) => basename(file))).toEqual(["a.yaml"]);
  expect(
    problems.map(({ file, line, message }) => `${basename(file)}:${line}: ${message.split(/[:,(]/)[0]}`),
  ).toEqual([
    "b.yaml:1: name is twin",
    'b.yaml:2: schedule is "* * *"',
    "b.yaml:3: colour is not an option here",
    "b.yaml:4: account is nobody",
    "b.yaml:6: symbolsFile is ./none.txt",
    `b.yaml:6: symbolsFile ${join(dir, "none.txt")} cannot be read `,
    "c.yaml:1: the job polls nothing",
    "c.yaml:2: name is given twice",
    "c.yaml:3: a value that begins with * stands in quotes",
    "c.yaml:4: session is noon",
    "d.yaml:2: session is noon",
    "d.yaml:5: this is not YAML",
  ]);
});

test("a directory of job files with two jobs of one name keeps the first and names both files", async () => {
  const job = `name: twin\nschedule: "* * * * *"\nsymbols: [AAPL]\n`;
  const dir = dirWith({ "a.yaml": job, "b.yaml": `# copied\n${job}` });

  expect(await problemsIn(dir)).toEqual([
    "b.yaml:2: name is twin: a.yaml has it already, and each job needs a name of its own",
  ]);
});

test("a directory of job files may hold a calendar, which is no job", async () => {
  const { jobs, calendar, problems } = await read({
    "a.yaml": `${HEAD}symbols: [AAPL]\n`,
    "calendar.yaml": "overrides:\n  - { date: 2027-03-12, kind: early, close: 13:00, reason: 007 }\n",
  });

  expect(problems).toEqual([]);
  expect(jobs).toHaveLength(1);
  expect(calendar).toEqual([{ date: "2027-03-12", kind: "early", close: "13:00", reason: "007" }]);
});

test("a directory of job files may hold accounts, which are no job either, and no job is pinned to an account that is not among them", async () => {
  const dir = dirWith({
    "a.yaml": `${HEAD}account: second\nsymbols: [AAPL]\n`,
    "b.yaml": `name: b\nschedule: "* * * * *"\nsymbols: [AAPL]\naccount: third\n`,
    "accounts.yaml": `accounts:\n${accountYaml("main")}${accountYaml("second")}`,
  });
  const settings = loadConfig(accountVariables("main", "second"), dir);

  const [asked, unasked] = [await readJobs(dir, settings), await readJobs(dir)];
  writeFileSync(join(dir, "accounts.yaml"), `accounts:\n${accountYaml("main", { limit: "0" })}`);
  const { problems } = await readJobs(dir, settings);

  expect(asked).toMatchObject({
    jobs: [{ name: "a", account: "second" }],
    accounts: [{ name: "main" }, { name: "second" }],
    problems: [
      {
        file: join(dir, "b.yaml"),
        line: 4,
        message: "account is third, and there is none of that name: expected main or second",
      },
    ],
  });
  expect(unasked).toMatchObject({ jobs: [{ name: "a" }, { name: "b" }], accounts: [], problems: [] });
  const unknown = (name: string, file: string, line: number) => ({
    ...{ file: join(dir, file), line },
    message: `account is ${name}, and there is none of that name`,
  });
  expect(problems.filter(({ file }) => !file.endsWith("accounts.yaml"))).toEqual([
    unknown("second", "a.yaml", 3),
    unknown("third", "b.yaml", 4),
  ]);
});

test("mistakes in the calendar are named together with those of the jobs", async () => {
  const dir = dirWith({
    "a.yaml": HEAD,
    "calendar.yaml":
      "overrides:\n  - { date: 2027-02-30, kind: closed }\n  - { date: 2027-03-01, kind: shut }\n  - { day: 2027-03-02, kind: closed }\n",
  });

  expect(await problemsIn(dir)).toEqual([
    "a.yaml:1: the job polls nothing: give one of symbols, symbolsFile, watchlist, or options, or chains",
    "calendar.yaml:2: overrides[0].date is 2027-02-30: expected a date that exists, YYYY-MM-DD",
    "calendar.yaml:3: overrides[1].kind is shut: expected closed, early or regular",
    expect.stringMatching(/^calendar\.yaml:4: overrides\[2\]\.date is missing: expected/),
    "calendar.yaml:4: overrides[2].day is not an option here: expected date, kind, close or reason",
  ]);
});

test("a job file that cannot be read does not keep the others from being read", async () => {
  const dir = dirWith({ "b.yaml": `${HEAD}symbols: [AAPL]\n` });
  mkdirSync(join(dir, "a.yaml"));
  symlinkSync(join(dir, "nowhere"), join(dir, "c.yaml"));

  expect((await readJobs(dir)).jobs).toHaveLength(1);
  expect(await problemsIn(dir)).toEqual([
    "a.yaml:1: the file cannot be read (EISDIR)",
    "c.yaml:1: the link leads to no file, or the file was just removed",
  ]);
});

test("a directory of job files with mistakes is refused where jobs are needed, and all mistakes are named", async () => {
  const dir = dirWith({ "a.yaml": "symbols: [AAPL]\n", "b.yaml": "" });

  await expect(requireJobs(dir, loadConfig({}, dir))).rejects.toMatchObject({
    code: "JOBS_INVALID",
    exitCode: 2,
    message: expect.stringMatching(/3 problems[^]*a\.yaml:1: name[^]*a\.yaml:1: schedule[^]*b\.yaml:1: /),
  });
});

const job = (schedule: string, options = ""): string =>
  `name: a\nschedule: "${schedule}"\n${options}symbols: [AAPL]\n`;
const regular = "session regular (09:30 to before 16:00 in New York on trading days)";

test.each([
  ["the close itself", "0 16 * * MON-FRI", "", regular, "post or always"],
  ["a time at night", "0 3 * * *", "", regular, "always"],
  ["a weekday without a session", "0 10 * * SAT", "", regular, "always"],
  ["a holiday of each year", "0 10 19 6 *", "", regular, "always"],
  ["an hour of another zone", "30 6 * * *", "timezone: Asia/Tokyo\n", regular, "post or always"],
  ["noon before the market opens", "0 12 * * *", "session: pre\n", "session pre", "regular or always"],
])(
  "a schedule that never meets its session is refused with its line, its session and what to do: %s",
  async (_name, cron, options, told, remedy) => {
    const [problem, ...more] = await problemsOf(job(cron, options));

    expect(problem).toContain(`2: schedule is "${cron}" (`);
    expect(problem).toContain(`which is never due in ${told}`);
    expect(problem).toMatch(new RegExp(`expected another time or day, or session: ${remedy}$`));
    expect(more).toEqual([]);
  },
);

test.each([
  ["a leap day that is a Monday", "0 10 29 2 MON", ""],
  ["a time that is after the close on half days alone", "30 14 24 12 *", "session: post\n"],
  ["the second before the close", "59 59 15 * * MON-FRI", ""],
  ["a night in New York that is day elsewhere", "0 0 * * *", "timezone: Asia/Tokyo\n"],
  ["a holiday, around the clock", "0 10 25 12 *", "session: always\n"],
])("a schedule that is seldom due is accepted: %s", async (_name, cron, options) => {
  expect(await problemsOf(job(cron, options))).toEqual([]);
});

test("a schedule is accepted that meets a session of the operator's calendar alone", async () => {
  const calendar = "overrides:\n  - { date: 2027-08-14, kind: regular }\n";

  const { jobs, problems } = await read({ "a.yaml": job("0 10 * * SAT"), "calendar.yaml": calendar });

  expect(problems).toEqual([]);
  expect(jobs).toHaveLength(1);
});

test("a schedule that never meets its session holds up no other job, and is refused where it is the only one", async () => {
  const other = job("* * * * *").replace("name: a", "name: b");
  const [alone, beside] = [{ "a.yaml": job("0 3 * * *") }, { "a.yaml": job("0 3 * * *"), "b.yaml": other }];

  const { jobs } = await requireJobs(dirWith(beside), loadConfig({}, tempDir()));

  expect(jobs.map(({ name }) => name)).toEqual(["b"]);
  await expect(requireJobs(dirWith(alone), loadConfig({}, tempDir()))).rejects.toMatchObject({
    code: "JOBS_INVALID",
    message: expect.stringContaining("never due"),
  });
});

const JOB = `${HEAD}symbolsFile: ./list.txt\n`;

test("a file of symbols has one a line or several between commas, comments and empty lines, and each symbol counts once", async () => {
  const { jobs, problems } = await read({
    "a.yaml": JOB,
    "list.txt": "\uFEFF# mine\r\nAAPL\r\n\r\n  MSFT , ge # two\r\nAAPL\r\nNaN\r\n007",
  });

  expect(problems).toEqual([]);
  expect(jobs[0]?.symbols).toEqual(["AAPL", "MSFT", "GE", "NAN", "007"]);
});

test("a comment in a file of symbols begins behind white space: a # within a symbol belongs to it, as in YAML", async () => {
  const { jobs, problems } = await read({
    "a.yaml": JOB,
    "b.yaml": `name: b\nschedule: "* * * * *"\nsymbols: [ABC#, GHI] # two\n`,
    "list.txt": "ABC#\nDEF#,GHI\n\t# three so far\nJKL #,MNO\nPQR,#S\n",
  });

  expect(problems).toEqual([]);
  expect(jobs.map(({ symbols }) => symbols)).toEqual([
    ["ABC#", "DEF#", "GHI", "JKL", "PQR", "#S"],
    ["ABC#", "GHI"],
  ]);
});

test.each([
  ["that is missing", {}, "a.yaml:3: symbolsFile list.txt cannot be read (ENOENT)"],
  ["that is empty", { "list.txt": "" }, "a.yaml:3: symbolsFile list.txt holds no symbol"],
  ["of comments alone", { "list.txt": "# none yet\n\n" }, "a.yaml:3: symbolsFile list.txt holds no symbol"],
  [
    "with words that are no symbols",
    { "list.txt": "AAPL\nBERKSHIRE B\n" },
    "list.txt:2: this is no symbol: expected one a line, or commas between them, each of 1 to 32 characters without blanks, commas, colons, quotes and brackets",
  ],
])("a file of symbols is refused by name: %s", async (_name, files: Record<string, string>, problem) => {
  expect(await problemsIn(dirWith({ "a.yaml": JOB, ...files }))).toEqual([problem]);
});
