/**
 * Remembers the answers of a pure function, which changes its speed and nothing else. The memory is emptied when it
 * holds `most` answers.
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

/** Like `remembered`, by the identity of a value that never changes. An answer is forgotten together with its value. */
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
