import { expect, test } from "@jest/globals";
import { isHelperFile, openToOthers } from "../../src/ground/plainFiles.ts";

test("a file is open to others by its mode, but on Windows, which shows 666 for every file", () => {
  expect(openToOthers(0o100666, 0o022, "/")).toBe(0o022);
  expect(openToOthers(0o100600, 0o077, "/")).toBe(0);
  expect(openToOthers(0o100666, 0o077, "\\")).toBe(0);
});

test.each([
  "__MACOSX/._a.xml",
  "saved/__MACOSX/a.xml",
  "._a.xml",
  "saved\\._a.xml",
  ".DS_Store",
  "a/Thumbs.db",
  "Desktop.ini",
])("%s is put there by an operating system", (path) => expect(isHelperFile(path)).toBe(true));

test.each(["a.xml", "a._b.xml", "MACOSX/a.xml", "DS_Store", "my.DS_Store.xml", "desktop.ini.xml", ".a.xml"])(
  "%s is anybody's file",
  (path) => expect(isHelperFile(path)).toBe(false),
);
