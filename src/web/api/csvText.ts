/** Files for spreadsheets. */
import type { SourceKind } from "../../archive/ask/dashboardTypes.ts";

/** The file's name: simulated prices say so there too. @param parts what the file is of */
export function csvName(parts: readonly string[], source: SourceKind): string {
  const name = [...parts, ...(source === "simulated" ? ["SIMULATED"] : [])].join("-");
  return `${name.replace(/[^A-Za-z0-9._-]+/g, "_")}.csv`;
}

/** An answer that is a file. `name`: as `csvName` makes it. */
export class CsvFile {
  readonly name: string;
  readonly text: string;

  constructor(name: string, text: string) {
    this.name = name;
    this.text = text;
  }
}

/** A file's text: its heading, and lines of values. Absent values are empty. */
export function csvText(heading: readonly string[], lines: readonly (readonly (string | null)[])[]): string {
  return `${[heading, ...lines].map((line) => line.map(csvField).join(",")).join("\r\n")}\r\n`;
}

function csvField(text: string | null): string {
  if (text === null) return "";
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
