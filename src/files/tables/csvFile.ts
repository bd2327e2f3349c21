/** One CSV file, RFC 4180: a heading, lines that end with CR LF. NULL is nothing, an empty text is `""`. */
import { createHashedFile, type FileFacts } from "./hashedFile.ts";

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Writes COPY's CSV into a file, and puts it on the disk.
 *
 * @param onRows hears how many lines were written, without the heading
 * @throws the file system's errors
 */
export async function writeCsvFile(
  path: string,
  bytes: AsyncIterable<Buffer>,
  onRows: (count: number) => void,
): Promise<FileFacts & { rows: number }> {
  const file = await createHashedFile(path);
  const toRfc4180 = createLineEnds();
  let lines = 0;
  try {
    for await (const piece of bytes) {
      const { text, ends } = toRfc4180(piece);
      await file.write(text);
      // The first line is the heading.
      onRows(lines === 0 && ends > 0 ? ends - 1 : ends);
      lines += ends;
    }
    return { rows: Math.max(0, lines - 1), ...(await file.finish()) };
  } finally {
    await file.abandon();
  }
}

/** Makes CR LF of PostgreSQL's line ends, which are LF. A line end within quotes belongs to a value, and stays as it is. */
export function createLineEnds(): (piece: Uint8Array) => { text: Uint8Array; ends: number } {
  let quoted = false;
  return (piece) => {
    const text = new Uint8Array(piece.length * 2);
    let length = 0;
    let ends = 0;
    for (const byte of piece) {
      // A quote within quotes is written twice, and so changes nothing.
      if (byte === QUOTE) quoted = !quoted;
      if (byte === LINE_FEED && !quoted) {
        text[length++] = CARRIAGE_RETURN;
        ends += 1;
      }
      text[length++] = byte;
    }
    return { text: text.subarray(0, length), ends };
  };
}
