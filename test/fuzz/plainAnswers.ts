/** Answers that are plain, or nearly so: with oddities in every place, items that come twice, and calls of every form. */
import { type Random, seeded } from "../../bench/governor/random.ts";
import { occSymbol } from "../../src/market/occ.ts";
import { LEAF_TREE, type LeafNode } from "../../src/services/reference/leaves.ts";
import type { QuoteCall, SavedCall } from "../../src/quotes/call.ts";

/** What was asked for, and what came. */
export type MadeAnswer = { request: QuoteCall | SavedCall; body: Buffer };

type Instrument = { symbol: string; contract: { expiration: string; call: boolean; strike: string } | null };

type Made = {
  random: Random;
  /** How often a text, a tag or a white space is odd. */
  odds: number;
  /** Between elements. */
  space: string;
};

const SYMBOLS = ["A", "B", "MRDN", "HLFX", "BRK.B"];
const ODD_SYMBOLS = ["", "null", "X:Y", "A:2026-12-18:CALL:150", "A&amp;B", "\u00c9", "S".repeat(256), " A "];
const NUMBERS = ["12.34", "0.5", "7", "0", "0.0000", "123456789.123456", "100"];
const SIGNED_NUMBERS = [...NUMBERS, "-0.5", "-12.34"];
const COUNTS = ["7", "0", "12", "3402995", "100"];
/** They are read, though not as they stand there. */
const OTHER_NUMBERS = [
  ...["", " ", " 5 "],
  ..."null na NaN n/a 1,234 4E2 1.2E7 +1 5. 007 00 12.0 9223372036854775807".split(" "),
  "9".repeat(18),
];
const ODD_NUMBERS = [
  ...OTHER_NUMBERS,
  ..."100% -100% -5 -0 (5) (5%) \u22125 $5 0,123 4.9E-324 1E400 1E401 .5 - -.5 1.2.3 --1 x 12x &amp; &#48; 12<b/> <![CDATA[7]]> > \0 \\N".split(
    " ",
  ),
  ...["9".repeat(19), "9".repeat(400), "9".repeat(401), "1\t2", "\n5", "\u0661", "<!-- -->3"],
];
const DATES = ["2026-11-06T00:00:00-05:00", "2026-12-18", "0001-01-01T00:00:00", "null", ""];
const ODD_TEXTS = "2026-02-30 tomorrow OPT CS 1 0 2 true TRUE no \u007f x&lt;y ]]>".split(" ");
const SPACES = ["", "\n  ", "\t", " ", "\r\n", " ".repeat(33_000), "text", "<!-- -->", "<a/>"];

/** The answer of a seed. */
export function madeAnswer(seed: number): MadeAnswer {
  const random = seeded(seed);
  const made = {
    random,
    odds: pick(random, [0, 0, 0.002, 0.02]),
    space: pick(random, ["", "", "", "\n    ", "\n    ", "\t\n", "\r\n"]),
  };
  const instruments = someInstruments(random);
  const items = instruments.map((one) => item(one, made));
  const between = (): string => (chance(made) ? pick(random, SPACES) : made.space);
  if (chance(made))
    items.push(pick(random, ["<instrumentquote/>", "<instrumentquote></instrumentquote>", ...items]));
  const inside = items.map((one) => between() + one).join("") + between();
  return { request: someCall(instruments, made), body: Buffer.from(framed(inside, made)) };
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

function chance({ random, odds }: Made, times = 1): boolean {
  return random() < odds * times;
}

/** One to six, seldom one of them twice; underlyings come before and behind their options. */
function someInstruments(random: Random): Instrument[] {
  const all = Array.from({ length: 1 + Math.floor(random() * 6) }, (): Instrument => {
    const symbol = pick(random, SYMBOLS);
    if (random() < 0.6) return { symbol, contract: null };
    const strike = pick(random, ["120.0", "120", "1.25E2", "130.50"]);
    return {
      symbol,
      contract: { expiration: pick(random, ["2026-12-18", "2027-01-15"]), call: random() < 0.5, strike },
    };
  });
  const named = new Map(
    all.map((one) => [JSON.stringify({ ...one, strike: Number(one.contract?.strike) }), one]),
  );
  return random() < 0.1 ? all : [...named.values()];
}

function item(instrument: Instrument, made: Made): string {
  const hasUnderlying = instrument.contract !== null && made.random() < 0.9;
  const extra = made.random() < 0.1;
  const element = (name: string, node: LeafNode, path: string): string => {
    if (chance(made)) return "";
    const open = chance(made, 0.3) ? `<${name} a="1">` : `<${name}>`;
    if (node.leaf !== null) {
      const said = leafText(path, instrument, made);
      return said === null
        ? ""
        : said === "" && made.random() < 0.7
          ? `<${name}/>`
          : `${open}${said}</${name}>`;
    }
    const children = [...node.children].filter(([child]) =>
      isUsual(`${path}${child}`, { instrument, hasUnderlying, extra }),
    );
    if (chance(made)) children.reverse();
    if (chance(made)) children.push(...children.slice(0, 1));
    if (children.length === 0) return `<${name}/>`;
    const inside = children.map(([child, below]) => {
      const space = chance(made, 0.2) ? pick(made.random, SPACES) : made.space;
      return space + element(child, below, `${path}${child}/`);
    });
    return `${open}${inside.join("")}${made.space}</${name}>`;
  };
  return element("instrumentquote", LEAF_TREE, "");
}

/** Whether an instrument of its kind has the element; `extra`: it has what the other kind has, too. */
function isUsual(
  path: string,
  { instrument, hasUnderlying, extra }: { instrument: Instrument; hasUnderlying: boolean; extra: boolean },
): boolean {
  if (/^(underlying|undlyquote)$/.test(path)) return hasUnderlying;
  if (extra) return true;
  const isOption = instrument.contract !== null && !path.startsWith("undlyquote");
  if (/(^greeks|\/contract\w+|quote\/delta|matdt|putcall|strkpx)$/.test(path))
    return isOption || path === "greeks";
  return !(isOption && /(dividenddata|earningspershare|priceearningsratio|\d\dprice)$/.test(path));
}

function leafText(path: string, { symbol, contract }: Instrument, made: Made): string | null {
  const { random } = made;
  const name = path.split("/").at(-2) ?? "";
  const isOdd = chance(made);
  if (isOdd && random() < 0.2) return null;
  if (name === "unknownsymbol") return isOdd ? pick(random, ["true", "FALSE", "", "maybe"]) : "false";
  if (name === "sym") return isOdd ? pick(random, ODD_SYMBOLS) : symbol;
  if (name === "desc") return `${symbol} HOLDINGS${isOdd ? pick(random, ODD_TEXTS) : ""}`;
  if (name === "exch") return isOdd ? pick(random, ODD_TEXTS) : pick(random, ["NSD", "NSD", "NYE", "na", ""]);
  if (name === "sectyp") return isOdd ? pick(random, ODD_TEXTS) : contract ? "OPT" : "CS";
  if (isOdd && /^(matdt|exdate|putcall)$/.test(name)) return pick(random, [...DATES, ...ODD_TEXTS]);
  if (name === "matdt") return contract ? `${contract.expiration}T00:00:00-05:00` : "0001-01-01T00:00:00";
  if (name === "putcall") return contract?.call ? "1" : "0";
  if (name === "exdate") return pick(random, DATES);
  if (isOdd || random() < 0.02) return pick(random, isOdd ? ODD_NUMBERS : OTHER_NUMBERS);
  if (name === "strkpx") return contract?.strike ?? "0";
  if (name === "yield") return pick(random, ["1.83", "4.9E-324", ""]);
  if (name === "contractsize") return random() < 0.95 ? "100" : pick(random, ["10", "100.0", "1E2"]);
  if (/^(change|pctchange|delta|earningspershare|priceearningsratio)$/.test(name))
    return pick(random, SIGNED_NUMBERS);
  return pick(random, /size$|volume$/.test(name) ? COUNTS : NUMBERS);
}

function framed(inside: string, made: Made): string {
  const { random, space } = made;
  const frames = [
    `<response id="1-a">${space}<quotes>${inside}</quotes>${space}</response>`,
    `<?xml version="1.0" encoding="UTF-8"?>\n<response id="2"><elapsedtime>0</elapsedtime><quotes>${inside}</quotes><error>Success</error></response>\n`,
  ];
  const oddFrames = [
    `<response><quotes>${inside}</quotes><quotes/></response>`,
    `<response><a><quotes>${inside}</quotes></a><quotes/></response>`,
    `<response><a>${inside}</a><quotes></quotes></response>`,
    `<response><quotes><a>${inside}</a></quotes></response>`,
    `<response><quotes><!-- ${inside} --></quotes></response>`,
    `<response a="<quotes>"><quotes>${inside}</quotes></response>`,
    `<response><quotes>${inside}</quotes><quotes>${inside}</quotes></response>`,
    `<response><quotes>${inside}</quotes><error>Not authorized</error></response>`,
    `<response id="1" id="2"><quotes>${inside}</quotes></response>`,
    `<other><quotes>${inside}</quotes></other>`,
    `<response><quotes>${inside}</quotes></response><response/>`,
    `<response><quotes>${inside}</quotes>`,
    `<response><type>Error</type><quotes>${inside}</quotes></response>`,
  ];
  return pick(random, chance(made, 10) ? oddFrames : frames);
}

function someCall(instruments: readonly Instrument[], made: Made): MadeAnswer["request"] {
  const { random } = made;
  const delayed = random() < 0.3;
  const symbols = instruments.map(({ symbol, contract }) =>
    contract ? (occSymbol(contractOf(symbol, contract)) ?? symbol) : symbol,
  );
  if (random() < 0.2) symbols.reverse();
  if (chance(made, 5)) symbols.push(pick(random, [...SYMBOLS, "X:Y"]));
  if (chance(made, 5)) symbols.shift();
  const first = instruments[0];
  const calls: MadeAnswer["request"][] = [
    { form: "watchlist", watchlist: "w", delayed },
    { form: "saved", file: "f", delayed },
    ...Array<MadeAnswer["request"]>(3).fill({ form: "symbols", symbols, delayed }),
  ];
  if (first?.contract && (instruments.length === 1 || chance(made)))
    calls.push({ form: "option", contract: contractOf(first.symbol, first.contract), delayed });
  return pick(random, calls);
}

function contractOf(underlying: string, { expiration, call, strike }: NonNullable<Instrument["contract"]>) {
  return {
    underlying,
    expiration,
    optionType: call ? "CALL" : "PUT",
    strike: String(Number(strike)),
  } as const;
}
