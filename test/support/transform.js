/**
 * How jest reads our TypeScript: by swc, and then with the built-in objects as constants of each module. Jest's contexts
 * look every global up by name each time it is used, which made the simulated market three times as slow as it is. The
 * libraries that compute the most have the constants too (`jest.config.js` names them).
 */
import { createTransformer } from "@swc/jest";

/** Built-in objects that no test replaces: what stands for time, chance and the network is not among them. */
const CONSTANT =
  `Array ArrayBuffer BigInt Boolean Buffer DataView Error Infinity Int32Array JSON Map Math NaN Number
  Object Promise RangeError Reflect RegExp Set String Symbol TextDecoder TextEncoder TypeError URL Uint8Array WeakMap
  isNaN parseInt process`.split(/\s+/);

const swc = createTransformer({
  jsc: { target: "es2022", parser: { syntax: "typescript" } },
  module: { type: "es6" },
  sourceMaps: true,
});

const isLibrary = (path) => path.includes("node_modules");

function withConstants({ code, map }) {
  const declared = (name) =>
    new RegExp(`\\b(?:import|const|let|class|function)\\b[^;(=]*\\b${name}\\b`).test(code);
  const names = CONSTANT.filter((name) => new RegExp(`(?<![.\\w$])${name}\\b`).test(code) && !declared(name));
  // On the first line, so that lines stay what they are.
  return { code: names.length === 0 ? code : `const { ${names.join(", ")} } = globalThis; ${code}`, map };
}

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default {
  ...swc,
  process: (...given) => withConstants(isLibrary(given[1]) ? { code: given[0] } : swc.process(...given)),
  processAsync: async (...given) =>
    withConstants(isLibrary(given[1]) ? { code: given[0] } : await swc.processAsync(...given)),
  getCacheKey: (...given) => `${CONSTANT.join()} ${swc.getCacheKey(...given)}`,
};
