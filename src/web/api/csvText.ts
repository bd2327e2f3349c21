/** Files for spreadsheets. */
import type { FastifyReply } from "fastify";
import type { SourceKind } from "./types.ts";

/** The file's name: simulated prices say so there too. @param parts what the file is of */
export function csvName(parts: readonly string[], source: SourceKind): string {
  const name = [...parts, ...(source === "simulated" ? ["SIMULATED"] : [])].join("-");
  return `${name.replace(/[^A-Za-z0-9._-]+/g, "_")}.csv`;
}

/** Answers with a file. @param file.name as `csvName` makes it */
export function sendCsv(reply: FastifyReply, file: { name: string; text: string }): FastifyReply {
  return reply
    .type("text/csv; charset=utf-8")
    .header("content-disposition", `attachment; filename="${file.name}"`)
    .send(file.text);
}

/** A value between commas; absent ones are empty. */
export function csvField(text: string | null): string {
  if (text === null) return "";
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
