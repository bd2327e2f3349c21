/**
 * The page's own files, as `npm run build` left them in `dist/dashboard/`, each text also packed. Every file has a route
 * of its own, so what is asked for can reach no other file. They are the same for everybody, and so is the login in them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import files from "@fastify/static";
import type { FastifyInstance } from "fastify";
import { PACKAGE_ROOT } from "../ground/packageRoot.ts";
import { refusal } from "./live.ts";

/** Paths of the page: each is a view, drawn by the same document. All are as deep, for the page's own addresses are relative. */
const VIEW_PATHS = ["/", ...["quotes", "instrument", "chain", "coverage"].map((view) => `/${view}`)];

const PAGE = "index.html";

const BUILT = join(PACKAGE_ROOT, "dist", "dashboard");

/**
 * Serves them, and the one document at every view's path. Where nothing was built, the views say so.
 *
 * @param root directory of the files; null: there are none
 */
export async function serveAssets(app: FastifyInstance, root: string | null = builtInto()): Promise<void> {
  await app.register(async (page) => {
    page.addHook("onRoute", (route) => {
      // The login needs no documentation.
      if (!route.url.startsWith("/docs/")) route.config = { ...route.config, open: true };
    });
    if (root !== null) {
      await page.register(files, {
        root,
        serve: false,
        preCompressed: true,
        cacheControl: false,
        setHeaders: (reply, path) => void reply.header("cache-control", cacheOf(path)),
      });
      for (const name of namesIn(root)) page.get(`/${name}`, async (_request, reply) => reply.sendFile(name));
    }
    for (const path of VIEW_PATHS)
      page.get(path, async (_request, reply) =>
        root === null
          ? reply.code(503).type("text/plain; charset=utf-8").send(NOT_BUILT)
          : reply.sendFile(PAGE),
      );
    // An address of no view is still a page to whoever looks at it.
    page.setNotFoundHandler(async ({ method, headers, url }, reply) => {
      const isView = method === "GET" && /^\/[^/]*$/.test(url.split("?", 1)[0] ?? "");
      const wantsPage = isView && /\btext\/html\b/.test(String(headers.accept ?? ""));
      if (root === null || !wantsPage) return reply.code(404).send(NOT_FOUND);
      return reply.code(404).sendFile(PAGE);
    });
  });
}

/** Name of the script that the page loads, which has a digest of what is in it; null: nothing was built. */
export function builtScript(root: string | null = builtInto()): string | null {
  const page = root === null ? "" : readFileSync(join(root, PAGE), "utf8");
  return /<script[^>]* src="[^"]*?([^/"]+\.js)"/.exec(page)?.[1] ?? null;
}

function namesIn(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((name) => name.split(sep).join("/"))
    .filter((name) => name !== PAGE && !/\.gz$|(^|\/)\./.test(name) && statSync(join(root, name)).isFile());
}

/** Names under assets/ hold a digest of what is in them. */
function cacheOf(path: string): string {
  return path.includes(`${sep}assets${sep}`) ? "public, max-age=31536000, immutable" : "no-cache";
}

const NOT_FOUND = refusal("NOT_FOUND", "there is nothing at this address");

const NOT_BUILT = "The dashboard is not built: run `npm run build` in the checkout.\n";

function builtInto(): string | null {
  return existsSync(join(BUILT, PAGE)) ? BUILT : null;
}
