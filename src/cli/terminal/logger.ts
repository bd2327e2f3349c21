/** Logs: pretty for a person, one JSON object a line for a machine; always on stderr. */
import { pino, type Logger } from "pino";
import type { Config } from "../../config/loadEnvironment.ts";
import { exchangeTime } from "../../market/calendar/dates.ts";
import { SERVICES } from "../../services/registry.ts";
import type { Sink } from "../../ground/edges.ts";
import { linesOfStack, oneLine, own } from "./harmless.ts";
import { fold } from "./width.ts";
import { wantsColour } from "./colour.ts";

/** Fields that are never logged, even if code passes them by mistake, down to three levels deep. */
const SECRET_NAMES = [
  "authorization",
  "password",
  "credentials",
  ...SERVICES.flatMap(({ credentials }) => credentials.all.map(({ name }) => name)),
  "connectionString",
  "databaseUrl",
  "databaseReaderUrl",
  "heartbeatUrl",
  "heartbeatFailUrl",
];

const REDACTED = [...new Set(SECRET_NAMES)].flatMap((name) =>
  ["", "*.", "*.*.", "*.*.*."].map((above) => `${above}${name}`),
);

/**
 * A logger of the configured level that writes to `stderr`.
 *
 * @param env says whether a terminal is to be coloured
 */
export async function createLogger(
  level: Config["logLevel"],
  stderr: Sink,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Logger> {
  const shown = stderr.isTTY ? await forPeople(stderr, wantsColour(stderr, env)) : String;
  const destination = { write: (line: string) => stderr.write(shown(line)) };
  return pino(
    { level, redact: REDACTED, base: undefined, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  );
}

/** Formats a line of pino for a person. */
async function forPeople(
  terminal: Pick<Sink, "columns">,
  colorize: boolean,
): Promise<(line: string) => string> {
  const { prettyFactory } = await import("pino-pretty");
  const prettify = prettyFactory({
    colorize,
    ignore: "pid,hostname",
    translateTime: false,
    customPrettifiers: { time: (at) => `[${exchangeTime(new Date(String(at))).slice(11)} New York]` },
    singleLine: true,
  });
  // All fields are harmless by now, so any colour is the prettifier's.
  return (line) =>
    prettify(harmlessFields(JSON.parse(line)))
      .replace(/\u001b\[[\d;]*m/g, own)
      .split("\n")
      .flatMap((part) => fold(part, terminal.columns))
      .join("\n");
}

/** The fields of a log line, each text in one line, a stack in several. */
function harmlessFields(value: unknown, name = ""): unknown {
  if (typeof value === "string") return name === "stack" ? linesOfStack(value).join("\n") : oneLine(value);
  if (Array.isArray(value)) return value.map((item) => harmlessFields(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [oneLine(key), harmlessFields(field, key)]),
  );
}
