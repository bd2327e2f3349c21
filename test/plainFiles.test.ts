import { expect, test } from "@jest/globals";
import { openToOthers } from "../src/plainFiles.ts";

test("a file is open to others by its mode, but on Windows, which shows 666 for every file", () => {
  expect(openToOthers(0o100666, 0o022, "/")).toBe(0o022);
  expect(openToOthers(0o100600, 0o077, "/")).toBe(0);
  expect(openToOthers(0o100666, 0o077, "\\")).toBe(0);
});
