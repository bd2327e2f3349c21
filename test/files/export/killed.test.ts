import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { runProgram } from "../../../src/cli/program.ts";
import { namingWrites } from "../../../src/files/tables/hashedFile.ts";
import { openStage } from "../../../src/files/export/stage.ts";
import { PROCESSES } from "../../../src/ground/processes.ts";
import { capturedEdges, run } from "../../cli/edges.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";

// The program is compiled and 200,000 rows are written, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const { pool, url } = await freshDatabase();
await pool.query(
  "insert into due_sets (id, digest, instruments) select n, n::text, array['S' || n] from generate_series(1, 200000) n",
);
const env = { DATABASE_URL: url };

/** Resolves with what is in a directory as soon as that satisfies `wanted`. */
async function seen(dir: string, wanted: (names: string[]) => boolean): Promise<string[]> {
  for (;;) {
    const names = readdirSync(dir);
    if (wanted(names)) return names;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("an export that is killed leaves nothing that looks like one, and the next removes what it left", async () => {
  const [dir, bin] = [tempDir(), compileProgram(tempDir())];
  const args = ["export", "--format", "parquet", "--tables", "due_sets", "--out", join(dir, "out")];
  const child = spawn(process.execPath, [bin, ...args], { env: { ...process.env, ...env }, stdio: "ignore" });

  const stage = `.out.partial-${child.pid}`;
  await seen(dir, (names) => names.includes(stage) && existsSync(join(dir, stage, "due_sets")));
  child.kill("SIGKILL");
  await once(child, "exit");
  const left = readdirSync(dir);
  const { exitCode } = await run(args, env);

  expect(left).toEqual([stage]);
  expect(exitCode).toBe(0);
  expect(readdirSync(dir)).toEqual(["out"]);
  expect(readdirSync(join(dir, "out")).sort()).toEqual(["due_sets", "manifest.json"]);
});

test("Ctrl-C ends an export and leaves nothing", async () => {
  const dir = tempDir();
  const { edges, interrupt } = capturedEdges({ env });
  const args = ["export", "--format", "parquet", "--tables", "due_sets", "--out", join(dir, "out")];

  const running = runProgram(args, edges);
  await seen(dir, (names) => names.some((name) => existsSync(join(dir, name, "due_sets"))));
  interrupt();

  expect(await running).not.toBe(0);
  expect(readdirSync(dir)).toEqual([]);
});

test("a replacement that was killed between its two renames leaves the export from before, which comes back", async () => {
  const dir = tempDir();
  const args = ["export", "--format", "csv", "--tables", "sources", "--out", join(dir, "out")];
  await run(args, env);
  renameSync(join(dir, "out"), join(dir, ".out.replaced"));

  const { exitCode, stderr } = await run(args, env);

  expect(exitCode).toBe(1);
  expect(stderr).toContain("EXPORT_EXISTS");
  expect(readdirSync(dir)).toEqual(["out"]);
});

test("a replacement that was killed behind its two renames leaves nothing in the way of the next ones", async () => {
  const dir = tempDir();
  const args = ["export", "--format", "csv", "--tables", "sources", "--out", join(dir, "out"), "--replace"];
  await run(args, env);
  cpSync(join(dir, "out"), join(dir, ".out.replaced"), { recursive: true });

  const { exitCode, stderr } = await run(args, env);

  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining("EXPORT_WRITE_FAILED")]);
  expect(readdirSync(dir)).toEqual(["out"]);
});

test("what came to an export's place while it was written is not replaced", async () => {
  const out = join(tempDir(), "out");
  const stage = await openStage(out, { replace: true, processes: PROCESSES });
  mkdirSync(out);
  writeFileSync(join(out, "notes.txt"), "");

  await expect(stage.publish()).rejects.toMatchObject({ code: "EXPORT_EXISTS" });

  expect(readdirSync(out)).toEqual(["notes.txt"]);
  await stage.discard();
});

test("a connection that breaks while an export is written is no fault of its directory", () => {
  const failed = (code: string): unknown => {
    try {
      return namingWrites("/data/out")(Object.assign(new Error(code), { code, syscall: "read" }));
    } catch (error) {
      return error;
    }
  };

  expect(failed("ECONNRESET")).toMatchObject({ code: "ECONNRESET" });
  expect(failed("EIO")).toMatchObject({ code: "EXPORT_WRITE_FAILED", detail: "/data/out: EIO" });
});

test("what another export is still writing beside it is left alone", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, `.out.partial-${process.ppid}`));

  await run(["export", "--format", "csv", "--tables", "sources", "--out", join(dir, "out")], env);

  expect(readdirSync(dir).sort()).toEqual([`.out.partial-${process.ppid}`, "out"]);
});
