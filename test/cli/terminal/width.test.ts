import { expect, test } from "@jest/globals";
import { cutTo, widthOf, wrapTo } from "../../../src/cli/terminal/width.ts";

test("a wide character takes two columns, a combining one and a colour none", () => {
  expect(widthOf("日本")).toBe(4);
  expect(widthOf("e\u0301")).toBe(1);
  expect(widthOf("\u001b[31mred\u001b[39m")).toBe(3);
});

test("a text is cut between characters, never within one", () => {
  expect(cutTo("AAPL", 4)).toBe("AAPL");
  expect(cutTo("AAPLX", 4)).toBe("AAP…");
  expect(cutTo("日本株", 4)).toBe("日…");
});

test("a text goes on in the next line at a blank, else behind a separator, else where it must", () => {
  expect(wrapTo("one two three", 8)).toEqual(["one two", "three"]);
  expect(wrapTo("AAPL:2026-12-18:CALL:150", 16, ":")).toEqual(["AAPL:2026-12-18:", "CALL:150"]);
  expect(wrapTo("ABCDEFGH", 3)).toEqual(["ABC", "DEF", "GH"]);
  expect(wrapTo("日本株", 1)).toEqual(["日", "本", "株"]);
});
