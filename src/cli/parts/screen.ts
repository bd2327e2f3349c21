/** A block of lines that is drawn over and over: in place on a terminal, one block after the other elsewhere. */
import type { Sink } from "../edges.ts";

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
/** Clears what an earlier, longer line left, and what an earlier, longer block left. */
const CLEAR_LINE_END = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** Draws blocks. */
export type Screen = {
  /** Lines without their ends, none wider than the terminal. */
  draw: (lines: readonly string[]) => void;
  /** Leaves the last block on the terminal, and the cursor visible below it. May be called twice. */
  end: () => void;
};

/**
 * Each block is one write, over the one before and never after clearing it, so that nothing flickers. The cursor is
 * hidden from the first block on until `end`.
 */
export function createScreen(out: Sink): Screen {
  let height = 0;
  let drawn = false;
  return {
    draw: (lines) => {
      if (!out.isTTY) {
        out.write(`${drawn ? "\n" : ""}${lines.join("\n")}\n`);
      } else {
        const up = height > 0 ? `\u001b[${height}A\r` : HIDE_CURSOR;
        out.write(`${up}${lines.map((line) => `${line}${CLEAR_LINE_END}\n`).join("")}${CLEAR_BELOW}`);
        height = lines.length;
      }
      drawn = true;
    },
    end: () => {
      if (out.isTTY && height > 0) out.write(SHOW_CURSOR);
      height = 0;
    },
  };
}
