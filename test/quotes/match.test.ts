import fc from "fast-check";
import { expect, test } from "@jest/globals";
import { option, security, type InstrumentKey } from "../../src/market/instrument.ts";
import { fatesOf, matchAnswer } from "../../src/quotes/match.ts";
import { keyOf } from "../../src/quotes/keyText.ts";
import { askedInstruments } from "../../src/quotes/call.ts";
import { type ReadItem } from "../../src/quotes/document.ts";
import { readDocument } from "../../src/services/reference/readDocument.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const contract = { underlying: "MRDN", expiration: "2027-01-15", optionType: "CALL", strike: "120" } as const;

function fates(asked: InstrumentKey[] | null, ...items: string[]): string[] {
  return matchAnswer(asked, readDocument(Buffer.from(answerXml(...items))).items).map((match) =>
    match.fate === "dead" ? `${match.name} ${match.reason}` : `${match.name} ${match.fate}`,
  );
}

const asked = ["A", "B", "C"].map(security);

test("symbols are matched by name, in whatever order they are answered", () => {
  expect(fates(asked, equityXml("C"), equityXml("A"), equityXml("B"))).toEqual([
    "A stored",
    "B stored",
    "C stored",
  ]);
});

test("symbols that the answer lacks are absent, and those the service does not know are unknown", () => {
  expect(fates(asked, equityXml("B", { unknown: "true" }), equityXml("A"))).toEqual([
    "A stored",
    "B unknown",
    "C absent",
  ]);
});

test("symbols that nobody asked for are set aside, and so is an option of an asked symbol", () => {
  expect(fates([security("MRDN")], equityXml("D"), optionXml({}))).toEqual([
    "MRDN absent",
    "D not_asked",
    "MRDN:2027-01-15:CALL:120 not_asked",
  ]);
});

test("a symbol answered twice alike is stored once, answered differently it is not stored, in whatever order", () => {
  const other = equityXml("A", { quote: { lastprice: "99" } });
  const alike = equityXml("A", { quote: { askprice: "20.40" } });

  expect(fates([security("A")], equityXml("A"), equityXml("A"), alike)).toEqual(["A stored"]);
  for (const asked of [[security("A")], null])
    for (const items of [
      [equityXml("A"), other],
      [other, equityXml("A")],
    ])
      expect(fates(asked, ...items)).toEqual(["A answered_twice", "A answered_twice"]);
});

test("symbols are stored in capitals, in whatever case they are asked and answered", () => {
  const occ = askedInstruments({ form: "symbols", symbols: ["MRDN270115C00120000", "A"], delayed: false });
  const items = [equityXml("a"), optionXml({ underlying: "mrdn" })];

  const matched = matchAnswer(occ, readDocument(Buffer.from(answerXml(...items))).items);

  expect(matched).toMatchObject([
    {
      ...{ fate: "stored", name: "MRDN:2027-01-15:CALL:120" },
      item: { instrument: { symbol: "MRDN" }, underlying: { symbol: "MRDN" } },
    },
    { fate: "stored", name: "A", item: { instrument: { symbol: "A" } } },
  ]);
  expect(fates([security("A")], equityXml("a", { unknown: "true" }))).toEqual(["A unknown"]);
  expect(fates([option(contract)], optionXml({ underlying: "mrdn", strike: "x" }))).toEqual([
    "MRDN:2027-01-15:CALL:120 malformed",
  ]);
});

test("symbols that an older journal asked for and answered in small letters are stored as they were", () => {
  for (const symbol of ["NaN", "true"]) {
    const items = readDocument(Buffer.from(answerXml(equityXml(symbol)))).items;
    expect(matchAnswer([security(symbol)], items)).toMatchObject([
      { fate: "stored", name: symbol, item: { instrument: { symbol } } },
    ]);
  }
});

test("an absent symbol is named together with what is likely the same in the answer, and only named", () => {
  const brkb = option({ ...contract, underlying: "BRKB" });
  const dotted = "BRK.B:2027-01-15:CALL:120";

  for (const symbol of ["BRK-B", "BRKB", "BRK B"])
    expect(matchAnswer([security(symbol), security("GE")], itemsOf(equityXml("BRK.B")))).toMatchObject([
      { fate: "absent", name: symbol, answered: "BRK.B" },
      { fate: "absent", name: "GE" },
      {
        ...{ fate: "dead", name: "BRK.B", reason: "not_asked" },
        detail: `the call did not ask for it; it asked for ${symbol}, which is likely the same`,
      },
    ]);
  expect(matchAnswer([brkb], itemsOf(optionXml({ underlying: "BRK.B" })))).toMatchObject([
    { fate: "absent", name: "BRKB:2027-01-15:CALL:120", answered: dotted },
    { name: dotted, detail: expect.stringContaining("it asked for BRKB:2027-01-15:CALL:120,") },
  ]);
  expect(matchAnswer([brkb], itemsOf(optionXml({ underlying: "BRK.B", strike: "125" })))).toEqual([
    { fate: "absent", name: "BRKB:2027-01-15:CALL:120" },
    expect.objectContaining({ detail: "the call did not ask for it" }),
  ]);
});

test("a symbol asked for twice is one", () => {
  expect(fates([security("A"), security("A")], equityXml("A"))).toEqual(["A stored"]);
});

test("a symbol in the OCC form is answered by its contract", () => {
  const occ = askedInstruments({
    form: "symbols",
    symbols: ["MRDN270115C00120000", "MRDN"],
    delayed: false,
  });

  expect(fates(occ, equityXml("MRDN"), optionXml({}))).toEqual([
    "MRDN:2027-01-15:CALL:120 stored",
    "MRDN stored",
  ]);
  expect(fates(occ, optionXml({ strike: "125.0" }))).toEqual([
    "MRDN:2027-01-15:CALL:120 absent",
    "MRDN absent",
    "MRDN:2027-01-15:CALL:125 not_asked",
  ]);
});

const SPX = { underlying: "SPX", expiration: "2027-01-15", strike: "120" };
const plain = option({ ...contract, underlying: "SPX" });
const weekly = option({ ...contract, underlying: "SPX", root: "SPXW" });
const named = (symbol: string) =>
  optionXml(SPX).replace("<sym>SPX</sym></instrument>", `<sym>${symbol}</sym></instrument>`);
const asOcc = (...symbols: string[]) => askedInstruments({ form: "symbols", symbols, delayed: false });

test("a contract of another root is matched by an answer that says its root, and by the only one that does not", () => {
  const rooted = { symbol: "SPX", root: "SPXW" };

  for (const answer of [optionXml(SPX), named("SPXW"), named("spxw")])
    expect(matchAnswer([weekly], itemsOf(answer))).toMatchObject([
      { fate: "stored", name: "SPX/SPXW:2027-01-15:CALL:120", item: { instrument: rooted } },
    ]);
  expect(matchAnswer(asOcc("SPXW270115C00120000"), itemsOf(named("SPXW")))).toMatchObject([
    { fate: "stored", name: "SPX/SPXW:2027-01-15:CALL:120", item: { instrument: rooted } },
  ]);
  expect(matchAnswer(null, itemsOf(named("SPXW")))).toMatchObject([
    { fate: "stored", name: "SPX/SPXW:2027-01-15:CALL:120", item: { instrument: rooted } },
  ]);
});

test("a contract of another root is kept apart from the one of the underlying's root where both are asked for, or neither is stored", () => {
  const both = ["SPX:2027-01-15:CALL:120", "SPX/SPXW:2027-01-15:CALL:120"];

  expect(fates([plain, weekly], named("SPXW"), optionXml(SPX))).toEqual(both.map((name) => `${name} stored`));
  expect(matchAnswer([plain, weekly], itemsOf(optionXml(SPX)))).toMatchObject([
    ...both.map((name) => ({ fate: "absent", name })),
    {
      fate: "dead",
      reason: "malformed",
      detail: `it does not say whether it is of ${both[0]} or of ${both[1]}`,
    },
  ]);
  expect(fates([plain], named("SPXW"))).toEqual([`${both[0]} absent`, `${both[1]} not_asked`]);
});

test("a contract of another root has the name that was asked for where that is its root alone", () => {
  const alone = option({ ...contract, underlying: "SPXW" });

  expect(matchAnswer([alone], itemsOf(named("SPXW")))).toMatchObject([
    {
      fate: "stored",
      name: "SPXW:2027-01-15:CALL:120",
      item: { instrument: { symbol: "SPX", root: "SPXW" } },
    },
  ]);
});

test("BRKB is BRK.B when an OCC symbol asks for it, however it is answered", () => {
  const asked = asOcc("BRKB270115C00120000");

  for (const underlying of ["BRK.B", "BRKB"])
    expect(matchAnswer(asked, itemsOf(optionXml({ underlying })))).toMatchObject([
      { fate: "stored", name: "BRK.B:2027-01-15:CALL:120", item: { instrument: { symbol: "BRK.B" } } },
    ]);
});

test("an option contract is matched by underlying, expiration, type and strike, however the strike is written", () => {
  for (const strike of ["120", "120.0", "1.2E2"])
    expect(fates([option(contract)], optionXml({ strike }))).toEqual(["MRDN:2027-01-15:CALL:120 stored"]);
  for (const strike of ["120.00", "1.2E2"])
    expect(fates([option({ ...contract, strike })], optionXml({}))).toEqual([
      expect.stringMatching(/ stored$/),
    ]);
});

test.each([
  ["put", { putcall: "0" }, "MRDN:2027-01-15:PUT:120"],
  ["strike", { strike: "125.0" }, "MRDN:2027-01-15:CALL:125"],
  ["expiration", { expiration: "2027-02-19" }, "MRDN:2027-02-19:CALL:120"],
  ["underlying", { underlying: "TDLW" }, "TDLW:2027-01-15:CALL:120"],
])("an option contract is never stored under another %s", (_what, answered, name) => {
  expect(fates([option(contract)], optionXml(answered))).toEqual([
    "MRDN:2027-01-15:CALL:120 absent",
    `${name} not_asked`,
  ]);
});

test("an option contract is unknown when only its underlying's symbol comes back as unknown, and never stored so", () => {
  expect(fates([option(contract)], equityXml("MRDN", { unknown: "true" }))).toEqual([
    "MRDN:2027-01-15:CALL:120 unknown",
  ]);
  expect(fates([option(contract)], equityXml("MRDN"))).toEqual([
    "MRDN:2027-01-15:CALL:120 absent",
    "MRDN not_asked",
  ]);
});

const occ = askedInstruments({
  ...{ form: "symbols", delayed: false },
  symbols: ["MRDN", "MRDN270115C00120000", "A", "B", "C"],
});
const damagedXml = (item: string): string => item.replace("<sectyp>", "<exch/><sectyp>");
/** Each with what must come of it when it is there, whatever else is. */
const ITEMS = {
  stock: equityXml("MRDN"),
  option: optionXml({}),
  "option with an odd price": optionXml({}, { quote: { lastprice: "--" } }),
  "option with an odd strike": optionXml({ strike: "--" }),
  "damaged option": damagedXml(optionXml({})),
  A: equityXml("A"),
  "A with an odd volume": equityXml("A", { extended: { volume: "1.5" } }),
  "damaged A": damagedXml(equityXml("A")),
  "A unknown": equityXml("A", { unknown: "true" }),
  "damaged B": damagedXml(equityXml("B")),
  "B of two kinds": damagedXml(equityXml("B")).replace("CS", "OPT"),
  nameless: equityXml(""),
  "not asked": equityXml("D"),
};
type Name = keyof typeof ITEMS;

test.each([
  ["an odd option and its underlying", ["option with an odd strike", "stock"]],
  ["a damaged option and its underlying", ["damaged option", "stock"]],
  ["a quote and the same with an odd field", ["A with an odd volume", "A"]],
  ["a quote and a damaged one", ["damaged A", "A"]],
  ["a quote and that it is unknown", ["A unknown", "A"]],
] as [string, Name[]][])("no item is lost for another's sake: %s", (_what, names) => {
  const items = names.map((name) => ITEMS[name]);

  const good = matchAnswer(occ, readDocument(Buffer.from(answerXml(...items))).items);

  expect(good).toContainEqual(expect.objectContaining({ fate: "stored", oddFields: [] }));
  expect(fates(occ, ...items.toReversed()).sort()).toEqual(fates(occ, ...items).sort());
});

test("no item is lost for another's sake, in any order of any items", () => {
  const some = fc.subarray(Object.keys(ITEMS) as Name[], { minLength: 2 });
  const orders = some.chain((names) => fc.shuffledSubarray(names, { minLength: names.length }));

  fc.assert(
    fc.property(orders, (names) => {
      const stored = (asked: InstrumentKey[] | null): string[] =>
        fates(asked, ...names.map((name) => ITEMS[name])).filter((fate) => fate.endsWith(" stored"));
      const has = (...any: Name[]): boolean => any.some((name) => names.includes(name));
      const expected = [
        ...(has("stock") ? ["MRDN stored"] : []),
        ...(has("option", "option with an odd price") ? ["MRDN:2027-01-15:CALL:120 stored"] : []),
        ...(has("A", "A with an odd volume") ? ["A stored"] : []),
      ].sort();

      const all = fates(occ, ...names.map((name) => ITEMS[name]));

      expect(stored(occ).sort()).toEqual(expected);
      expect(stored(null).sort()).toEqual([...expected, ...(has("not asked") ? ["D stored"] : [])].sort());
      // Damaged ones are never called answered twice: each is there for its own reason.
      const ofDamage = names.filter((name) => /damaged|strike|kinds|nameless/.test(name)).length;
      expect(all.filter((fate) => fate.endsWith(" malformed"))).toHaveLength(ofDamage);
      expect(all.slice(0, 5).map((fate) => fate.split(" ")[0])).toEqual([
        ...["MRDN", "MRDN:2027-01-15:CALL:120", "A", "B", "C"],
      ]);
    }),
    { numRuns: 300 },
  );
});

test("a symbol that looks like a contract is not taken for it", () => {
  const name = "MRDN:2027-01-15:CALL:120";

  expect(fates([option(contract)], equityXml(name))).toEqual([`${name} absent`, `${name} not_asked`]);
});

test("a damaged option does not stand for its underlying", () => {
  expect(fates([security("MRDN")], optionXml({ strike: "--" }))).toEqual(["MRDN absent", "MRDN malformed"]);
  expect(fates(occ, optionXml({ strike: "--" })).slice(0, 2)).toEqual([
    "MRDN absent",
    "MRDN:2027-01-15:CALL:120 malformed",
  ]);
});

test("a watchlist accepts every answered instrument by the instrument's own name", () => {
  expect(fates(null, equityXml("A"), optionXml({}), equityXml("B", { unknown: "true" }))).toEqual([
    "A stored",
    "MRDN:2027-01-15:CALL:120 stored",
    "B unknown",
  ]);
});

test("a watchlist sets aside what cannot be read, also without a symbol", () => {
  expect(fates(null, equityXml("A", { instrument: { sym: "" } }), equityXml("B"))).toEqual([
    "B stored",
    "null malformed",
  ]);
});

/** Items as the reader gives them. */
const itemsOf = (...items: string[]): ReadItem[] => [...readDocument(Buffer.from(answerXml(...items))).items];

/** An item that cannot be read. */
const damaged = (symbol: string | null, isOption: boolean | null): ReadItem => ({
  ...{ ok: false, symbol, isOption, problem: "as the test wants it", fragment: "<damaged/>" },
});

const matches = (asked: InstrumentKey[], items: readonly ReadItem[]): string[] =>
  matchAnswer(asked, items).map((match) =>
    match.fate === "dead" ? `${match.name} ${match.reason}: ${match.detail}` : `${match.name} ${match.fate}`,
  );

const [unknown, known] = [equityXml("A", { unknown: "true" }), equityXml("A")];

test("of several items for one instrument a quote counts before the word that it is unknown, which counts before damage, in whatever order", () => {
  const UNKNOWN_TOO = "A answered_twice: it is called unknown, and has a quote";

  for (const items of [itemsOf(unknown, known), itemsOf(known, unknown)])
    expect(matches([security("A")], items)).toEqual(["A stored", UNKNOWN_TOO]);
  for (const items of [
    [...itemsOf(unknown), damaged("A", false)],
    [damaged("A", false), ...itemsOf(unknown)],
  ])
    expect(matches([security("A")], items)).toEqual(["A unknown", "A malformed: as the test wants it"]);
});

test("neither of two different quotes counts, and each says in what they differ", () => {
  const [first, second] = ["98", "99"].map((lastprice) =>
    equityXml("A", { quote: { lastprice }, extended: { volume: lastprice, asksize: "" } }),
  );
  const third = equityXml("A", { extended: { volume: "x" } });

  const matched = matchAnswer([security("A")], itemsOf(first ?? "", second ?? "", third));

  const detail =
    "different quotes of it, and nothing tells which is right: quote.last 98 and 99, quote.extended.volume 98 and 99";
  expect(matched).toEqual([
    { fate: "dead", name: "A", reason: "answered_twice", detail, fragment: first },
    { fate: "dead", name: "A", reason: "answered_twice", detail, fragment: second },
    { fate: "dead", name: "A", reason: "answered_twice", detail, fragment: third },
  ]);
});

test("of several items for one instrument the first of each name is its fate, and an item without a name is none", () => {
  const matched = matchAnswer([security("A")], [...itemsOf(known, unknown), damaged(null, null)]);

  expect(matched.map(({ name }) => name)).toEqual(["A", "A", null]);
  expect(fatesOf(matched).map(({ name, fate }) => `${name} ${fate}`)).toEqual(["A stored"]);
});

const [call, put] = [option(contract), option({ ...contract, optionType: "PUT" })];

test("a damaged item without a symbol belongs to no instrument, also where a symbol is called null", () => {
  const [fate, rest] = matchAnswer([security("null")], [damaged(null, null)]);

  expect(fate).toEqual({ fate: "absent", name: "null" });
  expect(rest).toMatchObject({ name: null, reason: "malformed" });
});

test("a damaged item that may be an option is the only contract of its symbol, and is none where there are two", () => {
  for (const isOption of [true, null])
    expect(matches([call], [damaged("MRDN", isOption)])).toEqual([
      "MRDN:2027-01-15:CALL:120 malformed: as the test wants it",
    ]);
  expect(matches([call, put], [damaged("MRDN", true)])).toEqual([
    "MRDN:2027-01-15:CALL:120 absent",
    "MRDN:2027-01-15:PUT:120 absent",
    "MRDN malformed: as the test wants it",
  ]);
});

test("a damaged item that is no option is no contract of its symbol; one that is an option is not its stock", () => {
  expect(matches([call], [damaged("MRDN", false)])).toEqual([
    "MRDN:2027-01-15:CALL:120 absent",
    "MRDN malformed: as the test wants it",
  ]);
  expect(matches([security("MRDN"), call], [damaged("MRDN", true)])).toEqual([
    "MRDN absent",
    "MRDN:2027-01-15:CALL:120 malformed: as the test wants it",
  ]);
  expect(matches([security("MRDN"), call], [damaged("MRDN", null)])).toEqual([
    "MRDN malformed: as the test wants it",
    "MRDN:2027-01-15:CALL:120 absent",
  ]);
});

const NOT_ASKED = "not_asked: the call did not ask for it";

test("an answer with nothing but a symbol is the asked option when that is unknown, of the same symbol, and alone", () => {
  const unknown = itemsOf(equityXml("MRDN", { unknown: "true" }));
  const put = option({ ...contract, optionType: "PUT" });

  expect(matches([option(contract)], unknown)).toEqual(["MRDN:2027-01-15:CALL:120 unknown"]);
  expect(matches([option(contract), put], unknown)).toContain(`MRDN ${NOT_ASKED}`);
  expect(matches([option(contract)], itemsOf(equityXml("MRDN")))).toContain(`MRDN ${NOT_ASKED}`);
  expect(matches([option(contract)], itemsOf(equityXml("MR", { unknown: "true" })))).toContain(
    `MR ${NOT_ASKED}`,
  );
  expect(matches([], unknown)).toEqual([`MRDN ${NOT_ASKED}`]);
});

test.each(["expiration", "optionType", "strike"] as const)(
  "an answer with nothing but a symbol names a security when it has no %s",
  (missing) => {
    const [read] = itemsOf(optionXml({}));
    if (!read?.ok) throw new Error("the option of the test cannot be read");
    const { item } = read;

    expect(keyOf(item)).toEqual(option(contract));
    expect(keyOf({ ...item, instrument: { ...item.instrument, [missing]: null } })).toEqual(security("MRDN"));
  },
);

test("an option without anything that names its contract is a dead letter, and is never taken for its underlying", () => {
  const item = optionXml({ underlying: "MRDN" }).replace(/<(matdt|putcall|sectyp|strkpx)>[^<]*<\/\1>/g, "");

  expect(readDocument(Buffer.from(answerXml(item))).items).toMatchObject([{ ok: false }]);
});
