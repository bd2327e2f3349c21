/**
 * How jest runs a test file: without a context of its own. A worker loads the program, the libraries and jest's `expect`
 * once, by Node's own import; what lies in test/ it loads anew for each file, so that none sees a variable of another's.
 * Everything else is that of jest, and of jest-circus (by that name in its path StrykerJS knows it): workers, hooks, reports.
 */
import asyncHooks from "node:async_hooks";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import circus from "jest-circus/runner";
import { allowTypescript } from "../postgres/typescript.js";

const require = createRequire(import.meta.url);

/**
 * In the place of the one of Node's by which jest knows what test an error is of. Node's is carried on by every promise and
 * socket, which is a tenth of the time of a simulated day; here tests run one at a time, so it is the one that runs.
 */
class OneAtATime {
  #store;

  getStore() {
    return this.#store;
  }

  run(store, callback) {
    const before = this.#store;
    this.#store = store;
    return callback().finally(() => (this.#store = before));
  }
}

/** What a test file imports from "@jest/globals": typescript.js sends it here. */
export let afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test;

allowTypescript();
let files = 0;

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default function runFile(globalConfig, config, environment, runtime, path, ...rest) {
  // What jest knows of a file's tests begins anew with the module.
  runtime.requireInternalModule = (name) => {
    Reflect.deleteProperty(require.cache, name);
    // Newer versions of Node have a getter there.
    const ofNode = Object.getOwnPropertyDescriptor(asyncHooks, "AsyncLocalStorage");
    Object.defineProperty(asyncHooks, "AsyncLocalStorage", { value: OneAtATime });
    try {
      return require(name);
    } finally {
      Object.defineProperty(asyncHooks, "AsyncLocalStorage", ofNode);
    }
  };
  runtime.unstable_shouldLoadAsEsm = () => true;
  runtime.unstable_importModule = (name) => {
    const globals = runtime.requireModuleOrMock(name, "@jest/globals");
    ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } = globals);
    // Mutants of constants are seen only where the program is loaded anew as well.
    const anew = config.testEnvironmentOptions.anew ?? "test";
    return import(`${pathToFileURL(name)}?${anew}=${(files += 1)}`);
  };
  return circus.default(globalConfig, config, environment, runtime, path, ...rest);
}
