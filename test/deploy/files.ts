import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** A file of the checkout. */
export function fileText(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
}

/** A YAML file of the checkout; anchors and merges are resolved. */
export function yamlOf<T>(path: string): T {
  return parse(fileText(path), { merge: true }) as T;
}
