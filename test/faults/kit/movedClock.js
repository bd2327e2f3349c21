/**
 * Loaded before the program (`--import`): its wall clock is off by what the file MOVED_CLOCK says, in ms, as if somebody
 * had set the machine's clock. Monotonic time and timers go on as they are.
 */
import { readFileSync } from "node:fs";

const path = process.env["MOVED_CLOCK"] ?? "";
const RealDate = Date;
let offMs = 0;
const look = () => {
  try {
    offMs = Number(readFileSync(path, "utf8")) || 0;
  } catch {
    // It is being written.
  }
};
look();
setInterval(look, 20).unref();

class MovedDate extends RealDate {
  /** @param {ConstructorParameters<DateConstructor>} given */
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + offMs;
  }
}
globalThis.Date = /** @type {DateConstructor} */ (/** @type {unknown} */ (MovedDate));
