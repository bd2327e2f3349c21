import { describe, expect, test } from "@jest/globals";
import type { QuoteLine } from "../../src/archive/queries.ts";
import { errorPage, escapeHtml, quotesPage } from "../../src/web/page.ts";

const NOW = new Date("2026-11-20T15:00:00Z");

function quote(fields: Partial<QuoteLine> = {}): QuoteLine {
  return {
    instrument: "AAPL",
    description: "APPLE INC",
    source: "account",
    delayed: false,
    observedAt: "2026-11-20T14:59:30.123456Z",
    bid: "150.01",
    ask: "150.03",
    last: "150.02",
    change: "-1.25",
    pctChange: "-0.83",
    bidSize: "3",
    askSize: "5",
    volume: "1234567",
    delta: null,
    ...fields,
  };
}

test("a quote is shown with its prices digit for digit, its source and its age", () => {
  const page = quotesPage([quote({ last: "150.0200" })], NOW);

  for (const shown of ["AAPL", "APPLE INC", "150.0200", "150.01", "150.03", "-1.25", "1234567", "30 s"])
    expect(page).toContain(`>${shown}<`);
  expect(page).toContain(">account<");
  expect(page).not.toContain("SIMULATED");
});

test("a quote of the simulated market wears the mark SIMULATED, and so does the page", () => {
  const page = quotesPage([quote(), quote({ instrument: "MSFT", source: "simulated" })], NOW);

  expect(page).toMatch(/<h1>[^\n]*SIMULATED/);
  expect(page.match(/<tr>.*SIMULATED.*<\/tr>/g)).toHaveLength(1);
});

test("a price the service did not send leaves its place empty: it is never shown as 0", () => {
  const page = quotesPage([quote({ bid: null, ask: null, volume: null, change: null })], NOW);

  expect(page.match(/<td[^>]*><\/td>/g)).toHaveLength(4);
  expect(page).not.toMatch(/>(0|null|undefined)</);
});

test("delayed quotes say so", () => {
  expect(quotesPage([quote({ delayed: true })], NOW)).toContain("AAPL (delayed)");
});

test("a fall and a rise look different, and no change looks like neither", () => {
  const classOf = (change: string | null): string | undefined =>
    /<td class="(up|down|)">/.exec(quotesPage([quote({ change })], NOW))?.[1];

  expect(classOf("-0.01")).toBe("down");
  expect(classOf("0.01")).toBe("up");
  expect(classOf("0.00")).toBe("");
  expect(classOf(null)).toBe("");
});

test.each([
  ["2026-11-20T15:00:05Z", "0 s"],
  ["2026-11-20T14:58:01Z", "119 s"],
  ["2026-11-20T14:50:00Z", "10 min"],
  ["2026-11-20T11:00:00Z", "4 h"],
  ["2026-11-13T15:00:00Z", "7 d"],
])("a quote of %s is %s old at 15:00 on 20 November", (observedAt, age) => {
  expect(quotesPage([quote({ observedAt })], NOW)).toContain(`<td>${age}</td>`);
});

test("text from the service is shown as text: it can bring no markup into the page", () => {
  const hostile = `<script>alert("1")</script>'&`;

  const page = quotesPage([quote({ instrument: hostile, description: hostile, last: hostile })], NOW);

  expect(page).not.toContain("<script");
  expect(page.split("&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#39;&#38;")).toHaveLength(4);
});

test("every character with a meaning in HTML is escaped", () => {
  expect(escapeHtml(`a<b>c&d"e'f`)).toBe("a&#60;b&#62;c&#38;d&#34;e&#39;f");
});

describe("without quotes", () => {
  test("the page says that there are none yet", () => {
    const page = quotesPage([], NOW);

    expect(page).toContain("No quotes yet");
    expect(page).not.toContain("<table");
  });

  test("a page that cannot be filled says that collection goes on, and loads itself anew", () => {
    expect(errorPage()).toMatch(/cannot be read at the moment.*Collection goes on/);
    expect(errorPage()).toContain('http-equiv="refresh"');
  });
});
