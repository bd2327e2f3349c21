/** What all views share: the Now view, which has the page's frame too, and whether what is shown may be believed. `newest.ts` keeps it up to date. */
import { computed, signal } from "@preact/signals";
import type { NowView } from "../../api/types.ts";
import { AWAY } from "./api.ts";
import { sight } from "./pageLine.ts";
import { troubles } from "./useApi.ts";

export const now = signal<NowView | null>(null);

/** What the page's frame has; null until the first answer. */
export const page = computed(() => now.value?.page ?? null);

/** What is wrong with the whole page; null when all is well. */
export const trouble = computed(() =>
  sight.value === "away" ? AWAY : ([...troubles.value.values()][0] ?? null),
);

/** Whether numbers may be old: the server is not heard, or rows cannot be read. */
export const isOld = computed(
  () => sight.value === "stale" || sight.value === "away" || troubles.value.size > 0,
);

/** Whether something may be called well: not by old numbers. */
export const mayBeWell = computed(() => !isOld.value);

/** Whether anything of the archive, or the market that is polled, is made up. */
export const simulated = computed(() => page.value?.simulated === true);

/** Whether the archive has quotes of several sources: then a view whose rows are all of one says of which. */
export const several = computed(() => page.value?.mixed === true);
