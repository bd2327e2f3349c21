/** The bytes of a file that may be packed by gzip. */
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** Unpacks what its name says is packed. @param input the file's own bytes, whose errors are passed on */
export function unpacked(file: string, input: Readable): AsyncIterable<Buffer> {
  if (!/\.gz$/iu.test(file)) return input;
  const gunzip = createGunzip();
  input.on("error", (error) => gunzip.destroy(error));
  return input.pipe(gunzip);
}
