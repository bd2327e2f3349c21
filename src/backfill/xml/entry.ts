/** An entry of a file that holds answers, whatever the kind of file. */
import type { Instant } from "../../clock.ts";
import type { Content } from "./content.ts";

/** One file, or one entry of an archive. */
export type Entry = {
  /** Where it was found; names inside archives are names and nothing more: nothing is ever written there. */
  path: string;
  mtime: Instant;
  /** Its bytes, uncompressed; to be asked for before the next entry is. */
  read: () => Promise<Content>;
};

/**
 * What an archive holds; `passed` is a link or a device, and `broken` ends it when the rest of it cannot be read.
 */
export type Found =
  | { kind: "entry"; entry: Entry }
  | { kind: "passed"; path: string }
  | { kind: "broken"; path: string; problem: string };
