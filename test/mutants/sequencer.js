/** The direct tests first: what they kill needs no long one, and what a long one kills is seen to need it. */
import Sequencer from "@jest/test-sequencer";

const isLong = ({ path }) => /\/(?:budgetPlan|slots|governor)\.test\.ts$/.test(path);

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default class DirectFirst extends Sequencer {
  sort(tests) {
    return tests.toSorted((a, b) => isLong(a) - isLong(b) || (a.path < b.path ? -1 : 1));
  }
}
