/** A live line: on a terminal it changes in place, over several lines if needed; elsewhere it is printed now and then. */
import type { Clock } from "../../ground/clock.ts";
import type { Sink } from "../../ground/edges.ts";
import { oneLine, own } from "./harmless.ts";
import { widthOf, wrapTo } from "./width.ts";

/** Least time between two lines on a pipe: for the first lines, and later. */
const PLAIN_EVERY_MS = 10_000;
const PLAIN_LATER_MS = 600_000;

const CLEAR_LINE = own("\r\u001b[2K");

/** Least time between two texts of fast progress, in ms. */
export const SHOW_EVERY_MS = 200;

/** Lines on a pipe that come at the shorter interval. */
const PLAIN_FIRST_LINES = 6;

/** Separates the parts of a line; a line that is too wide breaks here. */
const BETWEEN = " | ";

export class StatusLine {
  readonly #out: Sink;
  readonly #clock: Clock;
  #shown = "";
  #drawn: readonly string[] = [];
  #ended = false;
  #writtenAtMs = -Infinity;
  #plainLines = 0;

  constructor(out: Sink, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  /** Shows a text; on a pipe, drops it when the last line is too recent. */
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

  /** Shows progress now and then, on a terminal only; calls `text` only when it is shown. */
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

  /** Moves the cursor to the next line; nothing is shown any more. */
  end(): void {
    if (this.#out.isTTY && this.#shown !== "" && !this.#ended) this.#out.write("\n");
    this.#ended = true;
  }

  #erase(): string {
    const { columns } = this.#out;
    // A narrowed terminal has wrapped the old lines again, so their start is unknown: they stay.
    if (this.#drawn.some((line) => widthOf(line) > columns)) return "\n";
    const above = this.#drawn.length - 1;
    return above > 0 ? own(`\r\u001b[${above}A\u001b[J`) : CLEAR_LINE;
  }

  /** Cuts nothing. A column stays free for the cursor behind the last line. */
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
