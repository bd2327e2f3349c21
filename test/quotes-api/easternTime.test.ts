import { expect, test } from "@jest/globals";
import { easternMidnight } from "../../src/quotes-api/writeDocument.ts";

test("a date is written as midnight in New York with the offset of that date", () => {
  expect(easternMidnight("2026-12-18")).toBe("2026-12-18T00:00:00-05:00");
  expect(easternMidnight("2026-06-18")).toBe("2026-06-18T00:00:00-04:00");
});

test("on the days when the clocks change, midnight still has the old offset", () => {
  expect(easternMidnight("2026-03-08")).toBe("2026-03-08T00:00:00-05:00");
  expect(easternMidnight("2026-11-01")).toBe("2026-11-01T00:00:00-04:00");
});

test("a date that does not exist is refused", () => {
  expect(() => easternMidnight("2026-02-30")).toThrow(expect.objectContaining({ name: "RangeError" }));
});
