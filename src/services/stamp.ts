/** A nonce and a timestamp for a signature. */
import type { Clock } from "../ground/clock.ts";

export type Stamp = {
  nonce: string;
  /** Epoch seconds UTC, by the service's clock as far as it is known. */
  timestamp: number;
};

/** @param atMs epoch milliseconds UTC, by the service's clock as far as it is known */
export function stampOf(clock: Pick<Clock, "now" | "random">, atMs = clock.now().getTime()): Stamp {
  return { nonce: Buffer.from(clock.random(16)).toString("hex"), timestamp: Math.floor(atMs / 1_000) };
}
