/** Watchlists, and the text in which the browser keeps them and people take them along. Pure. */
import { MOST_NAMES } from "../../api/quoteTable.ts";
import { COLUMNS } from "./watchColumns.ts";

/** One list. `instruments` by name and `columns` by key, both in order. */
export type Watchlist = { name: string; instruments: readonly string[]; columns: readonly string[] };

const FORMAT = "quotekeeper watchlists";
const VERSION = 1;
const MOST_LISTS = 100;
const LONGEST_NAME = 60;

export function writeWatchlists(watchlists: readonly Watchlist[]): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, watchlists }, null, 2)}\n`;
}

/** Reads such a text. @returns the lists, or the first thing that is wrong with it */
export function readWatchlists(text: string): readonly Watchlist[] | string {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return "the file is not JSON";
  }
  const { format, version, watchlists } = (file ?? {}) as Record<string, unknown>;
  if (format !== FORMAT) return `format is ${shown(format)}, expected "${FORMAT}"`;
  if (version !== VERSION) return `version is ${shown(version)}, expected ${VERSION}`;
  if (!Array.isArray(watchlists)) return `watchlists is ${shown(watchlists)}, expected a list`;
  if (watchlists.length > MOST_LISTS)
    return `watchlists has ${watchlists.length} lists, expected at most ${MOST_LISTS}`;
  const wrong = watchlists.map((list, place) => wrongOf(list, `watchlists[${place}]`)).find(Boolean);
  if (wrong) return wrong;
  const lists = watchlists as Watchlist[];
  const twice = firstTwice(lists.map(({ name }) => name));
  if (twice !== null) return `two watchlists have the name ${shown(twice)}`;
  return lists.map(({ name, instruments, columns }) => ({ name, instruments, columns }));
}

function wrongOf(list: unknown, where: string): string | null {
  const { name, instruments, columns } = (list ?? {}) as Record<string, unknown>;
  const badName = typeof name === "string" ? wrongName(name) : `is ${shown(name)}, expected a text`;
  if (badName !== null) return `${where}.name ${badName}`;
  return (
    wrongTexts(instruments, `${where}.instruments`, (text) =>
      isInstrument(text) ? null : "expected a name such as AAPL or AAPL:2026-12-18:CALL:150",
    ) ??
    wrongTexts(columns, `${where}.columns`, (text) =>
      COLUMNS.some(({ key }) => key === text)
        ? null
        : `expected one of ${COLUMNS.map(({ key }) => key).join(", ")}`,
    ) ??
    (Array.isArray(instruments) && instruments.length > MOST_NAMES
      ? `${where}.instruments has ${instruments.length}, expected at most ${MOST_NAMES}`
      : null)
  );
}

function wrongTexts(list: unknown, where: string, wrong: (text: string) => string | null): string | null {
  if (!Array.isArray(list)) return `${where} is ${shown(list)}, expected a list`;
  for (const [place, text] of list.entries()) {
    const why = typeof text === "string" ? wrong(text) : "expected a text";
    if (why !== null) return `${where}[${place}] is ${shown(text)}, ${why}`;
  }
  const twice = firstTwice(list as string[]);
  return twice === null ? null : `${where} has ${shown(twice)} twice`;
}

/** Why a list cannot have this name; null: it can. */
export function wrongName(name: string): string | null {
  if (name.trim() === "") return "is empty, expected a text";
  if (name !== name.trim() || name.length > LONGEST_NAME || /\p{Cc}/u.test(name))
    return `is ${shown(name)}, expected at most ${LONGEST_NAME} characters on one line, without a space at its ends`;
  return null;
}

// A comma parts names where several are asked for.
const isInstrument = (text: string): boolean => /^[^\p{Cc},]{1,100}$/u.test(text);

function firstTwice(texts: readonly string[]): string | null {
  return texts.find((text, place) => texts.indexOf(text) !== place) ?? null;
}

/** A value as it stands in the file, not longer than a line. */
function shown(value: unknown): string {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** The same list with one element at another place. */
export function movedTo<T>(list: readonly T[], from: number, to: number): T[] {
  const rest = list.filter((_, place) => place !== from);
  const element = list[from];
  if (element !== undefined) rest.splice(Math.min(rest.length, Math.max(0, to)), 0, element);
  return rest;
}
