/** Each field of what commands print with `--json`, with its types: `status: lines[].subject`. */
import type { Promised } from "./lists.ts";

/** The parts of a JSON Schema that ours have. */
export type JsonSchema = {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  const?: unknown;
  format?: string;
  anyOf?: readonly JsonSchema[];
  items?: JsonSchema;
  properties?: Readonly<Record<string, JsonSchema>>;
  additionalProperties?: JsonSchema | boolean;
  required?: readonly string[];
};

type Found = { types: Set<string>; mayBeAbsent: boolean };

/** @param file docs/json.schema.json */
export function promisedJson(file: { $defs: Readonly<Record<string, JsonSchema>> }): Promised {
  return Object.fromEntries(
    Object.entries(file.$defs).flatMap(([command, schema]) => {
      const found = new Map<string, Found>();
      gather(found, { path: `${command}: `, schema, mayBeAbsent: false });
      return [...found].map(([path, { types, mayBeAbsent }]) => [
        path,
        { types: [...types].sort().join(" or "), "may be absent": String(mayBeAbsent) },
      ]);
    }),
  );
}

function gather(
  found: Map<string, Found>,
  { path, schema, mayBeAbsent }: { path: string; schema: JsonSchema; mayBeAbsent: boolean },
): void {
  const at = found.get(path) ?? { types: new Set<string>(), mayBeAbsent };
  found.set(path, at);
  if (mayBeAbsent) at.mayBeAbsent = true;
  typesOf(schema).forEach((type) => at.types.add(type));
  for (const one of schema.anyOf ?? []) gather(found, { path, schema: one, mayBeAbsent });
  if (schema.items) gather(found, { path: `${path}[]`, schema: schema.items, mayBeAbsent: false });
  if (typeof schema.additionalProperties === "object")
    gather(found, { path: `${path}.*`, schema: schema.additionalProperties, mayBeAbsent: false });
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    const absent = !(schema.required ?? []).includes(name);
    gather(found, { path: `${path}.${name}`, schema: below, mayBeAbsent: absent });
  }
}

function typesOf({ type, enum: values, const: only, format }: JsonSchema): string[] {
  if (type !== undefined)
    return [type].flat().map((one) => (format === undefined ? one : `${one} (${format})`));
  return [...(values ?? []), ...(only === undefined ? [] : [only])].map((value) => typeof value);
}
