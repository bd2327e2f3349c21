/** Other people's OAuth 1.0 libraries call a running `serve` over HTTP, and it agrees with each about every signature. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { capturedEdges } from "../cli/edges.ts";
import { tempDir } from "../support/tempDir.ts";
import { type ClientCall, type ClientKey, findClients, leftOut } from "./clients/clients.ts";

const CLIENTS = findClients();
process.stderr.write(leftOut(CLIENTS));

type Nasty = readonly [what: string, parameters: [name: string, value: string][]];

/** Secrets of characters that are encoded in one place and not in another; each client has a token of its own. */
const keyOf = (client: string): ClientKey => ({
  consumerKey: "key-1",
  consumerSecret: "s&cret=1%20 +/é€",
  token: `token~1.2_3-${client.slice(0, 3)}`,
  tokenSecret: "!*'();@&=+$,/?#[] 😀",
});

const NASTY: readonly Nasty[] = [
  ["none at all", []],
  ["a comma", [["symbols", "AAPL,MSFT"]]],
  ["a space", [["symbols", "BRK B"]]],
  ["a plus", [["symbols", "A+B"]]],
  ["a plus beside a space", [["a", "1 + 1 = 2"]]],
  [
    "a percent sign, encoded text, text encoded twice",
    [
      ["a", "100%"],
      ["b", "%20"],
      ["c", "%2520"],
    ],
  ],
  ["what RFC 3986 reserves", [["a", "!*'();:@&=+$,/?#[]"]]],
  ["what needs no encoding", [["a", "-._~"]]],
  ["a value beyond ASCII", [["symbols", "ÄÖ€"]]],
  ["a name beyond ASCII", [["ключ", "значение"]]],
  ["a character beyond the first plane", [["a", "😀"]]],
  [
    "an empty value",
    [
      ["a", ""],
      ["b", "1"],
    ],
  ],
  ["a value with its own = and &", [["a", "b=c&d=e"]]],
  [
    "names that sort by byte and not by letter",
    [
      ["b", "1"],
      ["B", "2"],
      ["a", "3"],
      ["_", "4"],
    ],
  ],
  [
    "names of which one begins the others",
    [
      ["a", "1"],
      ["a1", "2"],
      ["a-", "3"],
    ],
  ],
  ["a quote and a backslash", [["a", 'say "hi" \\ bye']]],
  ["a line feed and a tab", [["a", "one\ntwo\tthree"]]],
];

/** Their forms are made from hashes, in which a name stands once: in a query alone. */
const REPEATED: readonly Nasty[] = [
  [
    "a name given three times",
    [
      ["a", "2"],
      ["a", "10"],
      ["a", "1"],
    ],
  ],
  [
    "a name given twice, once empty",
    [
      ["a", "1"],
      ["a", ""],
    ],
  ],
];

/** Where a library does not do as RFC 5849 section 3.4.1.3.2 says, so that its signature is another one. */
const LIBRARY_ERRORS: Readonly<Record<string, readonly string[]>> = {
  // Net::OAuth 0.28 sorts "name=value" whole (Message.pm), and reads a URL's query into a hash.
  "Net::OAuth with LWP (Perl)": ["names of which one begins the others", ...REPEATED.map(([what]) => what)],
  // ruby-oauth 0.5 sorts names before it encodes them (helper.rb).
  "ruby-oauth (Ruby)": ["a name beyond ASCII"],
  // So does PECL's oauth 2.0 (oauth.c); what it signs is an array, in which a name stands once.
  "PECL oauth (PHP)": ["a name beyond ASCII", ...REPEATED.map(([what]) => what)],
};

/** Of the other calls: 180 a minute. */
const PATH = "/v1/account/1/anything.xml";

const base = { url: "", end: async (): Promise<unknown> => undefined };
beforeAll(async () => {
  const { edges, said, interrupt } = capturedEdges({
    env: {
      QUOTEKEEPER_DATA_DIR: tempDir(),
      QUOTES_LIMIT: "1000",
      QUOTEKEEPER_LOG_LEVEL: "silent",
    },
  });
  const keys = CLIENTS.map(({ name }) => keyOf(name)).flatMap(
    ({ consumerKey, consumerSecret, token, tokenSecret }) => [
      "--key",
      [consumerKey, consumerSecret, token, tokenSecret].join(":"),
    ],
  );
  const ended = runProgram(["serve", "--source", "simulated", "--port", "0", ...keys], edges);
  base.url = (await said(/^QUOTES_BASE_URL=(\S+)$/m))[1] ?? "";
  base.end = async () => {
    interrupt();
    await ended;
  };
});
afterAll(() => base.end());

const call = (changes: Partial<ClientCall>): ClientCall => ({
  method: "GET",
  path: "/v1/market/quotes.xml",
  parameters: [],
  place: "header",
  ...changes,
});

describe.each(CLIENTS)("$name", ({ name, isThere, run }) => {
  const key = keyOf(name);
  // What is not installed is named above, in one line, and left out.
  const when = isThere ? test : test.skip;

  when("gets quotes for symbols, a watchlist and an option, signed in header and query", async () => {
    const option = { underlying: "AAPL", expiration: "2028-01-21", type: "PUT", strike: "150" };
    const calls = (["header", "query"] as const).flatMap((place) => [
      call({
        place,
        parameters: [
          ["symbols", "AAPL,MSFT"],
          ["delayed", "false"],
        ],
      }),
      call({ place, parameters: [["watchlist", "my_watchlist"]] }),
      call({ place, parameters: Object.entries(option) }),
    ]);

    const answers = await run(base.url, key, calls);

    expect(answers.map(({ status }) => status)).toEqual(calls.map(() => 200));
    const symbols = answers.map(({ body }) =>
      [...body.matchAll(/<sym>(.*?)<\/sym>/g)].map(([, symbol]) => symbol),
    );
    const expected = [
      ["AAPL", "MSFT"],
      ["MSFT", "NVDA", "TSLA"],
      ["AAPL", "AAPL"],
    ];
    expect(symbols).toEqual([...expected, ...expected]);
    expect(answers[2]?.body).toContain("<putcall>0</putcall>");
  });

  when("names odd symbols exactly as they were meant, in capitals as symbols are", async () => {
    const symbols = ["BRK B", "A+B", "ÄÖ€", "100%", "%20", "😀", "A&B", "a&b"];

    const answers = await run(
      base.url,
      key,
      symbols.map((symbol) => call({ parameters: [["symbols", symbol]] })),
    );

    expect(answers.map(({ status }) => status)).toEqual(symbols.map(() => 200));
    const named = answers.map(({ body }) => /<sym>(.*?)<\/sym>/.exec(body)?.[1]?.replace("&amp;", "&"));
    expect(named).toEqual(symbols.map((symbol) => symbol.toUpperCase()));
  });

  when("has its signature accepted whatever the parameters are, in query, header and form", async () => {
    const isSound = ([what]: Nasty): boolean => !LIBRARY_ERRORS[name]?.includes(what);
    const gets = [...NASTY, ...REPEATED]
      .filter(isSound)
      .flatMap(([, parameters]) =>
        (["header", "query"] as const).map((place) => call({ path: PATH, parameters, place })),
      );
    const posts = NASTY.filter(isSound).flatMap(([, parameters]) =>
      (["header", "body"] as const).map((place) => call({ method: "POST", path: PATH, parameters, place })),
    );
    const calls = [...gets, ...posts];

    const answers = await run(base.url, key, calls);

    // 501: authenticated and counted, and then not part of the service.
    const refused = answers.flatMap(({ status, body }, index) =>
      status === 501 ? [] : [`${status} ${JSON.stringify(calls[index])} ${body}`],
    );
    expect(refused).toEqual([]);
  });

  when("signs a path as it is sent, with what is encoded in it", async () => {
    const paths = [
      "/v1/account/a%20b%2Cc/anything.xml",
      "/v1/account/%C3%A4!~/anything.xml",
      "/v1/Account/UPPER",
    ];

    const answers = await run(
      base.url,
      key,
      paths.map((path) => call({ path, parameters: [["a", "1"]] })),
    );

    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 501));
  });

  when("is refused with a wrong secret, an unknown token and an unknown consumer key", async () => {
    const wrong: Partial<ClientKey>[] = [
      { consumerSecret: "x" },
      { tokenSecret: "x" },
      { token: "x" },
      { consumerKey: "x" },
    ];

    const answers = await run(
      base.url,
      key,
      wrong.map((wrongKey) => call({ parameters: [["symbols", "AAPL"]], key: wrongKey })),
    );

    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  });
});

test("what is not installed is named in one line, and left out", () => {
  const clients = findClients([
    { name: "nothing (Nowhere)", interpreters: ["/nowhere/nothing"], probe: [], script: "python.py" },
  ]);

  expect(clients.map(({ isThere }) => isThere)).toEqual([false]);
  expect(leftOut(clients)).toBe("Left out, because not installed: nothing (Nowhere).\n");
  expect(leftOut([])).toBe("");
});
