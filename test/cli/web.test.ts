import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import type { NowView } from "../../src/web/api/types.ts";
import { freshDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { capturedEdges, run } from "./edges.ts";

const TOKEN = "a-token-of-the-test-0123456789";

const interrupts: (() => void)[] = [];
afterAll(() => interrupts.forEach((interrupt) => interrupt()));

test("web serves any archive, says that nothing collects, and ends with Ctrl-C", async () => {
  const { url } = await freshDatabase();
  const env = { DATABASE_URL: url, QUOTEKEEPER_HTTP_PORT: "0", QUOTEKEEPER_ATTRIBUTION: "Data by X" };
  const { edges, said, interrupt, stdout } = capturedEdges({ env });
  interrupts.push(interrupt);
  const ending = runProgram(["web"], edges);
  const [, address] = await said(/^Dashboard +(\S+)$/m);

  const first: unknown = await (await fetch(`${address}/api/now`)).json();
  // The first answer does not wait for the archive.
  const now = await until(async () => {
    const view = (await (await fetch(`${address}/api/now`)).json()) as { status: unknown };
    return view.status !== null && view;
  }, "what the archive says");
  interrupt();

  expect(await ending).toBe(0);
  expect(first).toMatchObject({ live: null, page: { attribution: "Data by X", protected: false } });
  expect(now).toMatchObject({ live: null, status: { budget: { calls: 0 } } });
  expect(stdout()).not.toContain(new URL(url).password || "no password in the address");
  await expect(fetch(`${address}/api/now`)).rejects.toThrow();
});

test("web needs no job files to look at an archive, and nobody is called for", async () => {
  const { url } = await freshDatabase();
  const env = { DATABASE_URL: url, QUOTEKEEPER_HTTP_PORT: "0", QUOTEKEEPER_JOBS_DIR: "/nonexistent/jobs" };
  const { edges, said, interrupt } = capturedEdges({ env });
  interrupts.push(interrupt);
  const ending = runProgram(["web"], edges);
  const [, address] = await said(/^Dashboard +(\S+)$/m);

  const status = await until(async () => {
    const now = (await (await fetch(`${address}/api/now`)).json()) as Pick<NowView, "status">;
    return now.status;
  }, "what the archive says");
  interrupt();
  await ending;

  expect(status.healthy).toBe(true);
  expect(status.lines).toContainEqual(expect.objectContaining({ subject: "jobs", state: "idle" }));
});

test.each(["web", "start"])(
  "%s refuses an address that others can reach without a token, with exit code 2",
  async (command) => {
    const { url } = await freshDatabase({ migrated: false });

    const { exitCode, stderr, stdout } = await run([command], {
      ...{ DATABASE_URL: url, QUOTEKEEPER_HTTP_HOST: "0.0.0.0", QUOTEKEEPER_HTTP_PORT: "0" },
      QUOTEKEEPER_JOBS_DIR: fileURLToPath(new URL("../../jobs", import.meta.url)),
    });

    expect(exitCode).toBe(2);
    expect(stderr).toContain("WEB_TOKEN_MISSING");
    expect(stdout).not.toContain("Dashboard");
  },
);

test("a token that is too short to be one is refused, and is not shown", async () => {
  const { exitCode, stderr } = await run(["web"], { QUOTEKEEPER_WEB_TOKEN: "canary-token" });

  expect(exitCode).toBe(2);
  expect(stderr).toContain("QUOTEKEEPER_WEB_TOKEN");
  expect(stderr).not.toContain("canary-token");
});

test("web with a token serves at any address", async () => {
  const { url } = await freshDatabase();
  const env = {
    ...{ DATABASE_URL: url, QUOTEKEEPER_HTTP_HOST: "0.0.0.0", QUOTEKEEPER_HTTP_PORT: "0" },
    QUOTEKEEPER_WEB_TOKEN: TOKEN,
  };
  const { edges, said, interrupt, stdout } = capturedEdges({ env });
  interrupts.push(interrupt);
  const ending = runProgram(["web"], edges);
  const [, address = ""] = await said(/^Dashboard +(\S+)$/m);
  const { port } = new URL(address);

  const refused = await fetch(`http://127.0.0.1:${port}/api/now`);
  const allowed = await fetch(`http://127.0.0.1:${port}/api/now`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  interrupt();
  await ending;

  expect([refused.status, allowed.status]).toEqual([401, 200]);
  expect(stdout()).not.toContain(TOKEN);
});
