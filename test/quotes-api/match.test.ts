import { describe, expect, test } from "@jest/globals";
import { option, security, type InstrumentKey } from "../../src/market/instrument.ts";
import { matchAnswer } from "../../src/quotes-api/match.ts";
import { askedInstruments } from "../../src/quotes-api/request.ts";
import { readDocument } from "../../src/quotes-api/readDocument.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const contract = { underlying: "MRDN", expiration: "2027-01-15", optionType: "CALL", strike: "120" } as const;

function fates(asked: InstrumentKey[] | null, ...items: string[]): string[] {
  return matchAnswer(asked, readDocument(Buffer.from(answerXml(...items))).items).map((match) =>
    match.fate === "dead" ? `${match.name} ${match.reason}` : `${match.name} ${match.fate}`,
  );
}

describe("symbols", () => {
  const asked = ["A", "B", "C"].map(security);

  test("are matched by name in whatever order they are answered", () => {
    expect(fates(asked, equityXml("C"), equityXml("A"), equityXml("B"))).toEqual([
      "A stored",
      "B stored",
      "C stored",
    ]);
  });

  test("that do not come are absent, those the service does not know are unknown", () => {
    expect(fates(asked, equityXml("B", { unknown: "true" }), equityXml("A"))).toEqual([
      "A stored",
      "B unknown",
      "C absent",
    ]);
  });

  test("that nobody asked for are set aside, and so is an option of an asked symbol", () => {
    expect(fates([security("MRDN")], equityXml("D"), optionXml({}))).toEqual([
      "MRDN absent",
      "D not_asked",
      "MRDN:2027-01-15:CALL:120 not_asked",
    ]);
  });

  test("that are malformed are set aside in their own place", () => {
    const bad = equityXml("B", { quote: { askprice: "x" } });

    expect(fates(asked, bad, equityXml("A"), equityXml("C"))).toEqual([
      "A stored",
      "B malformed",
      "C stored",
    ]);
  });

  test("answered twice alike are one, answered differently the first", () => {
    const other = equityXml("A", { quote: { lastprice: "99" } });

    expect(fates([security("A")], equityXml("A"), equityXml("A"))).toEqual(["A stored"]);
    expect(fates([security("A")], equityXml("A"), other)).toEqual(["A stored", "A answered_twice"]);
  });

  test("asked for twice are one", () => {
    expect(fates([security("A"), security("A")], equityXml("A"))).toEqual(["A stored"]);
  });

  test("in the OCC form are answered by their contract", () => {
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
});

describe("an option contract", () => {
  test("is matched by underlying, expiration, type and strike, however the strike is written", () => {
    for (const strike of ["120", "120.0", "1.2E2"])
      expect(fates([option(contract)], optionXml({ strike }))).toEqual(["MRDN:2027-01-15:CALL:120 stored"]);
    expect(fates([option({ ...contract, strike: "120.00" })], optionXml({}))).toEqual([
      "MRDN:2027-01-15:CALL:120 stored",
    ]);
  });

  test.each([
    ["put", { putcall: "0" }, "MRDN:2027-01-15:PUT:120"],
    ["strike", { strike: "125.0" }, "MRDN:2027-01-15:CALL:125"],
    ["expiration", { expiration: "2027-02-19" }, "MRDN:2027-02-19:CALL:120"],
    ["underlying", { underlying: "TDLW" }, "TDLW:2027-01-15:CALL:120"],
  ])("is never stored under another %s", (_what, answered, name) => {
    expect(fates([option(contract)], optionXml(answered))).toEqual([
      "MRDN:2027-01-15:CALL:120 absent",
      `${name} not_asked`,
    ]);
  });

  test("is unknown when only its underlying's symbol comes back as unknown, and never stored so", () => {
    expect(fates([option(contract)], equityXml("MRDN", { unknown: "true" }))).toEqual([
      "MRDN:2027-01-15:CALL:120 unknown",
    ]);
    expect(fates([option(contract)], equityXml("MRDN"))).toEqual([
      "MRDN:2027-01-15:CALL:120 absent",
      "MRDN not_asked",
    ]);
  });

  test("that is malformed goes by its own name", () => {
    expect(fates([option(contract)], optionXml({}, { quote: { lastprice: "x" } }))).toEqual([
      "MRDN:2027-01-15:CALL:120 malformed",
    ]);
  });
});

describe("a watchlist", () => {
  test("accepts whatever comes, by its own name", () => {
    expect(fates(null, equityXml("A"), optionXml({}), equityXml("B", { unknown: "true" }))).toEqual([
      "A stored",
      "MRDN:2027-01-15:CALL:120 stored",
      "B unknown",
    ]);
  });

  test("sets aside what cannot be read, also without a symbol", () => {
    expect(fates(null, equityXml("A", { instrument: { sym: "" } }), equityXml("B"))).toEqual([
      "B stored",
      "null malformed",
    ]);
  });
});
