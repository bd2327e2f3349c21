/** Where the time of a load goes: how long the server took for its statements, by what they are for. */
import pg from "pg";

/** What a statement is for, by how it begins; the first that fits. */
const KINDS: readonly (readonly [string, RegExp])[] = [
  ["COPY of both tables", /^copy /],
  ["bars", /make_due_bars/],
  ["quotes of staging tables", /insert into (extended_)?quotes /],
  ["responses", /insert into responses/],
  ["instruments: seen again", /update instruments/],
  ["instruments: find, add", /from instruments|insert into instruments|lock table/],
  ["dividends", /dividends/],
  ["commit", /^commit/],
  ["savepoints", /savepoint/],
  ["begin, position", /^begin|position|lock/],
];

/** Milliseconds by kind. */
export type StatementTimes = Map<string, number>;

/** Whatever is asked from now on, until it is called again. @returns the times, which grow meanwhile */
export function watchStatements(): StatementTimes {
  times = new Map();
  return times;
}

let times: StatementTimes = new Map();

const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;

pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  const begunMs = performance.now();
  const of = times;
  const [first] = given as [string | { text: string }];
  const text = (typeof first === "string" ? first : first.text).trim().toLowerCase();
  const kind = KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";
  const add = (): void => void of.set(kind, (of.get(kind) ?? 0) + performance.now() - begunMs);
  const last = given.at(-1);
  // A pool's queries have callbacks.
  if (typeof last === "function")
    given[given.length - 1] = (...answer: unknown[]) => {
      add();
      return (last as (...answer: unknown[]) => unknown)(...answer);
    };
  const asked = query.apply(this, given);
  if (asked instanceof Promise) asked.then(add, add);
  else (asked as NodeJS.EventEmitter | undefined)?.once("finish", add);
  return asked;
} as typeof pg.Client.prototype.query;
