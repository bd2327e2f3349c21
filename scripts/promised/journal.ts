/** What readers of journals may rely on (docs/promises.md): a record of each kind as it is written, with every field that it can have. */
import type { LedgerNote } from "../../src/journal/ledger.ts";
import { type ResponseRecord, splitRecord } from "../../src/journal/record.ts";
import type { Promised } from "./program.ts";

const AT = "2026-11-20T22:50:00.123456Z";
const ID = "01a2304f-3238-735f-a1e5-9475fe59918b";

const RESPONSE: Required<ResponseRecord> = {
  kind: "response",
  requestId: ID,
  observedAt: AT,
  requestedAt: AT,
  source: { kind: "account", name: "an account" },
  account: "second",
  service: "tradier",
  jobs: ["job"],
  slotAt: AT,
  request: { form: "symbols", symbols: ["AAPL"], delayed: false },
  status: 200,
  headers: { date: "Fri, 20 Nov 2026 22:50:00 GMT" },
  body: Buffer.from("{}"),
};

const SHARES = { account: "second", due: ["AAPL"], others: [{ account: "third", due: ["GE"] }] };

/** By its type, a note of each kind with all its fields. */
const NOTES: { readonly [Type in LedgerNote["type"]]: Required<Extract<LedgerNote, { type: Type }>> } = {
  opened: { type: "opened", source: "account", run: ID, job: "job", slotAt: AT, endsAt: AT, ...SHARES },
  slots: {
    type: "slots",
    source: "account",
    run: ID,
    entries: [{ job: "job", slotAt: AT, account: "second", due: ["AAPL"], misses: [["AAPL", "budget"]] }],
  },
  down: { type: "down", source: "account", job: "job", slots: [AT], ...SHARES },
  clock: { type: "clock", source: "account", at: AT, kind: "slept", stepMs: 5_000 },
};

/** The heads of records, as JSON, by what they are: `response`, `note of slots`. */
export function recordHeads(): Promised {
  const records = [
    ["response", RESPONSE] as const,
    ...Object.values(NOTES).map((note) => [`note of ${note.type}`, { kind: "note", at: AT, note }] as const),
  ];
  return Object.fromEntries(
    records.map(([name, record]) => [name, Buffer.from(splitRecord(record).head).toString()]),
  );
}

/** Each field of heads, with its type: `note of slots: note.entries[].due[]`. */
export function headFields(heads: Promised): Promised {
  return Object.fromEntries(
    Object.entries(heads).flatMap(([name, head]) => fieldsBelow(`${name}: `, JSON.parse(head))),
  );
}

function fieldsBelow(path: string, value: unknown): [string, string][] {
  if (Array.isArray(value)) return [[path, "list"], ...fieldsBelow(`${path}[]`, value[0])];
  if (typeof value !== "object" || value === null) return [[path, typeof value]];
  return Object.entries(value).flatMap(([name, below]) =>
    fieldsBelow(path.endsWith(" ") ? `${path}${name}` : `${path}.${name}`, below),
  );
}
