/** Draws a block of lines over and over: on the second screen of a terminal; elsewhere one block after the other. */
import type { Sink } from "../../ground/edges.ts";
import { oneLine, own } from "./harmless.ts";

/**
 * Switches to the terminal's second screen, hides the cursor, and turns line wrapping off. The second screen does not
 * wrap its lines again when the window is narrowed.
 */
const ENTER = own("\u001b[?1049h\u001b[?25l\u001b[?7l");
const LEAVE = own("\u001b[?7h\u001b[?25h\u001b[?1049l");
const TOP = own("\u001b[H");
/** Clear the rest of an earlier, longer line, and of an earlier, longer block. */
const CLEAR_LINE_END = own("\u001b[K");
const CLEAR_BELOW = own("\u001b[J");

type Screen = {
  /** @param lines without their ends, none wider than the terminal; those below its lower edge are not shown */
  draw: (lines: readonly string[]) => void;
  /** Returns to the usual screen and prints the last block there. May be called twice. */
  end: () => void;
};

/** Each block is one write over the block before, which is never cleared first: so nothing flickers. */
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
