/** The instruments that were looked for last, kept in the browser. */
import { signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";

const KEY = "quotekeeper-recent";
const MOST = 8;

export const recent = signal<readonly string[]>(stored());

export function remember(name: string): void {
  recent.value = [name, ...recent.value.filter((each) => each !== name)].slice(0, MOST);
  keep(KEY, JSON.stringify(recent.value));
}

function stored(): string[] {
  try {
    const names: unknown = JSON.parse(kept(KEY) ?? "[]");
    return Array.isArray(names) ? names.filter((name) => typeof name === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}
