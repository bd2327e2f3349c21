/** A block of lines that is drawn over and over: on a screen of its own on a terminal, one after the other elsewhere. */
import type { Sink } from "../../run/edges.ts";
import { oneLine, own } from "./harmless.ts";

/**
 * The terminal's other screen, where a block begins at the top and nothing is broken anew when the window is narrowed,
 * as the usual screen is; the cursor hidden; and no line goes on in the next, should the window be narrower than known.
 */
const ENTER = own("\u001b[?1049h\u001b[?25l\u001b[?7l");
const LEAVE = own("\u001b[?7h\u001b[?25h\u001b[?1049l");
const TOP = own("\u001b[H");
/** Clears what an earlier, longer line left, and what an earlier, longer block left. */
const CLEAR_LINE_END = own("\u001b[K");
const CLEAR_BELOW = own("\u001b[J");

/** Draws blocks. */
type Screen = {
  /** Lines without their ends, none wider than the terminal. Those below its lower edge are left out. */
  draw: (lines: readonly string[]) => void;
  /** Leaves the last block on the terminal as it was before, below what stood there. May be called twice. */
  end: () => void;
};

/** Each block is one write, over the one before and never after clearing it, so that nothing flickers. */
export function createScreen(out: Sink): Screen {
  let drawn: readonly string[] | null = null;
  let ended = false;
  return {
    draw: (texts) => {
      if (ended) return;
      const lines = texts.map(oneLine);
      if (!out.isTTY) {
        out.write(`${drawn ? "\n" : ""}${lines.join("\n")}\n`);
      } else {
        const shown = lines.slice(0, out.rows);
        const block = shown.map((line) => `${line}${CLEAR_LINE_END}`).join("\n");
        out.write(`${drawn ? "" : ENTER}${TOP}${block}${CLEAR_BELOW}`);
      }
      drawn = lines;
    },
    end: () => {
      if (out.isTTY && drawn && !ended) out.write(`${LEAVE}${drawn.join("\n")}\n`);
      ended = true;
    },
  };
}

// Colour for a person's terminal, and nowhere else.

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
