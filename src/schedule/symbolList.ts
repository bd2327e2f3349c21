/** Lists of symbols in files of their own, which job files and commands name. */
import type { FileProblem } from "../config/yamlFile.ts";
import { type Bounds, readTextFile } from "../ground/plainFiles.ts";
import { isSymbol, namedSymbol, SYMBOL_FORM } from "../market/instrument.ts";
import { MAX_SYMBOLS } from "./jobSchema.ts";

/** The lines of a list elsewhere would be polled and kept, and the writer of a job file may have no right to it. */
export const OUTSIDE = "outside the jobs directory: move it there";

/** Null where something is wrong with the file. */
export async function readList(
  path: string,
  bounds: Bounds,
  told: (option: string, message: string) => void,
): Promise<{ path: string; symbols: string[] | null; problems: FileProblem[] }> {
  try {
    const { symbols: placed, wrong } = readSymbols(await readTextFile(path, { bounds }));
    const symbols = [...placed.keys()];
    if (symbols.length === 0 && wrong.length === 0)
      told("symbolsFile", `symbolsFile ${path} holds no symbol`);
    const problems = wrong.map((bad) => ({ file: path, ...bad }));
    return { path, symbols: wrong.length === 0 && symbols.length > 0 ? symbols : null, problems };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    told("symbolsFile", `symbolsFile ${path} cannot be read (${code})`);
    return { path, symbols: null, problems: [] };
  }
}

/** Most wrong lines of a list that are reported: a file of something else has nothing but wrong lines. */
const MOST_WRONG = 20;

/**
 * Symbols of a list: one a line or separated by commas. A `#` begins a comment at a line's start and behind white
 * space; elsewhere it belongs to the symbol, as in `ABC#` (when issued).
 *
 * @param isRight whether a word, in capitals, may stand in the list
 * @returns each symbol once, in capitals, with its first line; a problem names its line alone, for the file may be one
 *   of secrets
 */
export function readSymbols(
  text: string,
  isRight: (word: string) => boolean = isSymbol,
): {
  symbols: Map<string, number>;
  wrong: { line: number; message: string }[];
} {
  const symbols = new Map<string, number>();
  const wrong: { line: number; message: string }[] = [];
  let line = 0;
  for (const content of text.split(/\r\n?|\n/)) {
    line++;
    for (const word of content.replace(/(?<!\S)#.*/, "").split(",")) {
      const symbol = namedSymbol(word.trim());
      if (symbol === "" || symbols.has(symbol)) continue;
      if (wrong.length === MOST_WRONG) return { symbols, wrong };
      if (!isRight(symbol)) wrong.push({ line, message: NO_SYMBOL });
      else if (symbols.size < MAX_SYMBOLS) symbols.set(symbol, line);
      else return { symbols, wrong: [{ line, message: `here are more than ${MAX_SYMBOLS} symbols` }] };
    }
  }
  return { symbols, wrong };
}

const NO_SYMBOL = `this is no symbol: expected one a line, or commas between them, each of ${SYMBOL_FORM}`;
