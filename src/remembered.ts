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
