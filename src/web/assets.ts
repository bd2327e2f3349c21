/**
 * The page's own files, as `npm run build` left them in `dist/dashboard/`. They are read once into memory, so what is
 * asked for is looked up by name and can reach no other file.
 */
import { readFileSync, readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyRequest } from "fastify";

/** Paths of the page: each is a view, drawn by the same document. */
export const VIEW_PATHS = ["/", "/quotes", "/instrument", "/chain", "/coverage"];

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};

type Asset = { type: string; body: Buffer; gzip: Buffer | null };

/** Beside the compiled program, and where the sources have it. */
const PLACES = ["../dashboard/", "../../dist/dashboard/"];

/** The built files by path, `/assets/index-abc.js`; empty where nothing was built. */
export function readAssets(directories: readonly string[] = builtInto()): ReadonlyMap<string, Asset> {
  for (const directory of directories) {
    const names = listed(directory);
    if (!names.includes("index.html")) continue;
    return new Map(
      names
        .filter((name) => TYPES[extname(name)] !== undefined)
        .map((name) => [`/${name.replaceAll("\\", "/")}`, toAsset(join(directory, name))]),
    );
  }
  return new Map();
}

/** Serves them, and the one document at every view's path. */
export function serveAssets(app: FastifyInstance, assets: ReadonlyMap<string, Asset>): void {
  const page = assets.get("/index.html");
  for (const path of VIEW_PATHS)
    app.get(path, async (request, reply) => {
      if (page === undefined) return reply.code(503).type("text/plain; charset=utf-8").send(NOT_BUILT);
      return reply
        .headers({ ...headersOf(page, request), "cache-control": "no-cache" })
        .send(bodyOf(page, request));
    });
  // An address of no view is still a page to whoever looks at it.
  app.setNotFoundHandler(async (request, reply) => {
    const wantsPage = request.method === "GET" && /\btext\/html\b/.test(String(request.headers.accept ?? ""));
    if (page === undefined || !wantsPage) return reply.code(404).send({ error: NOT_FOUND });
    return reply.code(404).headers(headersOf(page, request)).send(bodyOf(page, request));
  });
  for (const [path, asset] of assets) {
    if (path === "/index.html") continue;
    // Names under assets/ hold a digest of what is in them.
    const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    app.get(path, async (request, reply) =>
      reply.headers({ ...headersOf(asset, request), "cache-control": cache }).send(bodyOf(asset, request)),
    );
  }
}

const NOT_FOUND = {
  code: "NOT_FOUND",
  detail: "there is nothing at this address",
  hint: "Begin at /.",
  person: true,
};

const NOT_BUILT = "The dashboard is not built: run `npm run build` in the checkout.\n";

function headersOf({ type, gzip }: Asset, request: FastifyRequest): Record<string, string> {
  const zipped = gzip !== null && takesGzip(request);
  return { "content-type": type, vary: "accept-encoding", ...(zipped && { "content-encoding": "gzip" }) };
}

function bodyOf({ body, gzip }: Asset, request: FastifyRequest): Buffer {
  return gzip !== null && takesGzip(request) ? gzip : body;
}

function takesGzip({ headers }: FastifyRequest): boolean {
  return /\bgzip\b/.test(String(headers["accept-encoding"] ?? ""));
}

function toAsset(path: string): Asset {
  const body = readFileSync(path);
  const extension = extname(path);
  const gzip = extension === ".woff2" ? null : gzipSync(body, { level: 9 });
  return { type: TYPES[extension] ?? "application/octet-stream", body, gzip };
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: "utf8" });
  } catch {
    return [];
  }
}

function builtInto(): string[] {
  return PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
}
