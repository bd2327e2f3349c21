/**
 * `npm run test:web [-- --screenshots]`: builds the page and drives Chromium through it. With --screenshots it writes
 * docs/images/ anew; EVERY_LOOK=1 tries each width in light and dark. The browser is CHROMIUM, or what the system has;
 * without one nothing is tried, exit code 3.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
// The one without a window of its own first: it draws the same in half the time.
const known = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"].map(
  (name) => `/usr/bin/${name}`,
);
const chromium = process.env.CHROMIUM || known.find((path) => existsSync(path));
if (!chromium) {
  process.stdout.write("No Chromium here: the dashboard was not tried in a browser.\n");
  process.exit(3);
}

const given = process.argv.slice(2);
const run = (...args) =>
  spawnSync(process.execPath, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, CHROMIUM: chromium },
  }).status ?? 1;

const built = run("node_modules/vite/bin/vite.js", "build", "--config", "scripts/vite.config.js");
process.exitCode =
  built ||
  run(
    "node_modules/jest/bin/jest.js",
    "--testMatch",
    given.includes("--screenshots") ? "**/test/web/browser/screenshots.ts" : "**/test/web/browser/*.web.ts",
    // A view is drawn, and looked at in many widths, in one test.
    "--testTimeout=300000",
    // Each file has a browser, a program and a database: two at a time, on whatever machine.
    "--maxWorkers=2",
    ...given.filter((arg) => arg !== "--screenshots"),
  );
