/** What the journal keeps: answers of the service, byte for byte, and notes about what happened around them. */
import type { Instant } from "../ground/clock.ts";
import { parsedJson } from "../ground/outsideText.ts";

/** Real and simulated answers can never be mistaken for one another. */
export type RecordSource = {
  kind: "account" | "simulated" | "import";
  /** Of an account, a market seed or an import, in words. */
  name: string;
  /** Of contracts: the source of the same kind that has the prices of their underlyings. Absent: this one. */
  spot?: string;
  /** Of contracts: the one that has their open interest. Absent: this one. */
  interest?: string;
};

/** The account of a record that names none, and of everybody who has a single account. */
export const DEFAULT_ACCOUNT = "default";

/** The service of a record that names none: the specification's. */
export const DEFAULT_SERVICE = "reference";

export type ResponseRecord = {
  kind: "response";
  /** UUIDv7, made before the call was sent. */
  requestId: string;
  /** When the answer had arrived; names the answer. */
  observedAt: Instant;
  requestedAt: Instant;
  source: RecordSource;
  /** Absent: `DEFAULT_ACCOUNT`. */
  account?: string;
  /** The service that answered, by its name. Absent: the specification's. */
  service?: string;
  /** Names of the jobs behind the call; empty for a call by hand. */
  jobs: string[];
  /** Null for a call by hand. */
  slotAt: Instant | null;
  /** Plain JSON, without credentials. */
  request: unknown;
  status: number;
  /** Only the headers this program uses, names in lower case. */
  headers: Record<string, string>;
  body: Uint8Array;
};

/** Something worth keeping that is no answer: a slot's ledger entry, a call nobody answered. `note` is plain JSON. */
type NoteRecord = {
  kind: "note";
  at: Instant;
  note: unknown;
};

export type JournalRecord = ResponseRecord | NoteRecord;

const NO_BODY = new Uint8Array(0);

/** A record in two parts: the head (JSON, everything but the body) and the body. */
export function splitRecord(record: JournalRecord): { head: Uint8Array; body: Uint8Array } {
  if (record.kind === "note") return { head: Buffer.from(JSON.stringify(record)), body: NO_BODY };
  const { body, account = DEFAULT_ACCOUNT, service = DEFAULT_SERVICE, ...rest } = record;
  // With a single account of the first service the journal is the one that there was before there were several.
  const head = {
    ...rest,
    ...(account !== DEFAULT_ACCOUNT && { account }),
    ...(service !== DEFAULT_SERVICE && { service }),
  };
  return { head: Buffer.from(JSON.stringify(head)), body };
}

/**
 * The record of a head and a body whose checksum holds.
 *
 * @param head JSON as `splitRecord` writes it
 * @param body becomes the record's own: not to be changed afterwards
 * @returns null when this version does not know such a record
 */
export function joinRecord(head: Buffer, body: Uint8Array): JournalRecord | null {
  const value = parsedJson(head.toString("utf8"));
  if (typeof value !== "object" || value === null) return null;
  const fields = value as Record<string, unknown>;
  if (fields["kind"] === "note" && typeof fields["at"] === "string")
    return { note: null, ...fields } as NoteRecord;
  return isResponseHead(fields) ? ({ ...fields, body } as ResponseRecord) : null;
}

function isResponseHead(fields: Record<string, unknown>): boolean {
  return (
    fields["kind"] === "response" &&
    ["requestId", "observedAt", "requestedAt"].every((name) => typeof fields[name] === "string") &&
    ["source", "headers"].every((name) => typeof fields[name] === "object" && fields[name] !== null) &&
    ["account", "service"].every((name) => ["string", "undefined"].includes(typeof fields[name])) &&
    Array.isArray(fields["jobs"]) &&
    typeof fields["status"] === "number"
  );
}

/** `from` is included and `to` is not; null: no bound. */
export type TimeRange = { from: Instant | null; to: Instant | null };

export const EVER: TimeRange = { from: null, to: null };

/** Whether a record lies within a range: an answer by when it arrived, a note by when it was written. */
export function isWithin({ from, to }: TimeRange): (record: JournalRecord) => boolean {
  return (record) => {
    const at = record.kind === "response" ? record.observedAt : record.at;
    return (from === null || at >= from) && (to === null || at < to);
  };
}
