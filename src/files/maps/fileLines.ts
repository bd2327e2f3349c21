/** At which lines the rows of a CSV file stand, where that can be told. */
import { openFile } from "../../ground/plainFiles.ts";
import type { Reading } from "./mapInput.ts";
import { unpacked } from "../../ground/unpacked.ts";

const [QUOTE, NEWLINE, RETURN] = [0x22, 0x0a, 0x0d];

/**
 * How many lines stand before the first row of a file whose rows are one line each; null: blank lines or line feeds within quotes
 * are among them, it is no CSV, or it cannot be read to its end, which DuckDB's own reading tells.
 */
export async function linesBefore(
  file: string,
  { skip, header, comment }: Pick<Reading, "skip" | "header" | "comment">,
): Promise<number | null> {
  if (comment !== undefined || /\.parquet$/iu.test(file)) return null;
  const input = (await openFile(file)).createReadStream();
  const lines = new Lines();
  try {
    for await (const bytes of unpacked(file, input)) if (!lines.areRows(bytes)) return null;
  } catch {
    return null;
  } finally {
    input.destroy();
  }
  return skip + (header ? 1 : 0);
}

/** Whether each line so far was a row. */
class Lines {
  #isQuoted = false;
  #isBlank = true;

  areRows(bytes: Buffer): boolean {
    const isPlain = !this.#isQuoted && !bytes.includes(QUOTE);
    if (isPlain) return this.#ofPlain(bytes);
    for (const byte of bytes) {
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      if (byte === NEWLINE && (this.#isQuoted || this.#isBlank)) return false;
      this.#isBlank = byte === NEWLINE || (byte === RETURN && this.#isBlank);
    }
    return true;
  }

  #ofPlain(bytes: Buffer): boolean {
    if (this.#isBlank && (bytes[0] === NEWLINE || (bytes[0] === RETURN && bytes[1] === NEWLINE)))
      return false;
    if (bytes.includes("\n\n") || bytes.includes("\n\r\n")) return false;
    const last = bytes.at(-1);
    this.#isBlank = last === NEWLINE || (last === RETURN && bytes.at(-2) === NEWLINE);
    return true;
  }
}
