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
  let [isQuoted, isBlank] = [false, true];
  try {
    for await (const bytes of unpacked(file, input))
      for (const byte of bytes) {
        if (byte === QUOTE) isQuoted = !isQuoted;
        if (byte === NEWLINE && (isQuoted || isBlank)) return null;
        isBlank = byte === NEWLINE || (byte === RETURN && isBlank);
      }
  } catch {
    return null;
  } finally {
    input.destroy();
  }
  return skip + (header ? 1 : 0);
}
