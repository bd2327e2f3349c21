import { isDeepStrictEqual } from "node:util";
import { expect } from "@jest/globals";

/**
 * `expect(actual).toEqual(expected)` for where it is asked by the thousand: jest compares and shows only what Node's own
 * comparison, which is the stricter one and many times as fast, does not find equal.
 */
export function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}
