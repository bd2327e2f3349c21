/**
 * Which of the database's errors blame the data of a row, and not the database. A row's SQLSTATE does not tell: the same
 * ones come out of the statements and functions around it. What counts is where the error happened, and that the row
 * meets it alone (storeAnswers.ts, loadNotes.ts). docs/decisions/whose-fault.md
 */
import { sqlstateOf } from "./databaseError.ts";

/** SQLSTATE classes a row may be to blame for: 22 (data exception), 23 (integrity constraint), 54 (limit). Appendix A. */
const MAY_BE_OF_A_ROW = /^(22|23|54)/;

/** COPY meets it before it has cut its line into columns. */
const NO_SUCH_CHARACTER = "22021";
const NOT_NULL_VIOLATION = "23502";
/** SQLSTATE unique_violation: a row of that key is there. */
export const UNIQUE_VIOLATION = "23505";
const CHECK_VIOLATION = "23514";

/** The fields of an error that PostgreSQL sends with its message. Protocol, "Error and Notice Message Fields". */
type Fields = { constraint?: string; column?: string; where?: string };

/** Whether some row may be to blame: then storing them one by one tells whether one is. */
export function mayBeOfARow(error: unknown): error is { code: string; message: string } {
  return MAY_BE_OF_A_ROW.test(sqlstateOf(error)) && !isWithoutPartition(error);
}

/**
 * Whether the error that a row has met alone is of this row: its own text was no value of the type of its column or
 * parameter, or a constraint or an index of its table refused it. Whatever happened within a function, a trigger or an
 * expression is not.
 */
export function isOfItsRow(error: unknown): error is { code: string; message: string } {
  if (!mayBeOfARow(error)) return false;
  const { where } = error as Fields;
  const { constraint, column } = namesIn(error);
  // The innermost place comes first: a trigger's function before the COPY that fired it. Citus says on which node it was.
  const [place = ""] = (where ?? "").replace(ON_A_NODE, "").split("\n");
  const ofValue = COPIED_COLUMN.test(place) || PARAMETER.test(place);
  const inCopy = place.startsWith("COPY ");
  if (error.code === NO_SUCH_CHARACTER) return ofValue || inCopy;
  if (error.code.startsWith("22")) return ofValue;
  if (place !== "" && !inCopy && !ofValue) return false;
  if (error.code === NOT_NULL_VIOLATION) return column !== undefined;
  return (error.code === CHECK_VIOLATION || error.code.startsWith("54")) && constraint !== undefined;
}

/**
 * Code and words of a refusal, for a dead letter. TimescaleDB makes a chunk for the row it then refuses, and takes it back
 * with the row: its number would be another at each load, and the letter a new one. Nor is a shard's number of Citus the row's.
 */
export function refusalOf({ code, message }: { code: string; message: string }): string {
  return `${code}: ${message.replaceAll(/_hyper_\d+_\d+_chunk/g, "chunk").replaceAll(/"(\w+_\d{4}_\d\d)_\d{6,}"/g, '"$1"')}`;
}

/** The first line of the place of an error on another node. */
const ON_A_NODE = /^while executing command on [^\n]*\n?/;

/** What an error names. Of an error on another node Citus passes on the words alone. */
function namesIn(error: unknown): Pick<Fields, "constraint" | "column"> {
  const { constraint, column, where = "" } = error as Fields;
  if (!ON_A_NODE.test(where)) return { ...(constraint && { constraint }), ...(column && { column }) };
  const { message = "" } = error as { message?: string };
  const [, named] = /constraint "([^"]+)"$/.exec(message) ?? [];
  const [, of] = /column "([^"]+)"/.exec(message) ?? [];
  return { ...(named && { constraint: named }), ...(of && { column: of }) };
}

/** `COPY quotes, line 3, column bid: "x"`; the words between are the server's language. */
const COPIED_COLUMN = /^COPY [^,]+, [^,:]*\d[^,:]*, [^:]+: /;

/** `unnamed portal parameter $3 = '...'`, and nothing of a statement or function. */
const PARAMETER = /^(?!.*\bSQL\b)[^:"]*(?:"[^"]*"[^:"]*)?\$\d+(?: = .*)?$/;

/** 23514 without a constraint's name: a partition was taken away meanwhile. That is no fault of the row. */
export function isWithoutPartition(error: unknown): boolean {
  return sqlstateOf(error) === CHECK_VIOLATION && namesIn(error).constraint === undefined;
}
