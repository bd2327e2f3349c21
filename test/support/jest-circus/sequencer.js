/**
 * Which test files are run first. jest begins with what took longest, and where it has not seen a run yet, as on a new machine,
 * with the largest files. Those that wait for programs they have started are small, and take longest: begun last, they are
 * waited for alone.
 */
import Sequencer from "@jest/test-sequencer";

const LONG = /\/test\/(faults|run\/beside)\//;

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default class LongFirst extends Sequencer {
  sort(tests) {
    const isFirst = ({ path, duration }) => duration === undefined && LONG.test(path);
    const sorted = super.sort(tests);
    return [...sorted.filter(isFirst), ...sorted.filter((test) => !isFirst(test))];
  }
}
