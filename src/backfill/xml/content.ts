/** The bytes of one file or entry, uncompressed, and never more than an answer may have. */
import { MAX_BODY_BYTES } from "../../quotes-api/strictXml.ts";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

export type Content = { ok: true; bytes: Buffer } | { ok: false; problem: string };

/** Whether a name says that its content is compressed by itself. */
export function isGzip(path: string): boolean {
  return /\.gz$/iu.test(path);
}

export function gunzipped(bytes: Buffer): Promise<Content> {
  const gunzip = createGunzip();
  gunzip.end(bytes);
  return collect(gunzip);
}

/** The content of a stream; `path` says whether it is gzip. */
export async function uncompressed(path: string, stream: Readable): Promise<Content> {
  if (!isGzip(path)) return collect(stream);
  const gunzip = createGunzip();
  stream.on("error", (error) => gunzip.destroy(error));
  const content = await collect(stream.pipe(gunzip));
  stream.destroy();
  return content;
}

/** All bytes of a stream, as long as they are an answer's: what grows beyond is given up, not held. */
async function collect(stream: Readable): Promise<Content> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += (chunk as Buffer).length;
      if (size > MAX_BODY_BYTES) return tooLarge(size);
      chunks.push(chunk as Buffer);
    }
    return { ok: true, bytes: Buffer.concat(chunks) };
  } catch (error) {
    return { ok: false, problem: reason(error) };
  } finally {
    stream.destroy();
  }
}

/** What is said of content that cannot be an answer. */
export function tooLarge(size: number): Content {
  return { ok: false, problem: `${size} bytes and perhaps more: no answer is larger than ${MAX_BODY_BYTES}` };
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
