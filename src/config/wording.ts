/** What is wrong with an option, in words: the option, its value as it is written, and what is expected. */
import type { YAMLError } from "yaml";
import type { z } from "zod";

type OptionProblem = { path: PropertyKey[]; message: string };

/** `chains[0].strikes.percent` */
export function optionName(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index > 0 ? "." : ""}${String(step)}`))
    .join("");
}

const TYPES: Record<string, string> = {
  array: "expected a list",
  object: "expected options, each as name: value",
  string: "expected text",
  number: "expected a number",
  int: "expected a whole number",
  boolean: "expected true or false",
};

/** For `safeParse`: the sentence of an issue for which the schema has none of its own. */
export function plainError(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected] ?? `expected ${issue.expected}`;
    case "invalid_value":
      return `expected ${alternatives(issue.values.map(String))}`;
    case "too_small":
      if (issue.origin === "array") return "expected at least one entry";
      return issue.origin === "string" ? "expected text" : `expected ${issue.minimum} or more`;
    case "too_big":
      return `expected at most ${issue.maximum}${issue.origin === "string" ? " characters" : ""}`;
    case "unrecognized_keys":
      return `expected ${alternatives(optionsOf(issue.inst))}`;
    default:
      return undefined;
  }
}

/** The problems an issue stands for: one for each unknown option, and for a union those of the form that fits best. */
export function problemsOf(issue: z.core.$ZodIssue): OptionProblem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      message: `is not an option here: ${issue.message}`,
    }));
  }
  if (issue.code === "invalid_union") {
    const [branch] = [...issue.errors].sort((a, b) => depth(b) - depth(a));
    const inner = (branch ?? []).filter(({ path }) => path.length > 0);
    if (inner.length > 0)
      return inner.flatMap((deeper) => problemsOf({ ...deeper, path: [...issue.path, ...deeper.path] }));
  }
  return [{ path: [...issue.path], message: issue.message }];
}

/** @param written the option's value as the file has it; undefined: the option is absent; null: its value is not shown */
export function sentence({ path, message }: OptionProblem, written: string | null | undefined): string {
  if (written === null) {
    const [name, what] = message.startsWith("is not")
      ? [path.slice(0, -1), ` holds something that ${message}`]
      : [path, `: ${message}`];
    return `${optionName(name) || "the file"}${what}`;
  }
  if (path.length === 0)
    return message.startsWith("expected") ? `the file is ${written}: ${message}` : message;
  if (message.startsWith("is not")) return `${optionName(path)} ${message}`;
  if (written === undefined) return `${optionName(path)} is missing: ${message}`;
  return `${optionName(path)} is ${written}: ${message}`;
}

export function yamlSentence({ code, message }: Pick<YAMLError, "code" | "message">, wrong: string): string {
  switch (code) {
    case "BAD_ALIAS":
      return 'a value that begins with * stands in quotes, such as schedule: "* * * * *"';
    case "DUPLICATE_KEY":
      return `${wrong} is given twice`;
    case "MULTIPLE_DOCS":
      return "a second document begins here (---): a file holds one job";
    case "TAB_AS_INDENT":
      return "a tab indents this line: expected spaces";
    default:
      return `this is not YAML: ${message.split("\n")[0]}`;
  }
}

/** `a, b or c`. */
export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function optionsOf(schema: unknown): string[] {
  return Object.keys((schema as { shape?: object } | undefined)?.shape ?? {});
}

function depth(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map(({ path }) => path.length));
}
