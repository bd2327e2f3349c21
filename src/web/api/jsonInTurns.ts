/** JSON text of long answers in parts, with a turn of the event loop after each. */
import { mapInTurns } from "../../archive/ask/mapInTurns.ts";

/** @returns what `JSON.stringify` returns */
export async function jsonInTurns(value: unknown): Promise<string> {
  if (Array.isArray(value)) {
    const texts = await mapInTurns(value, (entry) => JSON.stringify(entry) ?? "null");
    return `[${texts.join()}]`;
  }
  if (!isPlain(value)) return JSON.stringify(value);
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value))
    if (field !== undefined) fields.push(`${JSON.stringify(name)}:${await jsonInTurns(field)}`);
  return `{${fields.join()}}`;
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
