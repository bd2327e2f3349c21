/** Which contract an option of E*TRADE's is: by its own fields, and by its OSI key, which must say the same. */
import { isDateText } from "../../market/calendar/dates.ts";
import type { OptionType } from "../../market/instrument.ts";
import { isOccSymbolOf, parseOccSymbol } from "../../market/occ.ts";
import { withRoot } from "../../market/root.ts";
import { cutText } from "../../ground/outsideText.ts";
import type { JsonFields } from "../jsonFields.ts";
import type { UnnamedItem } from "../jsonItem.ts";

type Contract = {
  /** Of the underlying. */
  symbol: string;
  root: string | undefined;
  expiration: string;
  optionType: OptionType;
  strike: string;
};

/** A contract of a chain: only its OSI key has the expiration. @param selected the expiration of the chain, as it says itself */
export function chainContract(fields: JsonFields, selected: string | null): Contract | UnnamedItem {
  return contractOf(fields.text("symbol"), {
    key: fields.text("osiKey"),
    root: fields.text("optionRootSymbol"),
    expiration: selected,
    type: fields.text("optionType"),
    strike: fields.decimal("strikePrice"),
  });
}

/** A contract of a list, by its `Product`; the key stands in `All`. */
export function productContract(product: JsonFields, all: JsonFields): Contract | UnnamedItem {
  return contractOf(product.text("symbol"), {
    key: all.text("osiKey"),
    root: null,
    expiration: dateIn(product, ["expiryYear", "expiryMonth", "expiryDay"]),
    type: product.text("callPut"),
    strike: product.decimal("strikePrice"),
  });
}

/** @param keys of year, month and day */
export function dateIn(fields: JsonFields, keys: readonly string[]): string | null {
  const [year, month, day] = keys.map((key) => fields.integer(key));
  const date = `${year}-${month?.padStart(2, "0")}-${day?.padStart(2, "0")}`;
  return isDateText(date) ? date : null;
}

type ContractWords = {
  /** The OCC symbol with its root padded to six by `-`. */
  key: string | null;
  root: string | null;
  expiration: string | null;
  type: string | null;
  strike: string | null;
};

/** What a field does not say, the key does. Where both say it and differ, nobody knows which is right. */
function contractOf(
  symbol: string | null,
  { key, root, expiration, type, strike }: ContractWords,
): Contract | UnnamedItem {
  const unnamed = (problem: string): UnnamedItem => ({ problem, symbol, isOption: true });
  if (symbol === null) return unnamed("symbol is missing");
  const occ = key === null ? null : unpadded(key);
  const isSaid = expiration !== null && type !== null && strike !== null;
  // What the fields say themselves is not looked for in the key.
  const keyed = occ === null || isSaid ? null : parseOccSymbol(occ);
  const date = expiration ?? keyed?.expiration;
  const optionType = type === null ? keyed?.optionType : type === "CALL" || type === "PUT" ? type : undefined;
  const price = strike ?? keyed?.strike;
  if (date === undefined || optionType === undefined || price === undefined)
    return unnamed("the expiration, type or strike of an option is missing or unreadable");
  const whole = { expiration: date, optionType, strike: price };
  if (occ !== null && !isOccSymbolOf(occ, whole))
    return unnamed(`osiKey ${cutText(key ?? "", 40)} names another contract than its fields`);
  const keyRoot = occ === null ? null : occ.slice(0, -BEHIND_ROOT);
  const named = withRoot(symbol, root ?? keyRoot);
  return { symbol: named.underlying, root: named.root, expiration: date, optionType, strike: price };
}

/** Characters behind the root of an OCC symbol: date, type and strike. */
const BEHIND_ROOT = "yymmddC00000000".length;

function unpadded(key: string): string {
  const root = key.slice(0, -BEHIND_ROOT);
  const end = root.indexOf("-");
  return end < 0 ? key : root.slice(0, end) + key.slice(-BEHIND_ROOT);
}
