/** The search of Help: which sections of the documentation hold all words of a question, the likeliest first. */

/** A page of the documentation, as the build leaves it: `html` is what stands below the title. */
export type HelpPage = { title: string; html: string };

/** What Help knows of all pages before it has loaded one. */
export type HelpIndex = {
  /** In the order of the documentation's first page. `slug` is the page's name in `/help/SLUG`; the first page's is empty. */
  pages: { slug: string; title: string }[];
  /** Places in `pages`, and the heading below which a section stands; a page's beginning has no anchor. */
  sections: { page: number; anchor: string; heading: string }[];
  /** By word, in small letters: places in `sections`, ascending. */
  words: Record<string, number[]>;
  /** Terms of the glossary, each as its words in small letters: the place in `sections` that explains it. */
  terms: Record<string, number>;
};

/** A section that answers; `heading` is empty at a page's beginning. */
export type Hit = { slug: string; title: string; anchor: string; heading: string };

export const MOST_HITS = 20;

/** From this length on, a word is also found inside of others: `url` in `QUOTES_BASE_URL`. */
const INSIDE_FROM = 3;

/** Words that stand everywhere: they tell no section from another. */
const COMMON = new Set(
  "a an and are as at be by can do does for from has have how i in is it its my not of on or that the there this to what when where which who why with you your".split(
    " ",
  ),
);

/** A text's words in small letters, without the common ones; names such as `bars_1m` are one word. */
export function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).filter((word) => !COMMON.has(word));
}

/**
 * Sections that hold every word, the likeliest first: a heading says more than a text, a whole word more than a piece. A
 * question that is a term of the glossary is answered there first.
 */
export function search({ pages, sections, words, terms }: HelpIndex, question: string): Hit[] {
  const asked = [...new Set(wordsOf(question))];
  const explained = Object.hasOwn(terms, asked.join(" ")) ? terms[asked.join(" ")] : undefined;
  if (asked.length === 0) return [];
  const scores = asked.map((word) => scoresOf(word, { pages, sections, words }));
  const found = [...(scores[0]?.keys() ?? [])].filter((place) => scores.every((each) => each.has(place)));
  const total = (place: number): number => scores.reduce((sum, each) => sum + (each.get(place) ?? 0), 0);
  return found
    .map((place) => ({ place, score: total(place) }))
    .sort(
      (a, b) =>
        Number(b.place === explained) - Number(a.place === explained) ||
        b.score - a.score ||
        a.place - b.place,
    )
    .slice(0, MOST_HITS)
    .flatMap(({ place }) => {
      const section = sections[place];
      const page = section && pages[section.page];
      return page ? [{ ...page, anchor: section.anchor, heading: section.heading }] : [];
    });
}

/** By section: how well it answers one word. */
function scoresOf(
  asked: string,
  { pages, sections, words }: Pick<HelpIndex, "pages" | "sections" | "words">,
): Map<number, number> {
  const scores = new Map<number, number>();
  for (const [word, places] of Object.entries(words)) {
    const like = likeness(word, asked);
    if (like > 0) for (const place of places) scores.set(place, Math.max(scores.get(place) ?? 0, like));
  }
  for (const [place, score] of scores) {
    const { page = 0, heading = "" } = sections[place] ?? {};
    const best = (text: string): number => Math.max(0, ...wordsOf(text).map((word) => likeness(word, asked)));
    scores.set(place, score + 3 * best(heading) + 2 * best(pages[page]?.title ?? ""));
  }
  return scores;
}

function likeness(word: string, asked: string): number {
  if (word === asked) return 3;
  if (word.startsWith(asked)) return 2;
  return asked.length >= INSIDE_FROM && word.includes(asked) ? 1 : 0;
}

/** A piece of a text, cut into parts; those at odd places are what was asked for. */
export function snippet(text: string, question: string, length = 180): string[] {
  const line = text.replace(/\s+/g, " ").trim();
  const asked = wordsOf(question).sort((a, b) => b.length - a.length);
  if (asked.length === 0) return [cut(line, 0, length)];
  // Words are letters, digits and underlines, none of which means anything to an expression.
  const pattern = `(${asked.join("|")})`;
  const first = Math.max(0, line.search(new RegExp(pattern, "iu")));
  const from = first < length / 2 ? 0 : line.indexOf(" ", first - Math.floor(length / 3)) + 1;
  return cut(line, from, length).split(new RegExp(pattern, "iu"));
}

function cut(line: string, from: number, length: number): string {
  const until = line.length <= from + length ? line.length : line.lastIndexOf(" ", from + length);
  const end = until > from ? until : from + length;
  return `${from > 0 ? "… " : ""}${line.slice(from, end)}${end < line.length ? " …" : ""}`;
}
