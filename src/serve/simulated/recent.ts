/**
 * A pure function with a memory of its last few answers: real-time and delayed quotes are asked for in turn, and each
 * stays the same for a step of the market.
 */
export function recent<Value>(most: number, answer: (key: number) => Value): (key: number) => Value {
  const keys: number[] = [];
  const values: Value[] = [];
  let next = 0;
  return (key) => {
    const place = keys.indexOf(key);
    if (place >= 0) return values[place] as Value;
    const value = answer(key);
    keys[next] = key;
    values[next] = value;
    next = (next + 1) % most;
    return value;
  };
}
