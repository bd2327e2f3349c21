/** What was found, in numbers and names, for the end of the report. */
import type { FileFate } from "./savedAnswers.ts";
import { type Way, WAY_TEXTS, WAYS } from "./savedTime.ts";
import { thousands } from "../../ground/figures.ts";

/** Most names that a remark has; the log has all. */
const MOST_NAMES = 10;

export class FileTally {
  readonly #ways = new Map<Way, number>();
  readonly #names = { foreign: [] as string[], passed: [] as string[], unreadable: [] as string[] };
  readonly #counts = { outside: 0, foreign: 0, passed: 0, unreadable: 0 };
  readonly #withPattern: boolean;
  #unmatched: string | null = null;
  unreadableBytes = 0;
  /** How many there were, without sidecars. */
  files = 0;

  /** @param options.withPattern whether times were to be told by `--time-pattern` */
  constructor({ withPattern }: { withPattern: boolean }) {
    this.#withPattern = withPattern;
  }

  add(file: FileFate): void {
    if (file.fate === "sidecar") return;
    this.files++;
    if (file.fate === "answer" && file.way !== "pattern") this.#unmatched ??= file.path;
    if (file.fate === "answer") this.#ways.set(file.way, (this.#ways.get(file.way) ?? 0) + 1);
    else this.#counts[file.fate]++;
    if (file.fate === "unreadable") this.unreadableBytes += file.bytes;
    if (file.fate === "answer" || file.fate === "outside") return;
    const names = this.#names[file.fate];
    const text = file.fate === "unreadable" ? `${file.path} (${file.problem})` : file.path;
    if (names.length < MOST_NAMES) names.push(text);
  }

  get unreadable(): number {
    return this.#counts.unreadable;
  }

  get answers(): number {
    return [...this.#ways.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether there was anything that may be an answer, within the times asked for or not. */
  get foundAny(): boolean {
    return this.answers + this.#counts.outside + this.#counts.unreadable > 0;
  }

  remarks(): string[] {
    const { outside, foreign, passed, unreadable } = this.#counts;
    const unmatched = this.#withPattern ? this.answers - (this.#ways.get("pattern") ?? 0) : 0;
    const namesOf = (fate: "foreign" | "passed" | "unreadable"): string =>
      listed(this.#names[fate], this.#counts[fate]);
    const lines: [head: string, count: number, words: string][] = [
      ...WAYS.map((way): [string, number, string] => [
        "Times",
        this.#ways.get(way) ?? 0,
        ` ${WAY_TEXTS[way]}`,
      ]),
      ["Pattern", unmatched, ` do not fit --time-pattern, such as ${this.#unmatched}`],
      ["Outside", outside, " were received outside --from and --to"],
      ["Not XML", foreign, `: ${namesOf("foreign")}`],
      ["Passed", passed, ` links or devices: ${namesOf("passed")}`],
      ["Unread", unreadable, `: ${namesOf("unreadable")}`],
    ];
    return lines.flatMap(([head, count, words]) =>
      count > 0 ? [`${head.padEnd(10)}${thousands(count)}${words}`] : [],
    );
  }
}

function listed(names: readonly string[], all: number): string {
  const further = all - names.length;
  return `${names.join(", ")}${further > 0 ? ` and ${thousands(further)} more` : ""}`;
}
