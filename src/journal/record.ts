/** What the journal keeps: answers of the service, byte for byte, and notes about what happened around them. */
import type { Instant } from "../clock.ts";

/** Where an answer comes from; real and simulated ones can never be mistaken for one another. */
export type RecordSource = {
  kind: "account" | "simulated" | "import";
  /** Which account, market seed or import, in words. */
  name: string;
};

/** The account of a record that names none: the only one of whoever has one account. */
export const DEFAULT_ACCOUNT = "default";

/** One answer of the service, whole, as it arrived. */
export type ResponseRecord = {
  kind: "response";
  /** UUIDv7, made before the call was sent. */
  requestId: string;
  /** When the answer had arrived; names the answer. */
  observedAt: Instant;
  /** When the call was sent. */
  requestedAt: Instant;
  source: RecordSource;
  /** The account that the call was made with; absent: `DEFAULT_ACCOUNT`. */
  account?: string;
  /** Names of the jobs the call was made for; empty for a call by hand. */
  jobs: string[];
  /** The slot the poll was for; null for a call by hand. */
  slotAt: Instant | null;
  /** The call as plain JSON, without credentials. */
  request: unknown;
  /** HTTP status. */
  status: number;
  /** Only the headers this program uses, names in lower case. */
  headers: Record<string, string>;
  /** The body's bytes, untouched. */
  body: Uint8Array;
};

/** Something worth keeping that is no answer: a slot's ledger entry, a call nobody answered. */
type NoteRecord = {
  kind: "note";
  at: Instant;
  /** Plain JSON. */
  note: unknown;
};

/** One entry of the journal. */
export type JournalRecord = ResponseRecord | NoteRecord;

const NO_BODY = new Uint8Array(0);

/** A record as two stretches of bytes: the head (JSON, everything but the body) and the body. */
export function splitRecord(record: JournalRecord): { head: Uint8Array; body: Uint8Array } {
  if (record.kind === "note") return { head: Buffer.from(JSON.stringify(record)), body: NO_BODY };
  const { body, account, ...rest } = record;
  // Who has one account has the journal that there was before there were several.
  const head = account === undefined || account === DEFAULT_ACCOUNT ? rest : { ...rest, account };
  return { head: Buffer.from(JSON.stringify(head)), body };
}

/**
 * The record of a head and a body whose checksum holds.
 *
 * @param head JSON as `splitRecord` writes it
 * @param body becomes the record's own: not to be changed afterwards
 * @returns null when the head is no record this version knows
 */
export function joinRecord(head: Buffer, body: Uint8Array): JournalRecord | null {
  const value = parseJson(head.toString("utf8"));
  if (typeof value !== "object" || value === null) return null;
  const fields = value as Record<string, unknown>;
  if (fields["kind"] === "note" && typeof fields["at"] === "string")
    return { note: null, ...fields } as NoteRecord;
  return isResponseHead(fields) ? ({ ...fields, body } as ResponseRecord) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isResponseHead(fields: Record<string, unknown>): boolean {
  return (
    fields["kind"] === "response" &&
    ["requestId", "observedAt", "requestedAt"].every((name) => typeof fields[name] === "string") &&
    ["source", "headers"].every((name) => typeof fields[name] === "object" && fields[name] !== null) &&
    ["string", "undefined"].includes(typeof fields["account"]) &&
    Array.isArray(fields["jobs"]) &&
    typeof fields["status"] === "number"
  );
}

/** A stretch of time, `from` included and `to` not; null: no bound. */
export type TimeRange = { from: Instant | null; to: Instant | null };

/** No bounds. */
export const EVER: TimeRange = { from: null, to: null };

/** Whether a record lies within a range: an answer by when it arrived, a note by when it was written. */
export function isWithin({ from, to }: TimeRange): (record: JournalRecord) => boolean {
  return (record) => {
    const at = record.kind === "response" ? record.observedAt : record.at;
    return (from === null || at >= from) && (to === null || at < to);
  };
}
