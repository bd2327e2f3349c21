/** The page's files, as they go over the wire. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import Fastify from "fastify";
import { serveAssets } from "../../src/web/assets.ts";
import { tempDir } from "../support/tempDir.ts";

const SCRIPT = "console.log(1)";

/** A server of a page that was built, beside a file that is none of it. */
async function served() {
  const dir = tempDir();
  const root = join(dir, "dashboard");
  mkdirSync(join(root, "assets"), { recursive: true });
  writeFileSync(join(root, "index.html"), "<p>page");
  writeFileSync(join(root, "assets", "index-abc.js"), SCRIPT);
  writeFileSync(join(root, "assets", "index-abc.js.gz"), gzipSync(SCRIPT));
  writeFileSync(join(dir, "secret.txt"), "secret");
  const app = Fastify();
  await serveAssets(app, root);
  return { root, get: (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers }) };
}

test("files with a digest in their name are kept for good, the page is asked for anew and told to be the same", async () => {
  const { get } = await served();

  const script = await get("/assets/index-abc.js");
  const page = await get("/chain");
  const again = await get("/chain", { "if-none-match": String(page.headers.etag) });

  expect(script.headers).toMatchObject({
    "content-type": expect.stringMatching(/javascript; charset=utf-8$/),
    "cache-control": "public, max-age=31536000, immutable",
  });
  expect(page).toMatchObject({ statusCode: 200, body: "<p>page" });
  expect(page.headers).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
  });
  expect(again).toMatchObject({ statusCode: 304, body: "" });
});

test("a text goes packed to whoever takes it, and says so to caches", async () => {
  const { get } = await served();

  const packed = await get("/assets/index-abc.js", { "accept-encoding": "gzip, br" });
  const plain = await get("/assets/index-abc.js", { "accept-encoding": "identity" });

  expect(packed.headers).toMatchObject({
    "content-encoding": "gzip",
    "content-type": expect.stringMatching(/javascript; charset=utf-8$/),
    vary: "accept-encoding",
  });
  expect(packed.rawPayload).toEqual(gzipSync(SCRIPT));
  expect(plain.body).toBe(SCRIPT);
});

test("no other file can be had, and an address of none is a page to a browser alone", async () => {
  const { root, get } = await served();
  symlinkSync(join(root, "..", "secret.txt"), join(root, "assets", "later.txt"));
  const paths = [
    "/../secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/later.txt",
    "/assets/index-abc.js.gz",
  ];

  const bodies = await Promise.all(paths.map(async (path) => (await get(path)).statusCode));
  const page = await get("/nowhere", { accept: "text/html" });

  expect(bodies).toEqual(paths.map(() => 404));
  expect(page).toMatchObject({ statusCode: 404, body: "<p>page" });
});
