/** How a piece of a table of quotes stands in the journal, in place of a call. */

/** The body is CSV: a line with the names of columns (plainTable.ts), then the rows. Plain JSON. */
export type PlainCall = {
  form: "plain";
  /** Base name of the file that was imported. */
  file: string;
  /** The line of the file, from 1 on, at which the first row of the piece begins; null: a map made the rows, which name their own. */
  firstLine: number | null;
  rows: number;
  /** Whether its rows take the place of earlier ones that say something else (`backfill --csv --replace`). Absent: they do not. */
  replace?: true;
  /** With `replace`: the rows of the piece, each by its time and the name of its instrument. */
  replaces?: string[];
};

/** Whether a record's request is one. */
export function isPlainCall(request: unknown): request is PlainCall {
  return formOf(request) === "plain";
}

/** Whether a record is a piece of a file that a YAML map describes. Checkouts before 0.9.0 wrote those; nothing reads them any more. */
export function isYamlPiece(request: unknown): boolean {
  return formOf(request) === "csv";
}

function formOf(request: unknown): unknown {
  return (request as { form?: unknown } | null | undefined)?.form;
}
