/** One kind of machine, or one thing that is wrong with it, and how it is tried. */
export type Trial = {
  /** One word, to be given on the command line. */
  name: string;
  /** What is tried, one sentence; docs/makers/machines.md has it word for word. */
  title: string;
  /**
   * Tries it below `dir`, which is empty, open to all users, and goes away afterwards.
   *
   * @returns what was seen, one sentence
   * @throws LeftOut where this machine lacks what it takes; anything else when it was not as promised
   */
  run: (tools: TrialTools) => Promise<string>;
};

/** What a trial is given, and what the command line wishes; few trials look at wishes. */
export type TrialTools = {
  dir: string;
  say: (line: string) => void;
  /** Servers to make databases on; none: an embedded one. */
  servers: readonly string[];
  /** Quotes of an archive to begin with. */
  quotes: number;
  /** Where checkouts of earlier releases are, or are made and stay; undefined: below `dir`. */
  checkouts: string | undefined;
};

/** Thrown by a trial that cannot be made here; the message says what is missing. */
export class LeftOut extends Error {
  override readonly name = "LeftOut";
}
