/** The test of the mutated file first: what it kills needs no other. Long ones last. */
import { sep } from "node:path";
import Sequencer from "@jest/test-sequencer";

const isLong = ({ path }) => /\/(?:budgetPlan|slots|governor|splitRows)\.test\.ts$/.test(path);

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default class DirectFirst extends Sequencer {
  #direct;

  /** Stryker names the mutated file, as the one whose related tests are to be run. */
  constructor({ globalConfig }) {
    super();
    const mutated = (globalConfig.nonFlagArgs[0] ?? "").split(`${sep}src${sep}`)[1];
    this.#direct = `${sep}test${sep}${mutated?.replace(/\.ts$/, ".test.ts")}`;
  }

  sort(tests) {
    const rank = (test) => (test.path.endsWith(this.#direct) ? 0 : isLong(test) ? 2 : 1);
    return tests.toSorted((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
  }
}
