/** Colour on a person's terminal, and nowhere else. */
import type { Sink } from "../../ground/edges.ts";
import { own } from "./harmless.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Whether output to `sink` is coloured. `NO_COLOR` (no-color.org) turns colour off and `FORCE_COLOR` on, whatever the
 * sink is; both at once: off. A terminal that calls itself dumb gets none.
 */
export function wantsColour({ isTTY }: Pick<Sink, "isTTY">, env: Env): boolean {
  const force = env["FORCE_COLOR"];
  if (env["NO_COLOR"] || force === "0" || force === "false") return false;
  if (force) return true;
  return isTTY && env["TERM"] !== "dumb";
}

/** Each style is a pair of SGR codes, on and off. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
} as const;

export type StyleName = keyof typeof STYLES;

export type Paint = (style: StyleName, text: string) => string;

/** Paints text for a sink that wants colour; for another sink the text stays as it is. */
export function painter(sink: Pick<Sink, "isTTY">, env: Env): Paint {
  if (!wantsColour(sink, env)) return (_style, text) => text;
  return (style, text) => {
    const [on, off] = STYLES[style];
    return `${own(`\u001b[${on}m`)}${text}${own(`\u001b[${off}m`)}`;
  };
}
