import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { compileProgram } from "../support/compileProgram.ts";
import { tempDir } from "../support/tempDir.ts";

const LIST_LOADED = fileURLToPath(new URL("../support/listLoaded.js", import.meta.url));
const program = compileProgram(tempDir());

const chunks = readdirSync(join(dirname(dirname(program)), "dist"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".js") && !name.startsWith("dashboard"))
  .map((name) => join(dirname(dirname(program)), "dist", name));

/** Words that stand in a library's code and in nobody else's. */
const LIBRARIES = {
  fastify: "FST_ERR_CTP_",
  undici: "UND_ERR_HEADERS_TIMEOUT",
  "prom-client": "Invalid metric name",
  "hyparquet-writer": "parquet expected bigint value",
  "pino-pretty": "prettyFactory",
  pg: "pg-native",
  zod: "invalid_union",
  commander: "commander.",
};

/** The libraries that lie in what a command line loads. */
function loadedBy(...args: string[]): string[] {
  const list = join(tempDir(), "loaded");
  const env = { ...process.env, LOADED: list };
  execFileSync(process.execPath, ["--import", LIST_LOADED, program, ...args], { env });
  const files = readFileSync(list, "utf8").split("\n");
  const code = files
    .filter((url) => url.includes("/dist/"))
    .map((url) => readFileSync(fileURLToPath(url), "utf8"))
    .join("\n");
  const bundled = Object.entries(LIBRARIES).flatMap(([name, word]) => (code.includes(word) ? [name] : []));
  return files.some((url) => url.includes("/@duckdb/")) ? [...bundled, "duckdb"] : bundled;
}

test("a command loads the libraries that it needs, and no others", () => {
  expect(loadedBy("--version")).toEqual(["zod", "commander"]);
  expect(loadedBy("status", "--help")).toEqual(["pg", "zod", "commander"]);
  expect(loadedBy("poll", "--help")).toEqual(["pg", "zod", "commander"]);
  expect(loadedBy("collect", "--help")).toEqual(["pino-pretty", "zod", "commander"]);
  expect(loadedBy("export", "--help")).toContain("hyparquet-writer");
});

test("the program is ASCII: Node would hold two bytes for each character of a file that has another one", () => {
  const odd = chunks.filter((file) => /[^\0-\x7f]/.test(readFileSync(file, "utf8")));

  expect(odd).toEqual([]);
});

test("no command loads DuckDB itself: the process of a statement does, which the command starts", () => {
  expect(loadedBy("lake", "--help")).not.toContain("duckdb");
  expect(loadedBy("sql", "--lake-only", "--lake", tempDir(), "select 1")).not.toContain("duckdb");
});
