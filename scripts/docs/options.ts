/** Options of a zod schema as a table: name, type with its bounds, default, sentence. Read from its JSON Schema. */
import { z } from "zod";
import { code, markdownTable } from "./markdown.ts";

/** The part of JSON Schema that our schemas make use of. */
export type OptionSchema = {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  items?: OptionSchema;
  properties?: Record<string, OptionSchema>;
  required?: string[];
  anyOf?: OptionSchema[];
};

/** What people write, as the schema takes it. */
export function optionSchema(schema: z.ZodType): OptionSchema {
  return z.toJSONSchema(schema, { io: "input" }) as OptionSchema;
}

/** The options of a map, in the order of the schema. */
export function optionsTable({ properties = {}, required = [] }: OptionSchema): string {
  const rows = Object.entries(properties).map(([name, option]) => [
    code(name),
    typeText(option),
    required.includes(name) ? "required" : defaultText(option),
    option.description ?? "",
  ]);
  return markdownTable(["Option", "Type", "Default", "Meaning"], rows);
}

/** The type with its bounds, in words: `whole number, 1 to 60`. */
export function typeText(schema: OptionSchema): string {
  if (schema.enum) return oneOf(schema.enum.map((value) => code(String(value))));
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.anyOf) return oneOf(schema.anyOf.map(typeText));
  // A decimal is taken as a number or as text, or as text alone that begins with a digit.
  if (Array.isArray(schema.type) || schema.pattern?.startsWith("^\\d")) return "decimal";
  switch (schema.type) {
    case "integer":
      return `whole number, ${schema.minimum} to ${schema.maximum}`;
    case "boolean":
      return "`true` or `false`";
    case "array":
      return `list of ${plural(schema.items ?? {})}`;
    case "object":
      return `map of ${Object.keys(schema.properties ?? {})
        .map(code)
        .join(", ")}`;
    default:
      return "text";
  }
}

function plural(items: OptionSchema): string {
  if (items.type === "object") return "maps";
  if (Array.isArray(items.type)) return "decimals";
  return items.enum ? typeText(items) : "texts";
}

function defaultText({ default: value }: OptionSchema): string {
  if (value === undefined) return "none";
  return code(Array.isArray(value) ? `[${value.join(", ")}]` : String(value));
}

function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
