/** Many rows in parts, with a turn of the event loop after each: calls to the service and answers to others go on meanwhile. */
import { setImmediate } from "node:timers/promises";

/** So many rows take a few milliseconds. */
const TOGETHER = 250;

export async function mapInTurns<From, To>(rows: readonly From[], map: (row: From) => To): Promise<To[]> {
  const mapped: To[] = [];
  for (const [place, row] of rows.entries()) {
    if (place > 0 && place % TOGETHER === 0) await setImmediate();
    mapped.push(map(row));
  }
  return mapped;
}
