/** Makes SQL of other SQL: functions and views out of the texts that make them, with some words replaced. Pure. */

import { QuotekeeperError } from "../../ground/errors.ts";

/** SQL that is replaced wherever it stands, and by what. */
export type Change = readonly [found: string | RegExp, by: string];

/** The text has changed, and so must what is made of it. */
const missing = (what: string): QuotekeeperError =>
  new QuotekeeperError("UNEXPECTED", `the texts in force have no ${what}`);

export function changed(text: string, changes: readonly Change[]): string {
  return changes.reduce((sql, [found, by]) => {
    if (!(found instanceof RegExp ? sql.search(found) >= 0 : sql.includes(found)))
      throw missing(String(found));
    return sql.replaceAll(found, by);
  }, text);
}

/** A function in SQL. `columns` of a table that it returns, else empty. */
export type SqlFunction = { name: string; args: string; returns: string; columns: string; body: string };

/** @param taking how its arguments begin, where several have its name. @throws QuotekeeperError UNEXPECTED when the texts have no such function */
export function functionOf(texts: string, name: string, taking = ""): SqlFunction {
  const found = new RegExp(
    `create or replace function ${name}\\((${taking}[^)]*)\\) returns (.*?)\\s+language sql[^$]*\\$\\$\\n(.*?)\\n\\$\\$;`,
    "su",
  ).exec(texts);
  const [, args = "", returns = "", body = ""] = found ?? [];
  if (!found) throw missing(`function ${name} in SQL`);
  const columns = [...returns.matchAll(/[(,]\s*(\w+) /gu)].map(([, column]) => column).join(", ");
  return { name, args, returns, columns, body };
}

export function viewOf(texts: string, name: string): string {
  const view = new RegExp(`create or replace view ${name} as\\n.*?(?=;\\n)`, "su").exec(texts)?.[0];
  if (view === undefined) throw missing(`view ${name}`);
  return view;
}

/** Puts a function's body where it is called, with the call's arguments. */
export function inlined(text: string, { name, columns, body }: SqlFunction): string {
  const [before, called] = text.split(new RegExp(`\\b${name}\\((.*)`, "su"));
  if (before === undefined || called === undefined) throw missing(`call of ${name}`);
  const args = [""];
  let end = 0;
  for (let depth = 1; depth > 0; end++) {
    const letter = called[end] ?? ")";
    depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    if (letter === "," && depth === 1) args.push("");
    else if (depth > 0) args.push(`${args.pop()}${letter}`);
  }
  const put = body.replace(/\$(\d+)/gu, (_, place: string) => `(${args[Number(place) - 1]?.trim()})`);
  const rest = columns === "" ? called.slice(end) : called.slice(end).replace(/^ \w+/u, `$& (${columns})`);
  return `${before}(${put})${rest}`;
}
