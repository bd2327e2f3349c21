/** The page's own line to its server: what is known of it now. `line.ts` decides, `newest.ts` asks. */
import { computed, signal } from "@preact/signals";
import { answered, beginLine, broke, heard, type Line, look } from "./line.ts";
import { pageMs } from "./pageClock.ts";

const LOOK_EVERY_MS = 1_000;

const line = signal(beginLine(pageMs()));

export const sight = computed(() => line.value.sight);

/** When the Now view last came, by the page's clock, epoch ms; null: it has not. */
export const heardMs = computed(() => line.value.heardMs);

const CHANGES = { heard, answered, broke } satisfies Record<string, (line: Line, nowMs: number) => Line>;

export function note(change: keyof typeof CHANGES): void {
  line.value = CHANGES[change](line.value, pageMs());
}

export function watchLine(): void {
  setInterval(() => (line.value = look(line.value, pageMs())), LOOK_EVERY_MS);
}
