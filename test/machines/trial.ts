/** One kind of machine, or one thing that is wrong with it, and how it is tried. */
export type Trial = {
  /** One word, to be given on the command line. */
  name: string;
  /** What is tried, one sentence; docs/machines.md has it word for word. */
  title: string;
  /**
   * Tries it below `dir`, which is empty, open to all users, and goes away afterwards.
   *
   * @returns what was seen, one sentence
   * @throws LeftOut where this machine lacks what it takes; anything else when it was not as promised
   */
  run: (tools: { dir: string; say: (line: string) => void }) => Promise<string>;
};

/** Thrown by a trial that cannot be made here; the message says what is missing. */
export class LeftOut extends Error {
  override readonly name = "LeftOut";
}
