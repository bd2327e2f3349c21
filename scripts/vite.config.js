/** Builds the dashboard's page, src/web/app/, into dist/dashboard/. Everything it needs is in the result. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { helpPlugin } from "./help/plugin.ts";

export default defineConfig({
  root: fileURLToPath(new URL("../src/web/app/", import.meta.url)),
  // Below a proxy's path too.
  base: "./",
  plugins: [helpPlugin(fileURLToPath(new URL("../", import.meta.url)))],
  logLevel: "warn",
  build: {
    outDir: fileURLToPath(new URL("../dist/dashboard/", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    // A polyfill would be an inline script, and a data: address an inline font: the content security policy has neither.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // Told where plugins take long, as all do on a slow machine.
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
});
