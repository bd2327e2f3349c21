/** Lists of symbols, and their halves: so a symbol that makes a whole list fail is found. Pure. */
import type { QuoteCall } from "../../quotes-api/request.ts";

/** How many instruments a call asks for, as far as is known. */
export function sizeOf(call: QuoteCall): number {
  return call.form === "symbols" ? call.symbols.length : 1;
}

/** A call with a list of symbols as two of half the length; null when it cannot be split. */
export function halvesOf(call: QuoteCall): QuoteCall[] | null {
  if (call.form !== "symbols" || call.symbols.length < 2) return null;
  const middle = Math.ceil(call.symbols.length / 2);
  return [call.symbols.slice(0, middle), call.symbols.slice(middle)].map((symbols) => ({ ...call, symbols }));
}
