/** The surroundings of a test file: jest's own for Node, put away behind it in full. */
import { AsyncLocalStorage } from "node:async_hooks";
import { TestEnvironment } from "jest-environment-node";

const used = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...given) {
  used.add(this);
  return run.apply(this, given);
};

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default class Environment extends TestEnvironment {
  constructor(...given) {
    super(...given);
    // As in the program. jest's hundred lines are costly where errors are made by the thousand, and each expect() makes one.
    this.global.Error.stackTraceLimit = 10;
  }

  async teardown() {
    // jest knows by one of these which test a promise is of. Node hands the store of each that was ever used on to every
    // promise and socket: a worker that had run fifty files wrote fifty properties on each.
    for (const storage of used) storage.disable();
    used.clear();
    await super.teardown();
  }
}
