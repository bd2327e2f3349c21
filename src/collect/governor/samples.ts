/**
 * What the samples of a second client show together. The list is long where a second client is about, and is asked
 * several times before it changes: what does not hang on the instant is found once for each list.
 */
import type { GovernorConfig, GovernorState, SecondClientSample } from "./state.ts";
import { remembered, rememberedOf } from "../../ground/remembered.ts";

/**
 * Assumed: a client seen in four of fifteen windows comes each minute; seen less often it is a chance visit. It takes
 * what a quarter of those windows showed: few of many, because a client that we crowd out shows less than it asks for.
 */
export const REMEMBERED_WINDOWS = 15;
const REGULAR_WINDOWS = 4;
const REGULAR_SHARE = 0.25;

/** Assumed: a client of which half the calls appear at once makes them all at once. */
export const AT_ONCE_SHARE = 0.5;

/**
 * Assumed: calls that appear between two answers less than a quarter of the window apart were made at once. After a
 * longer silence as many appear of a client that comes evenly, too.
 */
const AT_ONCE_SPAN = 0.25;

/** Calls that appeared between two readings. */
export type Appearance = Pick<SecondClientSample, "atMs" | "spanMs" | "appearedCount">;

export type SampleCounts = {
  /** All of them, and those that come each window. */
  readonly secondCount: number;
  readonly regularCount: number;
  readonly comeAtOnce: boolean;
};

type SampleSummary = {
  /** The samples that are held beyond the last one. */
  readonly held: readonly SecondClientSample[];
  readonly seenAt: (atMs: number) => SampleCounts;
};

const shownIn = rememberedOf(({ windowMs }: GovernorConfig) =>
  rememberedOf((samples: readonly SecondClientSample[]): SampleSummary => {
    const lastAtMs = samples.at(-1)?.atMs ?? 0;
    const held = samples.filter(({ holdsUntilMs }) => holdsUntilMs > lastAtMs);
    const atOnceCount = Math.max(samples.at(-1)?.atOnceCount ?? 0, mostAtOnce(samples, windowMs));
    const seenAt = (atMs: number): SampleCounts => {
      const regularCount = regular(mostOfWindows(samples, windowMs, atMs));
      const secondCount = Math.max(heldCount(held, atMs), regularCount);
      return { secondCount, regularCount, comeAtOnce: atOnceCount >= AT_ONCE_SHARE * secondCount };
    };
    return { held, seenAt: remembered(1, seenAt) };
  }),
);

/** What the samples show at `atMs`: what was seen lately, or in so many windows that it will come again. */
export function seenAt({ samples, config }: GovernorState, atMs: number): SampleCounts {
  return shownIn(config)(samples).seenAt(atMs);
}

/** When the calls a window that are ours next become more, if nothing new is learnt: when a sample is held no longer. */
export function capChangesAtMs({ samples, config }: GovernorState, atMs: number): number {
  return shownIn(config)(samples).held.reduce(
    (next, { holdsUntilMs }) => (holdsUntilMs > atMs ? Math.min(next, holdsUntilMs) : next),
    Infinity,
  );
}

/** The most calls a window of the samples that are held at `atMs`; 0 when none is. */
function heldCount(held: readonly SecondClientSample[], atMs: number): number {
  return held.reduce(
    (most, { holdsUntilMs, windowCount }) => (holdsUntilMs > atMs ? Math.max(most, windowCount) : most),
    0,
  );
}

/** The most calls of each of the last windows before `atMs`, the latest window first. */
function mostOfWindows(samples: readonly SecondClientSample[], windowMs: number, atMs: number): number[] {
  const mostOfWindow = Array<number>(REMEMBERED_WINDOWS).fill(0);
  let at = samples.length;
  for (let age = 0; age < REMEMBERED_WINDOWS; age += 1) {
    const beginsMs = atMs - (age + 1) * windowMs;
    let most = 0;
    while (at > 0) {
      const { atMs: sampledAtMs, windowCount } = samples[at - 1] as SecondClientSample;
      if (sampledAtMs <= beginsMs) break;
      most = Math.max(most, windowCount);
      at -= 1;
    }
    mostOfWindow[age] = most;
  }
  return mostOfWindow;
}

/** What other programs took in so many windows that they will take it again. */
function regular(mostOfWindow: readonly number[]): number {
  const seen = mostOfWindow.filter((count) => count > 0).sort((a, b) => b - a);
  return seen.length < REGULAR_WINDOWS ? 0 : (seen[Math.floor(REGULAR_SHARE * seen.length)] ?? 0);
}

/** Calls that appeared between two answers close to each other. */
export function appearedAtOnce({ spanMs, appearedCount }: Appearance, windowMs: number): number {
  return spanMs < AT_ONCE_SPAN * windowMs ? appearedCount : 0;
}

export function mostAtOnce(samples: readonly Appearance[], windowMs: number): number {
  return samples.reduce((most, sample) => Math.max(most, appearedAtOnce(sample, windowMs)), 0);
}
