/** A new file whose bytes are hashed as they are written, and are on the disk when it is closed. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { isRetryable } from "../../archive/connect/databaseError.ts";
import { QuotekeeperError } from "../../ground/errors.ts";

export type FileFacts = { bytes: number; sha256: string };

export type HashedFile = {
  /** Resolves when the bytes are written. They may be reused afterwards. */
  write: (bytes: Uint8Array) => Promise<void>;
  /** Puts it on the disk. */
  finish: () => Promise<FileFacts>;
  /** Closes the file as it is. May be called after `finish`. */
  abandon: () => Promise<void>;
};

/** @throws the error of the file system; also when there is such a file already */
export async function createHashedFile(path: string): Promise<HashedFile> {
  const file = await open(path, "wx");
  const hash = createHash("sha256");
  let bytes = 0;
  let isOpen = true;
  return {
    write: async (piece) => {
      hash.update(piece);
      let done = 0;
      while (done < piece.length) done += (await file.write(piece, done, piece.length - done)).bytesWritten;
      bytes += piece.length;
    },
    finish: async () => {
      await file.sync();
      await file.close();
      isOpen = false;
      return { bytes, sha256: hash.digest("hex") };
    },
    abandon: async () => {
      if (isOpen) await file.close().catch(() => undefined);
      isOpen = false;
    },
  };
}

/** Writes a new file of this text, and puts it on the disk. @throws as `createHashedFile` */
export async function writeSynced(path: string, text: string): Promise<void> {
  const file = await createHashedFile(path);
  try {
    await file.write(Buffer.from(text));
    await file.finish();
  } finally {
    await file.abandon();
  }
}

/**
 * Names the directory in errors of writing. Errors of the file system carry the operation that failed, as those of a broken
 * connection do; the database's own do not.
 */
export function namingWrites(
  out: string,
  code: "EXPORT_WRITE_FAILED" | "LAKE_WRITE_FAILED" = "EXPORT_WRITE_FAILED",
): (error: unknown) => never {
  return (error) => {
    const { syscall, code: reason, message } = error as NodeJS.ErrnoException;
    if (error instanceof QuotekeeperError || syscall === undefined || isRetryable(error)) throw error;
    throw new QuotekeeperError(code, `${out}: ${reason ?? message}`, { cause: error });
  };
}
