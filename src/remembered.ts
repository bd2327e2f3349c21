/**
 * A pure function with a memory of its answers, which changes how fast it answers and nothing else. The memory is
 * emptied when it holds `most` answers, so it stays bounded.
 */
export function remembered<Key extends string | number, Value>(
  most: number,
  answer: (key: Key) => Value,
): (key: Key) => Value {
  const answers = new Map<Key, Value>();
  return (key) => {
    const known = answers.get(key);
    if (known !== undefined) return known;
    if (answers.size >= most) answers.clear();
    const value = answer(key);
    answers.set(key, value);
    return value;
  };
}

/** As `remembered`, by the identity of a value that never changes; what is let go of elsewhere is forgotten here. */
export function rememberedOf<Key extends object, Value>(answer: (key: Key) => Value): (key: Key) => Value {
  const answers = new WeakMap<Key, Value>();
  return (key) => {
    const known = answers.get(key);
    if (known !== undefined) return known;
    const value = answer(key);
    answers.set(key, value);
    return value;
  };
}
