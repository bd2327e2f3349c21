/** COPY: the fastest way into a table. */
import { once } from "node:events";
import type pg from "pg";
import { from } from "pg-copy-streams";

/** How much text is sent at a time: the server reads one piece while the next is made. */
const PIECE_BYTES = 64 * 1024;

/**
 * Copies rows into a table.
 *
 * @param sql `copy table (columns) from stdin`
 * @param lines whole rows in COPY's text format, each with its line end
 * @returns how many rows the server took
 * @throws the database's error; the connection can be used on, its transaction has failed
 */
export async function copyInto(
  client: pg.ClientBase,
  sql: string,
  lines: Iterable<Uint8Array>,
): Promise<number> {
  const copy = client.query(from(sql));
  let failed = false;
  copy.once("error", () => (failed = true));
  // Rejects with the error of the stream, whenever that comes.
  const finished = once(copy, "finish");
  finished.catch(() => undefined);
  try {
    for (const piece of pieces(lines)) {
      // A piece written behind an error would find no connection.
      if (failed) break;
      if (!copy.write(piece)) await Promise.race([once(copy, "drain"), finished]);
    }
  } catch (error) {
    // The lines could not be made: the server is told that no more come, and answers with an error of its own.
    if (!failed) copy.destroy(error as Error);
    await finished.catch(() => undefined);
    throw error;
  }
  if (!failed) copy.end();
  await finished;
  return copy.rowCount;
}

/** Gathers small lines and cuts large ones. */
function* pieces(lines: Iterable<Uint8Array>): Generator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for (const line of lines)
    for (let at = 0; at < line.length; at += PIECE_BYTES) {
      const part = line.subarray(at, at + PIECE_BYTES);
      gathered.push(part);
      bytes += part.length;
      if (bytes < PIECE_BYTES) continue;
      yield Buffer.concat(gathered);
      [gathered, bytes] = [[], 0];
    }
  if (bytes > 0) yield Buffer.concat(gathered);
}
