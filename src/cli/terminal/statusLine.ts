/** The live line of `start`: one line that changes on a terminal, a line now and then elsewhere. */
import type { Clock } from "../../clock.ts";
import type { Sink } from "../../run/edges.ts";
import { oneLine, own } from "./harmless.ts";
import { cutTo } from "./screen.ts";

/** Where no person looks, a line at most this often: at first, and when it is clear that all goes well. */
const PLAIN_EVERY_MS = 10_000;
const PLAIN_LATER_MS = 600_000;

const CLEAR_LINE = own("\r\u001b[2K");

/** How often what goes on fast is shown, in ms: every few thousand rows would be every few milliseconds. */
export const SHOW_EVERY_MS = 200;

/** Lines that come often. */
const PLAIN_FIRST_LINES = 6;

/** A line that is written over and over. */
export class StatusLine {
  readonly #out: Sink;
  readonly #clock: Clock;
  #shown = "";
  #writtenAtMs = -Infinity;
  #plainLines = 0;

  constructor(out: Sink, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  /** Shows a text now, or on a pipe as soon as it is time for a line again. */
  show(shown: string): void {
    const text = oneLine(shown);
    if (text === this.#shown) return;
    const nowMs = this.#clock.monotonicMs();
    const everyMs = this.#plainLines < PLAIN_FIRST_LINES ? PLAIN_EVERY_MS : PLAIN_LATER_MS;
    if (!this.#out.isTTY && nowMs - this.#writtenAtMs < everyMs) return;
    if (!this.#out.isTTY) this.#plainLines += 1;
    this.#writtenAtMs = nowMs;
    this.#shown = text;
    this.#out.write(this.#out.isTTY ? `${CLEAR_LINE}${cutTo(text, this.#out.columns - 1)}` : `${text}\n`);
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
        sink.write(`${CLEAR_LINE}${text}`);
        this.#out.write(cutTo(this.#shown, this.#out.columns - 1));
      },
    };
  }

  /** Leaves the terminal's cursor on a line of its own. */
  end(): void {
    if (this.#out.isTTY && this.#shown !== "") this.#out.write("\n");
  }
}
