/** Runs the test files of a mutant until one of them fails: the mutant is killed then. Jest itself has no such bound in one process. */
import TestRunner from "jest-runner";

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default class UntilKilled extends TestRunner {
  async runTests(tests, ...rest) {
    let isKilled = false;
    this.on("test-file-success", ([, { numFailingTests }]) => (isKilled ||= numFailingTests > 0));
    this.on("test-file-failure", () => (isKilled = true));
    for (const test of tests) if (!isKilled) await super.runTests([test], ...rest);
  }
}
