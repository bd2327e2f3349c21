/** PostgreSQL's COPY text read back: a row a line, its values between tabs. PostgreSQL manual, COPY, "Text Format". */

const LINE_END = 0x0a;

const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** Whole lines, as they come, in blocks; none is cut, however the pieces are. */
export async function* copyLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: Buffer[] = [];
  for await (const piece of bytes) {
    const end = piece.lastIndexOf(LINE_END);
    if (end < 0) {
      rest.push(piece);
      continue;
    }
    const whole = Buffer.concat([...rest, piece.subarray(0, end)]);
    rest = end + 1 < piece.length ? [piece.subarray(end + 1)] : [];
    yield whole.toString("utf8").split("\n");
  }
}

/** The values of a line; NULL, which is `\N`, is null. */
export function copyValues(line: string): (string | null)[] {
  const values: (string | null)[] = line.split("\t");
  if (!line.includes("\\")) return values;
  return values.map((value) => (value === "\\N" || value === null ? null : unescaped(value)));
}

function unescaped(value: string): string {
  return value.includes("\\")
    ? value.replace(/\\(.)/gs, (_, letter: string) => ESCAPED[letter] ?? letter)
    : value;
}
