/** Whether rows need a mark of where they come from. Pure. */

/** Where what is shown comes from more than one source, by kind or id: then each row says from which. */
export function isMixed(sources: readonly (number | string)[]): boolean {
  return sources.some((source) => source !== sources[0]);
}
