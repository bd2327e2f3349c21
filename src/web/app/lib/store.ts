/** What all views share: the frame, the Now view, and whether they can be had; `pageFeed.ts` keeps them up to date. */
import { computed, signal } from "@preact/signals";
import type { Meta, NowView, Problem } from "../../api/types.ts";
import { AWAY } from "./api.ts";
import { sight } from "./pageLine.ts";

export const meta = signal<Meta | null>(null);
export const now = signal<NowView | null>(null);
/** Keys of the quotes that the last event brought. */
export const changed = signal<ReadonlySet<string>>(new Set());
/** Why the shared data could not be read when it was last tried; null: it was read. */
export const readTrouble = signal<Problem | null>(null);
/** What is wrong with the whole page; null when all is well. */
export const trouble = computed(() => (sight.value === "away" ? AWAY : readTrouble.value));
export const isOld = computed(() => sight.value === "stale" || sight.value === "away");
/** Whether something may be called well: not by old numbers, nor below a banner that needs a person. */
export const mayBeWell = computed(() => !isOld.value && trouble.value?.person !== true);

/** Whether anything of the archive, or the market that is polled, is made up. */
export const simulated = computed(() => meta.value?.simulated === true);

/** Whether the archive has quotes of several sources: then a view whose rows are all of one says of which. */
export const several = computed(() => meta.value?.mixed === true);
