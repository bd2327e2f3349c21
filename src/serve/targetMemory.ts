/** Targets of calls that are remembered: those of many callers who each ask the same again and again. */
const MOST_TARGETS = 1_000;

/** A longer target, in characters, is not worth its room. */
const LONGEST_TARGET = 2_048;

/** What follows from targets, of those that were found worth remembering. */
type TargetMemory<Value> = {
  find: (target: string) => Value | undefined;
  /** Keeps it, unless its target comes once: it is long, or the call is signed in its query. */
  keep: (target: string, value: Value) => void;
};

/** A memory of what follows from the target of a call alone. Callers of quotes ask for the same ones each minute. */
export function createTargetMemory<Value>(): TargetMemory<Value> {
  const known = new Map<string, Value>();
  return {
    find: (target) => known.get(target),
    keep: (target, value) => {
      if (target.length > LONGEST_TARGET || target.includes("oauth_")) return;
      if (known.size >= MOST_TARGETS) known.clear();
      known.set(target, value);
    },
  };
}
