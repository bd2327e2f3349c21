/** Colour for a person's terminal, and nowhere else. */
import type { Sink } from "../../run/edges.ts";
import { own } from "./harmless.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Whether to colour what goes to `sink`. `NO_COLOR` (no-color.org) turns it off and `FORCE_COLOR` on, whatever the
 * sink is; both at once: off. A terminal that calls itself dumb gets none.
 */
export function wantsColour({ isTTY }: Pick<Sink, "isTTY">, env: Env): boolean {
  const force = env["FORCE_COLOR"];
  if (env["NO_COLOR"] || force === "0" || force === "false") return false;
  if (force) return true;
  return isTTY && env["TERM"] !== "dumb";
}

/** What colours mean here; each is a pair of SGR codes, on and off. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
} as const;

/** The name of a style. */
export type StyleName = keyof typeof STYLES;

/** Paints text, or leaves it as it is. */
export type Paint = (style: StyleName, text: string) => string;

/** A painter for a sink. */
export function painter(sink: Pick<Sink, "isTTY">, env: Env): Paint {
  if (!wantsColour(sink, env)) return (_style, text) => text;
  return (style, text) => {
    const [on, off] = STYLES[style];
    return `${own(`\u001b[${on}m`)}${text}${own(`\u001b[${off}m`)}`;
  };
}
