/**
 * `npm run typecheck`: TypeScript's native compiler, which takes a fifth of the time, looks at the program, the page and the
 * page's tests. The one that is written in JavaScript is here for what asks it by its functions: lint.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

for (const project of [".", "src/web/app", "test/web/browser"]) {
  const compiler = "node_modules/typescript-native/bin/tsc";
  const { status } = spawnSync(process.execPath, [compiler, "-p", project], { cwd: root, stdio: "inherit" });
  process.exitCode ||= status ?? 1;
}
