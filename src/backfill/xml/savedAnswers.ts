/** Finds saved answers in files, each with the time at which it was received. */
import { basename } from "node:path";
import type { SavedCall } from "../../quotes/call.ts";
import type { Instant } from "../../ground/clock.ts";
import { cutText } from "../../ground/outsideText.ts";
import { isHelperFile, openFile } from "../../ground/plainFiles.ts";
import { unpacked } from "../../ground/unpacked.ts";
import { MAX_BODY_BYTES } from "../../services/bodyText.ts";
import { hashOf, uuidOf } from "../files/piece.ts";
import type { UnplacedPiece } from "../files/placeInTime.ts";
import { findFiles, type FoundFile, howToUnpack } from "./findFiles.ts";
import {
  createTimeFinder,
  isSidecar,
  MAX_SIDECAR_BYTES,
  readSidecar,
  sidecarPaths,
  type Way,
} from "./savedTime.ts";

type SearchOptions = {
  paths: readonly string[];
  timePattern: string | null;
  name: string;
  delayed: boolean;
  from: Instant | null;
  to: Instant | null;
  /** Told of every file, in order. */
  onFile: (fate: FileFate) => void;
};

/** What a file turned out to be. */
export type FileFate =
  /** `outside`: received before `from`, or not before `to`. */
  | { fate: "answer" | "outside"; path: string; way: Way; at: Instant }
  /** `sidecar` says when the answer beside it was received; `passed` is a link or a device. */
  | { fate: "sidecar" | "foreign" | "passed"; path: string }
  | { fate: "unreadable"; path: string; problem: string; bytes: number };

/** Answers that were found together, and how many bytes of the files on disk were read up to here. */
type SavedBatch = { answers: UnplacedPiece[]; doing: string; done: number };

/** Answers of a batch, at most, and bytes of their bodies. */
const BATCH_ANSWERS = 250;
const BATCH_BYTES = 4 * 1024 * 1024;

/**
 * @throws QuotekeeperError USAGE for a pattern that is none; BACKFILL_NOTHING for a path that is not there
 */
export async function* savedAnswers(options: SearchOptions): AsyncGenerator<SavedBatch, void> {
  const search = new Search(options);
  let batch: SavedBatch = { answers: [], doing: "", done: 0 };
  let bytes = 0;
  let done = 0;
  const onPassed = (path: string): void => options.onFile({ fate: "passed", path });
  for await (const file of findFiles(options.paths, onPassed)) {
    const answer = await search.answerOf(file);
    if (answer !== null) {
      batch.answers.push(answer);
      bytes += answer.body.length;
    }
    if (batch.answers.length >= BATCH_ANSWERS || bytes >= BATCH_BYTES) {
      yield { ...batch, doing: basename(file.path), done };
      [batch, bytes] = [{ answers: [], doing: "", done }, 0];
    }
    done += file.bytes;
    batch = { ...batch, doing: basename(file.path), done };
  }
  yield { ...batch, done };
}

class Search {
  readonly #options: SearchOptions;
  readonly #timeOf: ReturnType<typeof createTimeFinder>;

  constructor(options: SearchOptions) {
    this.#options = options;
    this.#timeOf = createTimeFinder(options.timePattern);
  }

  async answerOf(file: FoundFile): Promise<UnplacedPiece | null> {
    const { onFile, name, delayed, from, to } = this.#options;
    const { path, named, bytes } = file;
    if (!named && isHelperFile(path)) return (onFile({ fate: "foreign", path }), null);
    if (isSidecar(path)) return (onFile({ fate: "sidecar", path }), null);
    const packed = howToUnpack(path);
    const content = packed === null ? await readContent(file) : { ok: false as const, problem: packed };
    const called = named || /\.xml(\.gz)?$/iu.test(path);
    if (!content.ok) {
      const { problem } = content;
      const meant = called || packed !== null || /\.gz$/iu.test(path);
      onFile(meant ? { fate: "unreadable", path, problem, bytes } : { fate: "foreign", path });
      return null;
    }
    if (!called && !looksLikeAnswer(content.bytes)) return (onFile({ fate: "foreign", path }), null);
    const { at, way } = this.#timeOf({ ...file, sidecar: await sidecarOf(path) });
    const outside = (from !== null && at < from) || (to !== null && at >= to);
    onFile({ fate: outside ? "outside" : "answer", path, way, at });
    if (outside) return null;
    const request: SavedCall = { form: "saved", file: basename(path), delayed };
    const requestId = uuidOf(hashOf(["saved", name, at, content.bytes]));
    return { requestId, foundAt: at, request, body: kept(content.bytes) };
  }
}

type Content = { ok: true; bytes: Buffer } | { ok: false; problem: string };

/** All bytes of a file, uncompressed, as long as they are an answer's: what grows beyond is given up, not held. */
async function readContent({ path, named }: FoundFile): Promise<Content> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const input = (await openFile(path, { links: named })).createReadStream();
    try {
      for await (const chunk of unpacked(path, input)) {
        size += chunk.length;
        chunks.push(chunk);
        if (size <= MAX_BODY_BYTES) continue;
        const problem = `${size} bytes and perhaps more: no answer is larger than ${MAX_BODY_BYTES}`;
        return { ok: false, problem };
      }
    } finally {
      input.destroy();
    }
    return { ok: true, bytes: Buffer.concat(chunks) };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}

/** What is kept of a file that is no answer, in characters: enough to see what it is, and not somebody's secrets. */
const KEPT_CHARACTERS = 200;

/** A whole answer, valid or not; of other content the first bytes. */
function kept(bytes: Buffer): Buffer {
  const start = bytes.subarray(0, 4_096).toString("utf8");
  if (/^\u{feff}?\s*(<\?xml[^>]*>\s*)?(<!--[^]*?-->\s*)*<response[\s/>]/u.test(start)) return bytes;
  return Buffer.from(cutText(start, KEPT_CHARACTERS));
}

/** Whether a file that is not called XML begins like an answer. */
function looksLikeAnswer(bytes: Buffer): boolean {
  return /^\u{feff}?\s*<(\?xml|response[\s>])/u.test(bytes.subarray(0, 256).toString("utf8"));
}

async function sidecarOf(path: string): Promise<Instant | null> {
  for (const beside of sidecarPaths(path)) {
    const file = await openFile(beside, { links: false }).catch(() => null);
    if (file === null) continue;
    try {
      if ((await file.stat()).size > MAX_SIDECAR_BYTES) continue;
      const at = readSidecar(beside, await file.readFile());
      if (at !== null) return at;
    } finally {
      await file.close();
    }
  }
  return null;
}
