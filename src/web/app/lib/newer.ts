/** A newer page than this one: the server has another script. It is told, and loaded when nothing is being typed. */
import { signal } from "@preact/signals";
import type { PageFacts } from "../../api/types.ts";

/** Version of the server whose page is newer than this one; null: none is. */
export const newer = signal<string | null>(null);

/** Long enough to be read, ms. */
const TOLD_MS = 3_000;

const OWN = /[^/]+$/.exec(document.querySelector<HTMLScriptElement>("script[src]")?.src ?? "")?.[0];

const TYPED = "input:not([type=range]), textarea, select";
const isTyping = (): boolean => Boolean(document.activeElement?.closest(TYPED));

export function reloadWhenNewer({ script, version }: PageFacts): void {
  if (script === null || OWN === undefined || script === OWN) return;
  if (newer.value === null) setTimeout(tryToReload, TOLD_MS);
  newer.value = version;
}

function tryToReload(): void {
  if (isTyping()) setTimeout(tryToReload, TOLD_MS);
  else location.reload();
}
