/** Logs: pretty for a person, one JSON object a line for a machine; always on stderr. */
import { Writable } from "node:stream";
import { pino, type Logger } from "pino";
import pretty from "pino-pretty";
import type { Config } from "../../config/loadEnvironment.ts";
import type { Sink } from "../edges.ts";
import { wantsColour } from "./style.ts";

/** What is never in a log, whatever somebody passes by mistake: not at the top, and not three levels deep. */
const SECRET_NAMES = [
  "authorization",
  "password",
  "credentials",
  "consumerKey",
  "consumerSecret",
  "accessToken",
  "accessTokenSecret",
  "connectionString",
  "databaseUrl",
  "databaseReaderUrl",
];

const REDACTED = SECRET_NAMES.flatMap((name) =>
  ["", "*.", "*.*.", "*.*.*."].map((above) => `${above}${name}`),
);

/**
 * A logger of the configured level that writes to `stderr`.
 *
 * @param env says whether a terminal is to be coloured
 */
export function createLogger(
  level: Config["logLevel"],
  stderr: Sink,
  env: Readonly<Record<string, string | undefined>> = {},
): Logger {
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      stderr.write(chunk.toString());
      done();
    },
  });
  const stream = stderr.isTTY
    ? pretty({
        destination,
        colorize: wantsColour(stderr, env),
        ignore: "pid,hostname",
        translateTime: "SYS:HH:MM:ss",
        singleLine: true,
      })
    : destination;
  return pino({ level, redact: REDACTED, base: undefined, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}
