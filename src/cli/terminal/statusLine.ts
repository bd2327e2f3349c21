/** The live line of `start`: it changes in place on a terminal, in as many lines as it needs there, and is a line now and then elsewhere. */
import type { Clock } from "../../clock.ts";
import type { Sink } from "../../run/edges.ts";
import { oneLine, own } from "./harmless.ts";
import { widthOf, wrapTo } from "./width.ts";

/** Where no person looks, a line at most this often: at first, and when it is clear that all goes well. */
const PLAIN_EVERY_MS = 10_000;
const PLAIN_LATER_MS = 600_000;

const CLEAR_LINE = own("\r\u001b[2K");

/** How often what goes on fast is shown, in ms: every few thousand rows would be every few milliseconds. */
export const SHOW_EVERY_MS = 200;

/** Lines that come often. */
const PLAIN_FIRST_LINES = 6;

/** What stands between the parts of a line: where it does not fit, it goes on behind one of them. */
const BETWEEN = " | ";

/** A line that is written over and over. */
export class StatusLine {
  readonly #out: Sink;
  readonly #clock: Clock;
  #shown = "";
  /** How it stands on the terminal. */
  #drawn: readonly string[] = [];
  #ended = false;
  #writtenAtMs = -Infinity;
  #plainLines = 0;

  constructor(out: Sink, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  /** Shows a text now, or on a pipe as soon as it is time for a line again. */
  show(shown: string): void {
    const text = oneLine(shown);
    if (text === this.#shown || this.#ended) return;
    const nowMs = this.#clock.monotonicMs();
    const everyMs = this.#plainLines < PLAIN_FIRST_LINES ? PLAIN_EVERY_MS : PLAIN_LATER_MS;
    if (!this.#out.isTTY && nowMs - this.#writtenAtMs < everyMs) return;
    if (!this.#out.isTTY) this.#plainLines += 1;
    this.#writtenAtMs = nowMs;
    this.#shown = text;
    this.#out.write(this.#out.isTTY ? `${this.#erase()}${this.#draw()}` : `${text}\n`);
  }

  /** Shows on a terminal how far something is, now and then; `text` is asked for only where it is shown. */
  progress(text: () => string): void {
    if (this.#out.isTTY && this.#clock.monotonicMs() - this.#writtenAtMs >= SHOW_EVERY_MS) this.show(text());
  }

  /** A sink of the same terminal whose lines appear above the live line. */
  above(sink: Sink): Sink {
    if (!this.#out.isTTY || !sink.isTTY) return sink;
    return {
      isTTY: true,
      get columns() {
        return sink.columns;
      },
      write: (text) => {
        if (this.#ended) return sink.write(text);
        sink.write(`${this.#erase()}${text}`);
        this.#out.write(this.#draw());
      },
    };
  }

  /** Leaves the terminal's cursor on a line of its own; nothing is shown any more. */
  end(): void {
    if (this.#out.isTTY && this.#shown !== "" && !this.#ended) this.#out.write("\n");
    this.#ended = true;
  }

  /** To where the line began, with nothing of it left. */
  #erase(): string {
    const { columns } = this.#out;
    // The terminal has broken its lines anew, and nobody knows where they begin: they stay.
    if (this.#drawn.some((line) => widthOf(line) > columns)) return "\n";
    const above = this.#drawn.length - 1;
    return above > 0 ? own(`\r\u001b[${above}A\u001b[J`) : CLEAR_LINE;
  }

  /** Nothing is cut; and no line is full, for the cursor stands behind the last one. */
  #draw(): string {
    const room = Math.max(1, this.#out.columns - 1);
    const lines: string[] = [];
    for (const part of this.#shown.split(BETWEEN)) {
      const [last] = lines.slice(-1);
      const longer = last === undefined ? part : `${last}${BETWEEN}${part}`;
      if (widthOf(longer) <= room) lines.splice(-1, 1, longer);
      else lines.push(...wrapTo(part, room));
    }
    this.#drawn = lines;
    return lines.join("\n");
  }
}
