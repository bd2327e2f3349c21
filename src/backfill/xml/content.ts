/** The bytes of a file, uncompressed, and never more than an answer may have; or why there are none. */
import { openFile } from "../../ground/plainFiles.ts";
import type { FoundFile } from "./findFiles.ts";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { MAX_BODY_BYTES } from "../../services/bodyText.ts";

type Content = { ok: true; bytes: Buffer } | { ok: false; problem: string };

/** Its name says whether it is gzip. */
export async function readContent({ path, named }: FoundFile): Promise<Content> {
  try {
    const stream = (await openFile(path, { links: named })).createReadStream();
    return await (/\.gz$/iu.test(path) ? collectUnzipped(stream) : collect(stream));
  } catch (error) {
    return { ok: false, problem: reason(error) };
  }
}

async function collectUnzipped(stream: Readable): Promise<Content> {
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
      if (size > MAX_BODY_BYTES) {
        const problem = `${size} bytes and perhaps more: no answer is larger than ${MAX_BODY_BYTES}`;
        return { ok: false, problem };
      }
      chunks.push(chunk as Buffer);
    }
    return { ok: true, bytes: Buffer.concat(chunks) };
  } catch (error) {
    return { ok: false, problem: reason(error) };
  } finally {
    stream.destroy();
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
