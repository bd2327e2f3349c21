/** Answers of the service as text, element by element: the outside world, not our own writer. */

/** Element names to their texts; an empty text is an empty element. */
export type Texts = Record<string, string>;

const PRICES: Texts = {
  askprice: "20.4",
  bidprice: "20.3",
  change: "0.1",
  lastprice: "20.35",
  pctchange: "0.49",
};

/** An equity's `instrumentquote`; each group of elements is replaced or added to. */
export function equityXml(
  symbol: string,
  { quote = {}, extended = {}, dividend = {}, instrument = {}, unknown = "false" } = {} as {
    quote?: Texts;
    extended?: Texts;
    dividend?: Texts;
    instrument?: Texts;
    unknown?: string;
  },
): string {
  return `<instrumentquote><greeks/>
    <instrument>${texts({ desc: `${symbol} INC`, exch: "NYE", sectyp: "CS", sym: symbol, ...instrument })}</instrument>
    <quote>${quoteXml(quote, extended, dividend)}</quote>
    <unknownsymbol>${unknown}</unknownsymbol></instrumentquote>`;
}

/** An option's `instrumentquote` with its underlying. */
export function optionXml(
  { underlying = "MRDN", expiration = "2027-01-15", putcall = "1", strike = "120.0" },
  { quote = {}, extended = {}, underlyingQuote = {}, underlyingDividend = {} } = {} as {
    quote?: Texts;
    extended?: Texts;
    underlyingQuote?: Texts;
    underlyingDividend?: Texts;
  },
): string {
  return `<instrumentquote><greeks><delta>0.61</delta></greeks>
    <instrument>${texts({
      desc: `${underlying} ${expiration} ${strike}`,
      exch: "CMP",
      matdt: `${expiration}T00:00:00-05:00`,
      putcall,
      sectyp: "OPT",
      strkpx: strike,
      sym: underlying,
    })}</instrument>
    <quote>${texts({ ...PRICES, ...quote })}<extendedquote>${texts({
      asksize: "3",
      bidsize: "4",
      contractsize: "100",
      delta: "0.61",
      volume: "212",
      ...extended,
    })}</extendedquote></quote>
    <underlying>${texts({ desc: `${underlying} INC`, exch: "NSD", sym: underlying })}</underlying>
    <undlyquote>${quoteXml(underlyingQuote, {}, underlyingDividend)}</undlyquote>
    <unknownsymbol>false</unknownsymbol></instrumentquote>`;
}

/** A whole answer. */
export function answerXml(...items: string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<response id="r-1"><quotes>${items.join("\n")}</quotes></response>`;
}

function quoteXml(quote: Texts, extended: Texts, dividend: Texts): string {
  return `${texts({ ...PRICES, ...quote })}<extendedquote>${texts({
    asksize: "1",
    bidsize: "2",
    prevclose: "20.25",
    volume: "1000",
    ...extended,
  })}<dividenddata>${texts(dividend)}</dividenddata></extendedquote>`;
}

function texts(elements: Texts): string {
  return Object.entries(elements)
    .map(([name, text]) => (text === "" ? `<${name}/>` : `<${name}>${text}</${name}>`))
    .join("");
}
