/**
 * Mutants of recorded answers, and what must hold of each: it is read without a crash, every number and date read of it
 * stands in its own text, and nothing is stored under another name than that text says. The text is read by a second,
 * independent parser, saxes.
 */
import fc from "fast-check";
import type { InstrumentKey } from "../../src/market/instrument.ts";
import { HELD_DIGITS } from "../../src/quotes/decimal.ts";
import { classifyAnswer } from "../../src/services/reference/classifyAnswer.ts";
import { type InstrumentQuote, MAX_FRAGMENT } from "../../src/quotes/document.ts";
import { matchAnswer } from "../../src/quotes/match.ts";
import { keyOf } from "../../src/quotes/keyText.ts";
import { decodeBody } from "../../src/services/bodyText.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { type Opinion, secondOpinion } from "../support/saxes.ts";
import { decimal, type Leaves, leavesOf, signedDecimal } from "../support/secondOpinion.ts";
import { outcome } from "./twoReaders.ts";

const documents = recordedDocuments().map(({ body }) => body);

/** What is put into documents: the beginnings and ends of XML, and what makes numbers of other numbers. */
const WORDS = [
  ..."<>&;\"'=/!?-.,+eE0123456789% \n\t\0",
  ...["<?x ", "<!-- -->", "<!DOCTYPE x>", "\u00a0", "\u2028"],
  ..."</ /> <!-- --> <![CDATA[ ]]> ?> &#48; &#x31; &amp; &lt; &quot; \ufeff \u0661 \uff11 \ud83c\udf55".split(
    " ",
  ),
  ..."null na NaN true false 1,234 4.9E-324 1E400 1E-401 -0 .5 5. -999 5% (5) (5%) \u22125 OPT CS 0001-01-01 2026-02-30".split(
    " ",
  ),
  ..."<b/> <![CDATA[7]]> <sym>AAPL</sym> <askprice>1</askprice> <quote> </quote> <underlying/>".split(" "),
  ..."<instrumentquote> </instrumentquote> </quotes> </response>".split(" "),
].map((word) => Buffer.from(word));

/** One change; positions are fractions of the document's length, or of its number of texts. */
type Change =
  | { kind: "byte"; at: number; value: number }
  | { kind: "insert"; at: number; word: number }
  | { kind: "remove"; at: number; length: number }
  | { kind: "repeat"; at: number; length: number; to: number }
  | { kind: "splice"; at: number; other: number; from: number; length: number }
  | { kind: "text"; at: number; word: number; place: number }
  | { kind: "swap"; at: number; with: number }
  | { kind: "cut"; at: number };

/** Of `fc.double` nearly all are next to 0: as many have an exponent of -1,000 as one of -1. */
const fraction = fc.nat(2 ** 20 - 1).map((part) => part / 2 ** 20);
const word = fc.nat(WORDS.length - 1);
const length = fc.integer({ min: 1, max: 80 });

/** Changes of a kind, `weight` times as often as the rarest. */
function changes<Kind extends Change["kind"]>(
  weight: number,
  kind: Kind,
  rest: { [Name in Exclude<keyof Extract<Change, { kind: Kind }>, "kind" | "at">]: fc.Arbitrary<number> },
): fc.WeightedArbitrary<Change> {
  const arbitrary = fc.record({ kind: fc.constant(kind), at: fraction, ...rest });
  return { weight, arbitrary: arbitrary as unknown as fc.Arbitrary<Change> };
}

const change: fc.Arbitrary<Change> = fc.oneof(
  changes(2, "byte", { value: fc.nat(255) }),
  changes(2, "insert", { word }),
  changes(2, "remove", { length }),
  changes(1, "repeat", { length, to: fraction }),
  changes(1, "splice", {
    other: fc.nat(documents.length - 1),
    from: fraction,
    length: fc.integer({ min: 1, max: 2_000 }),
  }),
  changes(6, "text", { word, place: fraction }),
  changes(4, "swap", { with: fraction }),
  changes(1, "cut", {}),
);

/** A recorded document and what is done to it. */
export const mutation = fc.record({
  document: fc.nat(documents.length - 1),
  changes: fc.array(change, { minLength: 1, maxLength: 4 }),
});

/** Recorded document and its mutant. */
export function mutantOf({ document, changes }: { document: number; changes: readonly Change[] }): {
  original: Buffer;
  mutant: Buffer;
} {
  const original = documents[document] ?? Buffer.alloc(0);
  return { original, mutant: changes.reduce(apply, original) };
}

/** A mutant of a recorded answer as text; null where its bytes are none. */
export const mutantText = mutation.map((made) => {
  const decoded = outcome(() => decodeBody(mutantOf(made).mutant));
  return "read" in decoded ? decoded.read : null;
});

function apply(body: Buffer, step: Change): Buffer {
  const at = Math.floor(step.at * body.length);
  switch (step.kind) {
    case "byte":
      return replaced(body, at, at + 1, Buffer.from([step.value]));
    case "insert":
      return replaced(body, at, at, WORDS[step.word]);
    case "remove":
      return replaced(body, at, at + step.length, undefined);
    case "repeat":
      return replaced(
        body,
        Math.floor(step.to * body.length),
        undefined,
        body.subarray(at, at + step.length),
      );
    case "splice": {
      const other = documents[step.other] ?? body;
      const from = Math.floor(step.from * other.length);
      return replaced(body, at, at, other.subarray(from, from + step.length));
    }
    case "text": {
      const { start, end } = textAt(body, step.at);
      const place = start + Math.floor(step.place * (end - start + 1));
      return replaced(body, place, step.place < 0.2 ? end : place, WORDS[step.word]);
    }
    case "swap": {
      const [one, other] = [textAt(body, step.at), textAt(body, step.with)];
      const [first, second] = one.start <= other.start ? [one, other] : [other, one];
      const text = ({ start, end }: Span): Buffer => body.subarray(start, end);
      return replaced(
        replaced(body, second.start, second.end, text(first)),
        first.start,
        first.end,
        text(second),
      );
    }
    case "cut":
      return body.subarray(0, at);
  }
}

function replaced(body: Buffer, start: number, end: number | undefined, by: Uint8Array | undefined): Buffer {
  return Buffer.concat([body.subarray(0, start), by ?? Buffer.alloc(0), body.subarray(end ?? start)]);
}

type Span = { start: number; end: number };

/** The text of one of the elements that hold nothing but text. */
function textAt(body: Buffer, at: number): Span {
  const spans = [...body.toString("latin1").matchAll(/>([^<>]*\S[^<>]*)<\//g)].map(
    ({ index, 1: text = "" }) => ({
      start: index + 1,
      end: index + 1 + text.length,
    }),
  );
  return spans[Math.floor(at * spans.length)] ?? { start: 0, end: 0 };
}

/** Stands for a text that a comment interrupts: glued together it would say what nobody wrote. */
const INTERRUPTED = "\0interrupted";

/** Every text below an instrument, by its path; an element that comes twice has two. */
type Texts = Map<string, string[]>;

/** The texts of an instrument's own part of the document. */
export function textsOf(fragment: string): Texts {
  const texts: Texts = new Map();
  collect(secondOpinion(fragment), "", texts);
  return texts;
}

function collect({ elements }: Opinion, path: string, texts: Texts): void {
  for (const element of elements) {
    const at = path === "" ? element.name : `${path}/${element.name}`;
    const text = element.hasComment ? INTERRUPTED : element.text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
    texts.set(at, [...(texts.get(at) ?? []), text]);
    collect(element, at, texts);
  }
}

/** What a mutant's reader did wrong, in words; empty when nothing. */
export type Verdict = {
  outcome: string;
  /** Instruments read as quotes. */
  quotes: number;
  /** Values that were compared with the text. */
  values: number;
  faults: string[];
};

/**
 * Reads a mutant as the answer to a call for what the original holds.
 *
 * A number is in the text when the element of its name, once undone from XML, without thousands separators and white space, is
 * the same decimal number: sign, digits and power of ten, with a percent sign as its element has it. It is rounded to what the
 * archive holds.
 * A date is when that text begins with it. An option's type is when the text is 1 or 0. Names are the very text, but for a class
 * of shares, whose slash is a point.
 */
export function judge({ original, mutant }: { original: Buffer; mutant: Buffer }): Verdict {
  const answer = classifyAnswer({ status: 200, headers: {}, body: mutant });
  const verdict: Verdict = { outcome: answer.outcome, quotes: 0, values: 0, faults: [] };
  if (answer.outcome !== "quotes") return verdict;
  for (const read of answer.document.items) {
    if (!read.ok || read.fragment.length >= MAX_FRAGMENT) continue;
    verdict.quotes += 1;
    checkValues(leavesOf(read.item), textsOf(read.fragment), verdict);
  }
  for (const asked of [askedOf(original), null]) {
    for (const match of matchAnswer(asked, answer.document.items)) {
      if (match.fate !== "stored") continue;
      const said = namesOf(keyOf(match.item), asked !== null);
      if (!said.includes(match.name)) verdict.faults.push(`${said[0]} is stored as ${match.name}`);
    }
  }
  return verdict;
}

function checkValues(leaves: Leaves, texts: Texts, verdict: Verdict): void {
  for (const [path, value] of Object.entries(leaves)) {
    if (path === "unknownsymbol") continue;
    const written = texts.get(path) ?? [];
    verdict.values += 1;
    // Without a security type, the maturity date is what says that it is an option.
    if (path === "instrument/sectyp" && value === "OPT" && texts.has("instrument/matdt")) continue;
    if (written.length !== 1 || !says(path, written[0] ?? "", value))
      verdict.faults.push(
        `${path} is read as ${JSON.stringify(value)}, and the text is ${JSON.stringify(written)}`,
      );
  }
}

function says(path: string, written: string, value: string): boolean {
  if (path.endsWith("/sym") && /^[^/]+\/[A-Za-z]$/.test(written)) return written.replace("/", ".") === value;
  if (/\/(sym|desc|exch|sectyp)$/.test(path) || path === "instrument/putcall") return written === value;
  if (/\/(matdt|exdate)$/.test(path)) return written.trim().startsWith(value);
  const exact = signedDecimal(path, written);
  // The smallest double as a yield stays, because it says that there is no dividend.
  return (path.endsWith("/yield") && exact === "49e-325" ? exact : held(exact)) === value;
}

/** A decimal, rounded to as many digits behind its point as the archive holds, halves away from zero. */
function held(text: string | null): string | null {
  const [, sign = "", digits = "", exponent = "0"] = /^(-?)(\d+)e(-?\d+)$/.exec(text ?? "") ?? [];
  const beyond = -Number(exponent) - HELD_DIGITS.fraction;
  if (digits === "" || beyond <= 0) return text;
  const unit = 10n ** BigInt(beyond);
  return decimal(`${sign}${(BigInt(digits) * 2n + unit) / (unit * 2n)}e-${HELD_DIGITS.fraction}`);
}

/** What the original answers, as a call would have named it. */
function askedOf(original: Buffer): InstrumentKey[] {
  const answer = classifyAnswer({ status: 200, headers: {}, body: original });
  if (answer.outcome !== "quotes") return [];
  return answer.document.items.flatMap((read) => (read.ok ? [keyOf(read.item as InstrumentQuote)] : []));
}

/**
 * The names that an item may have: that of its underlying, with its root where that is another word. Who asks by the root gets what
 * has it, also where the answer calls the underlying otherwise.
 */
function namesOf(key: InstrumentKey, isAsked: boolean): string[] {
  if (key.kind === "security") return [key.symbol];
  const { underlying, root } = key;
  const own = root === undefined ? underlying : `${underlying}/${root}`;
  const heads = isAsked && root !== undefined ? [own, root] : [own];
  return heads.map((head) => [head, key.expiration, key.optionType, key.strike].join(":"));
}
