/**
 * `npm run build`: the program in dist/, with the dashboard's page. `npm ci` runs it, and where scripts are switched
 * off, the first start does (bin/quotekeeper.js). It works beside dist/ and puts the result there when it is whole: a
 * full disk or a kill leaves what was there before.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { programIsThere, whyNotBuilt } from "../bin/whole.js";

/**
 * @param root the checkout, absolute
 * @param options.again false: keeps what another program has built in the meantime
 * @throws as `node:fs` does, and whatever a compiler throws; dist/ is then as it was before
 */
export async function build(root, { again }) {
  const { compile } = await import("./compile.js");
  const { billOfMaterials, librariesIn, thirdParty } = await import("./licences.js");
  const vite = await import("vite");
  sweep(root);
  const draft = join(root, `dist.new-${process.pid}`);
  try {
    const program = await compile(root, draft);
    // Vite would write by itself, but a full disk is then an error without a code.
    const { output } = await vite.build({
      configFile: join(root, "scripts", "vite.config.js"),
      build: { write: false },
    });
    cpSync(join(root, "src", "web", "app", "public"), join(draft, "dashboard"), { recursive: true });
    for (const file of output) write(join(draft, "dashboard", file.fileName), file.code ?? file.source);
    const libraries = librariesIn([...program, ...output]);
    writeFileSync(join(draft, "third-party.txt"), thirdParty(libraries));
    const bom = billOfMaterials(root, libraries);
    if (bom !== null) writeFileSync(join(draft, "sbom.json"), bom);
    if (again || !programIsThere(root)) putInPlace(draft, join(root, "dist"));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  linkBin(root);
}

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  // Packed once, here: the server sends it as it is to whoever takes it.
  if (/\.(html|js|css|json)$/.test(path)) writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
}

/** Drafts of builds that were killed. */
function sweep(root) {
  for (const name of readdirSync(root)) {
    const pid = /^dist\.(?:new|old)-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(root, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function putInPlace(draft, dist) {
  const old = `${dist}.old-${process.pid}`;
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(draft, dist);
  rmSync(old, { recursive: true, force: true });
}

/**
 * Makes `npx --no-install quotekeeper` work in a checkout: npm links the programs of dependencies into node_modules/.bin, but not a
 * package's own. Without the link npx would install the checkout into its cache first, slowly, and once for each path.
 */
function linkBin(root) {
  // On Windows a link needs rights that few users have; npx finds its own way there.
  if (process.platform === "win32") return;
  const link = join(root, "node_modules", ".bin", "quotekeeper");
  try {
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync("../../bin/quotekeeper.js", link);
  } catch {
    // The program is whole without it.
  }
}

const self = fileURLToPath(import.meta.url);
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === self) {
  const root = dirname(dirname(self));
  try {
    await build(root, { again: true });
  } catch (error) {
    process.stderr.write(`${whyNotBuilt(error, root)}\n`);
    process.exitCode = 1;
  }
}
