/** Whether the program was built, and what to do where it was not. Nothing here needs a library. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

/** Whether the build has left a program. A file without content, as a full disk leaves it, is none. */
export function programIsThere(root) {
  return (statSync(join(root, "dist", "cli", "main.js"), { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Whether this is a checkout, and so can be built; a package that was installed comes with its program. */
export function isCheckout(root) {
  return existsSync(join(root, "src")) && existsSync(join(root, "scripts", "build.js"));
}

/** Why the build failed and what to do, by the error's code. */
export function whyNotBuilt(error, root) {
  const again = `run \`npm run build\` in ${root}`;
  switch (error.code) {
    case "ENOSPC":
    case "EDQUOT":
      return `quotekeeper could not be built: the disk of ${root} is full (${error.code}). Free 10 MB and ${again}.`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `quotekeeper is not built, and ${root} cannot be written (${error.code}): ${again} as a user who may write there.`;
    case "ERR_MODULE_NOT_FOUND":
      return `quotekeeper is not built, and what builds it is not installed: run \`npm ci --include=dev --include=optional\` in ${root}.`;
    default:
      return `quotekeeper could not be built: ${error.message}\nCorrect that and ${again}; if the sources are as they were released, this is a defect of quotekeeper.`;
  }
}

/** Why a program that is there does not run, and what to do; null when it is no matter of how it was built or installed. */
export function whyNotRun(error, root) {
  const remedy = isCheckout(root)
    ? `\`npm ci\` in ${root}`
    : "the installation again (`npm install --global quotekeeper`)";
  if (error.code === "ERR_MODULE_NOT_FOUND" && /package '/.test(error.message))
    return `A library that quotekeeper needs is not installed (${error.message.split(" imported")[0]}): run ${remedy}.`;
  if (error.code === "ERR_MODULE_NOT_FOUND" || error instanceof SyntaxError)
    return `The program in ${join(root, "dist")} is not whole (${error.message.split("\n")[0]}): run ${remedy}.`;
  return null;
}
