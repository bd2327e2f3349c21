import { expect, test } from "@jest/globals";
import { wantsColour } from "../../../src/cli/terminal/colour.ts";

test.each([
  ["a terminal is coloured", true, {}, true],
  ["a file is not", false, {}, false],
  ["NO_COLOR turns it off", true, { NO_COLOR: "1" }, false],
  ["an empty NO_COLOR is none", true, { NO_COLOR: "" }, true],
  ["FORCE_COLOR turns it on", false, { FORCE_COLOR: "1" }, true],
  ["FORCE_COLOR=0 turns it off", true, { FORCE_COLOR: "0" }, false],
  ["NO_COLOR wins over FORCE_COLOR", true, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
  ["a dumb terminal is not coloured", true, { TERM: "dumb" }, false],
])("%s", (_title, isTTY, env, wanted) => {
  expect(wantsColour({ isTTY }, env)).toBe(wanted);
});
