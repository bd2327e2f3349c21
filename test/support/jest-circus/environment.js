/** What surrounds a test file: the process itself. What a file changes in it is put back before the next one comes. */
import { ModernFakeTimers } from "@jest/fake-timers";
import { ModuleMocker } from "jest-mock";

/** Where jest keeps what is of one file: who hears of its tests, and `jest.setTimeout`. */
const OF_A_FILE = ["EVENT_HANDLERS", "TEST_TIMEOUT_SYMBOL"].map((name) => Symbol.for(name));

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default class Environment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  // jest puts others in the place of the first two itself.
  #before = {
    console,
    exit: process.exit,
    cwd: process.cwd(),
    umask: process.umask(),
    env: { ...process.env },
  };

  constructor({ globalConfig, projectConfig }) {
    this.testTimeout = globalConfig.testTimeout;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  getVmContext() {
    return null;
  }

  async setup() {
    // No code has a source map here, and Node writes stacks itself in a fraction of the time.
    delete Error.prepareStackTrace;
    // As in the program. jest's hundred lines are costly where errors are made by the thousand, and each expect() makes one.
    Error.stackTraceLimit = 10;
    // A wait ends before its test does, and says what did not come (../until.ts). `jest.setTimeout` takes its place.
    globalThis[Symbol.for("TEST_TIMEOUT_SYMBOL")] = this.testTimeout;
  }

  async teardown() {
    const { exit, cwd, umask, env } = this.#before;
    this.fakeTimersModern.dispose();
    globalThis.console = this.#before.console;
    process.exit = exit;
    process.chdir(cwd);
    process.umask(umask);
    for (const name of Object.keys(process.env))
      if (!(name in env)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, env);
    for (const name of OF_A_FILE) Reflect.deleteProperty(globalThis, name);
  }
}
