/** The instrument that a row of a plain table names. Pure. */
import { isDateText } from "../market/calendar/dates.ts";
import { canonicalDecimal } from "../quotes/decimal.ts";
import { readNumber, STRIKE } from "../quotes/units.ts";
import type { InstrumentRow } from "./rowTypes.ts";
import { type Cell, shown } from "./cell.ts";
import { PARTS, type PlainColumn, type TextOf } from "./plainTable.ts";
import {
  CONTRACT_EXAMPLE,
  inCapitals,
  isKeptSymbol,
  isStrike,
  type OptionContract,
  readContractName,
} from "../market/instrument.ts";
import { parseOccSymbol } from "../market/occ.ts";
import { archivedSymbol, isRoot, withRoot } from "../market/root.ts";

/** Assumed: a security of a table that names no type is a common stock, unless the archive knows it as something else, or comes to. */
const DEFAULT_TYPE = "CS";
const OPTION_TYPE = "OPT";

const SYMBOL_LENGTH = 32;

/** What no symbol holds: spaces and control characters, and what stands for an unreadable character. */
const STRANGE = /[\s\p{Cc}\u{fffd}]/u;

/** Files name few instruments many times. */
const MOST_REMEMBERED = 10_000;

/** An instrument, and a text that no other one has. */
type NamedInstrument = { row: InstrumentRow; key: string };

/** Reads what rows name, or what is wrong with that. */
export function createInstrumentReader(columns: readonly string[]): (text: TextOf) => Cell<NamedInstrument> {
  const remembered = new Map<string, Cell<NamedInstrument>>();
  const naming = NAMING.filter((column) => columns.includes(column));
  return (text) => {
    const named = naming.map((column) => text(column) ?? "").join("\u0000");
    const before = remembered.get(named);
    if (before !== undefined) return before;
    const cell = readInstrument(text);
    const found: Cell<NamedInstrument> = cell.ok
      ? { ok: true, value: { row: cell.value, key: keyOf(cell.value) } }
      : cell;
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(named, found);
    return found;
  };
}

const NAMING = ["instrument", ...PARTS, "exchange", "description"] as const;

function keyOf({ securityType, symbol, root, expiration, optionType, strike }: InstrumentRow): string {
  return JSON.stringify([securityType, symbol, root, expiration, optionType, strike]);
}

function readInstrument(text: TextOf): Cell<InstrumentRow> {
  const described = { exchange: text("exchange"), description: text("description"), contractSize: null };
  const column = text("instrument") === null ? "symbol" : "instrument";
  const name = text(column) ?? "";
  const [expiration, type, strike] = [text("expiration"), text("option_type"), text("strike")];
  const isContract = expiration !== null || type !== null || strike !== null;
  const contract = readContract(name);
  if (contract !== null && isContract) return wrong("symbol", name, "expected the symbol of an underlying");
  if (contract?.ok === true) return { ok: true, value: { ...optionRow(contract.value), ...described } };
  if (contract !== null) return wrong(column, name, contract.problem);
  if (name === "" || STRANGE.test(name) || name.length > SYMBOL_LENGTH)
    return wrong(column, name, "expected a symbol");
  if (!isContract) return { ok: true, value: { ...securityRow(name, text("security_type")), ...described } };
  if (expiration === null || !isDateText(expiration))
    return wrong("expiration", expiration, "expected a date, YYYY-MM-DD");
  if (type !== "CALL" && type !== "PUT") return wrong("option_type", type, "expected CALL or PUT");
  const read = readNumber(strike ?? "", STRIKE);
  const number = canonicalDecimal((read.ok && read.value) || "");
  if (!isStrike(number)) return wrong("strike", strike, "expected a strike");
  const root = text("root");
  if (root !== null && !isRoot(inCapitals(root)))
    return wrong("root", root, "expected the root of an OCC symbol, such as SPXW");
  const parts = { ...withRoot(name, root), expiration, optionType: type, strike: number } as const;
  return { ok: true, value: { ...optionRow(parts), ...described } };
}

function wrong(column: PlainColumn, given: string | null, expected: string): Cell<never> {
  return { ok: false, problem: `${column} is ${shown(given ?? "")}: ${expected}` };
}

function securityRow(symbol: string, securityType: string | null) {
  return {
    symbol: archivedSymbol(symbol),
    expiration: null,
    optionType: null,
    strike: null,
    underlying: null,
    securityType: securityType ?? DEFAULT_TYPE,
    assumedType: securityType === null,
  };
}

function optionRow(contract: OptionContract) {
  const { underlying, root, expiration, optionType, strike } = contract;
  return {
    securityType: OPTION_TYPE,
    symbol: underlying,
    root,
    expiration,
    optionType,
    underlying,
    strike: canonicalDecimal(strike),
    assumedType: false,
  };
}

/** What vendors write before an OCC symbol (Polygon). */
const OCC_PREFIX = "O:";

/**
 * Assumed: no symbol of a security looks like these: six digits or more behind a letter, with a call or a put behind
 * them; a date or a type between colons; the prefix of options.
 */
const CONTRACT_LIKE: readonly RegExp[] = [
  /^O:/iu,
  /[a-z].*\d{6}[^a-z0-9]?(?:C|P|CALL|PUT)(?![a-z])/iu,
  /:\d{4}-?\d{2}-?\d{2}(?::|$)/u,
  /:(?:C|P|CALL|PUT):/iu,
];

/**
 * The contract that a text names: by this program's own name, or by an OCC symbol, padded or with `O:` before it.
 *
 * @returns a problem for what looks like a contract and is none; null for what does not look like one
 */
export function readContract(text: string): Cell<OptionContract> | null {
  const named = readContractName(text, isKeptSymbol);
  const contract =
    typeof named === "string" ? parseOccSymbol(withoutPrefix(text).replaceAll(" ", "")) : named;
  if (contract !== null) return { ok: true, value: contract };
  if (isIsin(text) || !CONTRACT_LIKE.some((like) => like.test(text))) return null;
  const problem = `it looks like a contract and is none; expected ${CONTRACT_EXAMPLE} or AAPL261218C00150000`;
  return { ok: false, problem };
}

/** Whether a text is the ISIN of a security, with its check digit (ISO 6166): `US912828P469` only looks like a contract. */
function isIsin(text: string): boolean {
  if (!/^[A-Z]{2}[A-Z0-9]{9}\d$/u.test(text)) return false;
  const digits = [...text].map((character) => Number.parseInt(character, 36)).join("");
  const sum = [...digits].reverse().reduce((total, digit, place) => {
    const value = Number(digit) * (place % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function withoutPrefix(text: string): string {
  return text.startsWith(OCC_PREFIX) ? text.slice(OCC_PREFIX.length) : text;
}
