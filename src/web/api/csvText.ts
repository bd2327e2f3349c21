/** Files for spreadsheets. Pure. */
import type { SourceKind } from "./types.ts";

/** The file's name: simulated prices say so there too. @param parts what the file is of */
export function csvName(parts: readonly string[], source: SourceKind): string {
  const name = [...parts, ...(source === "simulated" ? ["SIMULATED"] : [])].join("-");
  return `${name.replace(/[^A-Za-z0-9._-]+/g, "_")}.csv`;
}

/** A value between commas; absent ones are empty. */
export function csvField(text: string | null): string {
  if (text === null) return "";
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
