/** Texts of files that name an option's contract where others name a stock. Pure. */
import { isDateText } from "../market/calendar/dates.ts";
import { type OptionContract, type OptionType, plainStrike } from "../market/instrument.ts";
import { parseOccSymbol } from "../market/occ.ts";
import type { Cell } from "./cell.ts";

/** As this program names a contract: `AAPL:2026-12-18:CALL:150`. */
const OWN_NAME = /^([^\s:]{1,32}):(\d{4}-\d{2}-\d{2}):(CALL|PUT):([\d.]+)$/u;

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
  const contract = ownName(text) ?? parseOccSymbol(withoutPrefix(text).replaceAll(" ", ""));
  if (contract !== null) return { ok: true, value: contract };
  if (!CONTRACT_LIKE.some((like) => like.test(text))) return null;
  const problem =
    "it looks like a contract and is none; expected AAPL:2026-12-18:CALL:150 or AAPL261218C00150000";
  return { ok: false, problem };
}

/** Whether a text is a strike: a decimal above 0. */
export function isStrike(text: string): boolean {
  return /^\d{1,9}(\.\d{1,6})?$/u.test(text) && /[1-9]/u.test(text);
}

function ownName(text: string): OptionContract | null {
  const [, underlying = "", expiration = "", type, strike = ""] = OWN_NAME.exec(text) ?? [];
  if (!isDateText(expiration) || !isStrike(strike)) return null;
  return { underlying, expiration, optionType: type as OptionType, strike: plainStrike(strike) };
}

function withoutPrefix(text: string): string {
  return text.startsWith(OCC_PREFIX) ? text.slice(OCC_PREFIX.length) : text;
}
