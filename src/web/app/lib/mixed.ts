/** Whether rows need a mark of where they come from. */
import type { SourceKind } from "../../api/types.ts";
import { simulated } from "./store.ts";

/** Not where all are of one kind and the bar on top says it: SIMULATED there counts as a kind. */
export function isMixed(kinds: Iterable<SourceKind>): boolean {
  const all = new Set(kinds);
  if (simulated.value) all.add("simulated");
  return all.size > 1;
}
