/** One YAML file: its value, and where in the file each part of it stands. */
import {
  Composer,
  CST,
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  parse,
  Parser,
  visit,
  YAMLParseError,
} from "yaml";
import type { z } from "zod";
import { QuotekeeperError, systemError } from "../ground/errors.ts";
import { alternatives, plainError, problemsOf, sentence, yamlSentence } from "./wording.ts";
import { inShort } from "../ground/outsideText.ts";
import { counted } from "../ground/figures.ts";

export type FileProblem = { file: string; line: number; message: string };

/** `jobs/a.yaml:3: priority is high: expected a whole number` */
export function describeProblem({ file, line, message }: FileProblem): string {
  return `${file}:${line}: ${message}`;
}

export function jobsInvalid(problems: readonly FileProblem[]): QuotekeeperError {
  const count = counted(problems.length, "problem");
  return new QuotekeeperError("JOBS_INVALID", `${count} in the files of the jobs directory:`, {
    problems: problems.map(describeProblem),
  });
}

const SHOWN_LENGTH = 40;

/** Most problems of a file that are reported one by one: a file of something else has nothing but problems. */
const MOST_PROBLEMS = 100;

/** Problems of one file by line; of very many the last one says how many more there are. */
export function inOrder(problems: readonly FileProblem[]): FileProblem[] {
  const sorted = [...problems].sort((a, b) => a.line - b.line);
  const [first, ...more] = sorted.slice(MOST_PROBLEMS);
  const rest = first ? [{ ...first, message: `from here on are ${more.length + 1} more problems` }] : [];
  return [...sorted.slice(0, MOST_PROBLEMS), ...rest];
}

/**
 * Bounds of a file before it is parsed: the parser uses a hundred bytes of memory for each byte, and great depth kills
 * the process. A job of 100,000 symbols stays below.
 */
const MOST = { values: 110_000, pieces: 1_000_000, depth: 100 };

/** Numbers as people write them: 0x10, 1e3 and 0o17 are slips. */
const PLAIN_NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)$/;

/**
 * Checks the text of one YAML file against a schema.
 *
 * @param form.textKeys names whose scalars stay text as they are written
 * @param form.hidden true: no problem shows anything of the file, because a secret may stand there
 * @returns the value, or all problems in the order of their lines; then the value as it stands, undefined when it is
 *   not YAML
 */
export function readYamlFile<S extends z.ZodType>(
  file: string,
  text: string,
  { schema, textKeys, hidden = false }: { schema: S; textKeys: ReadonlySet<string>; hidden?: boolean },
): { lineOf: (path: readonly PropertyKey[]) => number } & (
  { ok: true; value: z.infer<S> } | { ok: false; problems: FileProblem[]; value?: unknown }
) {
  const lines = new LineCounter();
  const refused = (message: string) => ({
    ok: false as const,
    problems: [{ file, line: 1, message }],
    lineOf: () => 1,
  });
  const tokens = tokensOf(text, lines);
  if (typeof tokens === "string") return refused(tokens);
  const names = Object.keys((schema as { shape?: object }).shape ?? {});
  if (text.replace(/#.*/g, "").trim() !== "" && !namesOne(text, names))
    // The text itself is not shown: it may be a file of secrets.
    return refused(
      `the file has no option of its kind: expected ${alternatives(names)}, each as name: value`,
    );
  const document = documentOf(tokens, text.length);
  const lineAt = (offset: number | undefined): number => lines.linePos(offset ?? 0).line || 1;
  const lineOf = (path: readonly PropertyKey[]): number => lineAt(find(document.contents, path).offset);
  const slips = [...syntaxProblems(document, text, hidden), ...aliasProblems(document, hidden)].map(
    ({ offset, ...slip }) => ({ line: lineAt(offset), ...slip }),
  );
  const value = valueOf(document.contents, null, textKeys);
  const parsed = schema.safeParse(value, { error: plainError });
  if (parsed.success && slips.length === 0) return { ok: true, value: parsed.data, lineOf };
  const wrong = (parsed.error?.issues ?? []).flatMap(problemsOf).map((problem) => {
    const shown = written(find(document.contents, problem.path), text);
    return {
      line: lineOf(problem.path),
      isThere: shown !== undefined && problem.path.length > 0,
      message: sentence(problem, hidden && shown !== undefined ? null : shown),
    };
  });
  const { isWhole, isSure } = rangeOf(slips);
  const problems = [
    // One slip, such as a missing quote, breaks the rest of its line in several ways. The first one says it.
    ...slips.filter(({ line }, index) => index === slips.findIndex((one) => one.line === line)),
    ...wrong.filter(isSure),
  ].map(({ line, message }) => ({ file, line, message }));
  return { ok: false, lineOf, problems: inOrder(problems), ...(isWhole && { value }) };
}

/** Which problems of a file with slips can be trusted, and whether all of the file is still what its author wrote. */
function rangeOf(slips: readonly { line: number; isLocal: boolean }[]): {
  isWhole: boolean;
  isSure: (problem: { line: number; isThere: boolean }) => boolean;
} {
  const local = new Set(slips.filter(({ isLocal }) => isLocal).map(({ line }) => line));
  const broken = slips.filter(({ line }) => !local.has(line)).map(({ line }) => line);
  const isWhole = broken.length === 0;
  const until = Math.min(...broken);
  return {
    isWhole,
    // Behind a slip, and about absent options, the parser may only have lost its way.
    isSure: ({ line, isThere }) => !local.has(line) && (isWhole || (isThere && line < until)),
  };
}

/**
 * Maps, lists and texts of a YAML file; numbers stay text.
 *
 * @throws an error whose `code` says what is wrong, and whose message may quote the file
 */
export function parsePlainYaml(text: string): unknown {
  const tokens = tokensOf(text);
  if (typeof tokens === "string") throw systemError(tokens, tokens);
  return parse(text, { schema: "failsafe" });
}

/** The parser's tokens, or why the text is too much for the composer. */
function tokensOf(text: string, lines?: LineCounter): CST.Token[] | string {
  const parser = new Parser(lines?.addNewLine);
  const tokens: CST.Token[] = [];
  let [values, pieces] = [0, 0];
  lines?.addNewLine(0);
  for (const piece of new Lexer().lex(text)) {
    for (const token of parser.next(piece)) tokens.push(token);
    pieces++;
    if (piece === CST.SCALAR || piece.startsWith('"') || piece.startsWith("'")) values++;
    if (values > MOST.values || pieces > MOST.pieces) return `the file holds more than ${MOST.values} values`;
    if (parser.stack.length > MOST.depth) return `the file is nested more than ${MOST.depth} deep`;
  }
  return [...tokens, ...parser.end()];
}

/** Like `parseDocument` of the library, without parsing the text twice. */
function documentOf(tokens: readonly CST.Token[], length: number): Document.Parsed {
  const [document, second] = new Composer({ prettyErrors: false }).compose(tokens, true, length);
  if (!document) throw new QuotekeeperError("UNEXPECTED", "the YAML composer gave no document");
  if (second)
    document.errors.push(
      new YAMLParseError([second.range[0], second.range[1]], "MULTIPLE_DOCS", "more than one document"),
    );
  return document;
}

/** Whether one of the names stands in the text as a name of YAML does. */
function namesOne(text: string, names: readonly string[]): boolean {
  return new RegExp(`(^|[{,])\\s*["']?(${names.join("|")})["']?\\s*:`, "m").test(text);
}

/** `isLocal`: the slip does not touch the rest of the file. */
type Slip = { offset: number; message: string; isLocal: boolean };

function syntaxProblems(document: Document.Parsed, text: string, hidden: boolean): Slip[] {
  return document.errors.map(({ code, message, pos: [offset] }) => {
    const wrong = hidden ? "an option" : (/[^\s:]+/.exec(text.slice(offset))?.[0] ?? "");
    const isLocal = code === "BAD_ALIAS" || code === "DUPLICATE_KEY";
    return { offset, isLocal, message: yamlSentence({ code, message: hidden ? code : message }, wrong) };
  });
}

/** Aliases are refused: one inside its own anchor has no end. */
function aliasProblems(document: Document.Parsed, hidden: boolean): Slip[] {
  const found: Slip[] = [];
  visit(document, {
    Alias: (_key, { source, range }) => {
      const message = `*${hidden ? "" : source} stands for another place of the file: write the value itself`;
      found.push({ offset: range?.[0] ?? 0, isLocal: true, message });
    },
  });
  return found;
}

function valueOf(node: unknown, key: string | null, textKeys: ReadonlySet<string>): unknown {
  if (isMap(node)) {
    return Object.fromEntries(
      node.items.map(({ key: name, value }) => {
        const text = keyText(name);
        return [text, valueOf(value, text, textKeys)];
      }),
    );
  }
  if (isSeq(node)) return node.items.map((item) => valueOf(item, key, textKeys));
  if (!isScalar(node)) return null;
  const isText =
    (key !== null && textKeys.has(key)) ||
    (typeof node.value === "number" && !PLAIN_NUMBER.test(node.source ?? ""));
  return isText && node.source !== undefined && node.source !== "" ? node.source : node.value;
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.source ?? key.value) : String(key);
}

/** `offset`: where the node begins, or where it is missing from. */
type Place = { there: boolean; node: unknown; offset: number | undefined };

function find(root: Node | null, path: readonly PropertyKey[]): Place {
  let place: Place = { there: true, node: root, offset: root?.range?.[0] };
  for (const step of path) {
    const { node, offset } = place;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => keyText(key) === String(step));
      if (!pair) return { there: false, node: undefined, offset };
      place = { there: true, node: pair.value, offset: offsetOf(pair.key) ?? offset };
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(step)];
      place = { there: item !== undefined, node: item, offset: offsetOf(item) ?? offset };
    } else return { there: false, node: undefined, offset };
  }
  return place;
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/** The value at a place as the file has it, in one line; undefined when there is none. */
function written({ there, node }: Place, text: string): string | undefined {
  if (!there) return undefined;
  if (isMap(node)) return "a map of options";
  if (isSeq(node)) return node.items.length === 0 ? "an empty list" : "a list";
  const [start = 0, end = 0] = (isNode(node) ? node.range : null) ?? [];
  const source = text.slice(start, end).trim().replace(/\s+/g, " ");
  if (source === "") return "empty";
  return inShort(source, SHOWN_LENGTH);
}
