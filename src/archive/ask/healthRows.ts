/**
 * Calls, misses, lateness and take-overs of weeks. The database adds up: an answer has some hundred columns, however many
 * rows there are. Sources are given by number, so that no statement looks them up for each row.
 */
import type pg from "pg";
import type { LedgerSource } from "../../journal/ledger.ts";
import type { Queryable } from "../connect/transaction.ts";
import { isoOf, readPolledMarket } from "./queries.ts";
import type { SourceKind } from "./dashboardTypes.ts";
import type {
  CallCount,
  DueCount,
  HealthView,
  Lateness,
  MissCount,
  Span,
  Step,
  TakeOver,
} from "./healthTypes.ts";

/** What is added up: columns of a width, of the sources with these numbers. */
type Asked = { step: Step; sourceIds: readonly number[] };

/** The length of the part of a span that one statement reads, in ms. */
const PIECE_MS = 7 * 86_400_000;

/** Instants whose slots are looked at for the lateness, over all columns: all slots would be each row of the span. */
const INSTANTS_LOOKED_AT = 1_000;

/** Its multiples, without what stands before the point, are spread evenly however many there are. */
const GOLDEN = 0.618034;

/** An answer is looked for within this time after its slot, or until the next slot. */
const LATEST = "interval '1 hour'";

const MOST_TAKE_OVERS = 300;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The finest width with at most some hundred columns. */
function stepOf({ from, to }: Span): Step {
  const spanMs = Date.parse(to) - Date.parse(from);
  if (spanMs <= 12 * HOUR_MS) return "minute";
  return spanMs <= 28 * DAY_MS ? "hour" : "day";
}

/**
 * Health of one market. Asked for in pieces: weeks of answers are millions of rows, and neither may a statement of the
 * dashboard take long nor may its connections be kept from others, which have their turn between two pieces.
 *
 * @param options.configured which market the configuration names; shown where no other is asked for
 * @param options.source another one, or what was imported, of which there are no calls
 */
export async function readHealth(
  pool: pg.Pool,
  span: Span,
  { configured, source = null }: { configured: LedgerSource; source?: SourceKind | null },
): Promise<HealthView> {
  const { answers } = await readPolledMarket(pool, configured);
  const chosen = source ?? answers;
  const { rows } = await pool.query<{ id: number; kind: SourceKind }>(
    "select id, kind from sources order by id",
  );
  const asked = {
    step: stepOf(span),
    sourceIds: rows.filter(({ kind }) => kind === chosen).map(({ id }) => id),
  };
  const [called, ledger] = await Promise.all([
    inPieces(span, (piece) => readCalls(pool, piece, asked)),
    readLedger(pool, span, { ...asked, kind: chosen }),
  ]);
  const calls = called.filter(({ kind }) => kind === chosen).map(({ kind: _kind, ...row }) => row);
  const others = called.flatMap(({ kind }) => (kind === "import" ? [] : [kind]));
  return {
    ...span,
    step: asked.step,
    source: chosen,
    sources: [...new Set([answers, chosen, ...others])],
    calls: chosen === "import" ? [] : calls,
    ...ledger,
  };
}

type LedgerPart = Pick<HealthView, "misses" | "due" | "lateness" | "takeOvers">;

/** Its statements follow each other: with those that count calls, two of the dashboard's connections are in use. */
async function readLedger(
  pool: pg.Pool,
  span: Span,
  { kind, ...asked }: Asked & { kind: SourceKind },
): Promise<LedgerPart> {
  const due = await inPieces(span, (piece) => readDue(pool, piece, asked));
  return {
    misses: await inPieces(span, (piece) => readMissCounts(pool, piece, asked)),
    due: due.map(({ slots: _slots, ...row }) => row),
    lateness: kind === "import" ? [] : await readLateness(pool, due, asked),
    takeOvers: await readTakeOvers(pool, span),
  };
}

/** Reads a span piece by piece; what two pieces say of the same column is added up. Rows are named by their texts. */
async function inPieces<Row extends object>(
  span: Span,
  read: (piece: Span) => Promise<Row[]>,
): Promise<Row[]> {
  const sums = new Map<string, Row>();
  const end = Date.parse(span.to);
  for (let from = Date.parse(span.from); from < end; from += PIECE_MS) {
    const to = Math.min(end, from + PIECE_MS);
    for (const row of await read({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })) {
      const name = Object.values(row)
        .filter((value) => typeof value === "string")
        .join();
      const before = sums.get(name);
      sums.set(name, before ? addedUp(before, row) : row);
    }
  }
  return [...sums.values()];
}

function addedUp<Row extends object>(one: Row, other: Row): Row {
  const values = Object.entries(other).map(([name, value]: [string, unknown]) => {
    const before = one[name as keyof Row];
    return [name, typeof value === "number" && typeof before === "number" ? before + value : value];
  });
  return Object.fromEntries(values) as Row;
}

/** Bins are minutes or hours; days are made of hours. */
const WIDTH = "case when $3 = 'minute' then interval '1 minute' else interval '1 hour' end";
/** `date_bin` is arithmetic, where `date_trunc` in a zone looks up its rules for each row. */
const binned = (column: string): string => `date_bin(${WIDTH}, ${column}, timestamptz '2020-01-01Z')`;
const COLUMN = "case when $3 = 'day' then date_trunc('day', bin, 'America/New_York') else bin end";

/**
 * Of all sources: those of another market say that there is one. Each bin is counted by itself, so that the database reads
 * the keys of its rows alone, and of no others. Each answer counts as one with quotes first, and those without, of which
 * an index knows, are taken from that again.
 */
async function readCalls(
  pool: Queryable,
  { from, to }: Span,
  { step }: Asked,
): Promise<(CallCount & { kind: SourceKind })[]> {
  const { rows } = await pool.query<CallCount & { kind: SourceKind }>(
    `select ${COLUMN} as at, kind, outcome, sum(n)::float8 as calls
     from (select bin, source_id, 'quotes' as outcome, n
           from generate_series(${binned("$1::timestamptz")}, $2::timestamptz, ${WIDTH}) bin,
             lateral (select source_id, count(*) as n from responses
                      where observed_at >= greatest(bin, $1) and observed_at < least(bin + ${WIDTH}, $2) group by 1) each
           union all
           select ${binned("observed_at")}, source_id, unnest(array[outcome, 'quotes']), unnest(array[1, -1]) from responses
           where observed_at >= $1 and observed_at < $2 and outcome <> 'quotes') b join sources on sources.id = source_id
     group by 1, 2, 3 having sum(n) > 0 order by 1, 2, 3`,
    [from, to, step],
  );
  return rows.map((row) => ({ ...row, at: isoOf(row.at) }));
}

/** A row for `*` is a miss of all that was due at its slot; no other row needs its slot to be looked up. */
async function readMissCounts(pool: Queryable, piece: Span, asked: Asked): Promise<MissCount[]> {
  const { rows } = await pool.query<MissCount>(
    `select ${COLUMN} as at, reason, sum(n)::float8 as missed
     from (select ${binned("slot_at")} as bin, reason, count(*) as n from misses
           where slot_at >= $1 and slot_at < $2 and source_id = any ($4) and instrument <> '*' group by 1, 2
           union all
           select ${binned("m.slot_at")}, m.reason, sum(s.due) from misses m join slots s using (job, slot_at, source_id, account_id)
           where m.slot_at >= $1 and m.slot_at < $2 and m.source_id = any ($4) and m.instrument = '*' group by 1, 2) b
     group by 1, 2 order by 1, 2`,
    [piece.from, piece.to, asked.step, asked.sourceIds],
  );
  return rows.map((row) => ({ ...row, at: isoOf(row.at) }));
}

type DueColumn = DueCount & { slots: number };

async function readDue(pool: Queryable, piece: Span, asked: Asked): Promise<DueColumn[]> {
  const { rows } = await pool.query<DueColumn>(
    `select ${COLUMN} as at, sum(due)::float8 as due, sum(stored)::float8 as stored, sum(slots)::float8 as slots
     from (select ${binned("slot_at")} as bin, sum(due) as due, sum(stored) as stored, count(*) as slots
           from (select job, slot_at, sum(due) as due, sum(stored) as stored from slots
                 where slot_at >= $1 and slot_at < $2 and source_id = any ($4) group by 1, 2) each
           group by 1) b
     group by 1 order by 1`,
    [piece.from, piece.to, asked.step, asked.sourceIds],
  );
  return rows.map((row) => ({ ...row, at: isoOf(row.at) }));
}

const COLUMN_MS: Record<Step, number> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

/**
 * Instants of each column: the slots that come next after them are looked at. In a column of a minute it begins with the
 * minute; in longer ones a step of the golden ratio keeps them off the full hour, at which slow jobs have their slots.
 */
function probesOf(due: readonly DueColumn[], step: Step): { column: string; probe: string; until: string }[] {
  const each = Math.max(1, Math.floor(INSTANTS_LOOKED_AT / Math.max(1, due.length)));
  return due.flatMap(({ at }, place) =>
    Array.from({ length: each }, (_, index) => {
      const share = (index / each + (step === "minute" ? 0 : place * GOLDEN)) % 1;
      const [fromMs, widthMs] = [Date.parse(at), COLUMN_MS[step]];
      return {
        column: at,
        probe: new Date(fromMs + Math.floor(share * widthMs)).toISOString(),
        until: new Date(fromMs + widthMs).toISOString(),
      };
    }),
  );
}

/**
 * How long after their slots the answers with quotes arrived: of some slots of each column, chosen by the clock alone. An
 * answer is of the last slot of its job before its call.
 */
async function readLateness(
  pool: Queryable,
  due: readonly DueColumn[],
  { step, sourceIds }: Asked,
): Promise<Lateness[]> {
  const probes = probesOf(due, step);
  const { rows } = await pool.query<Lateness>(
    `with looked as materialized (
       select distinct p.at, s.job, s.slot_at, least(s.slot_at + ${LATEST}, (
         select min(n.slot_at) from slots n where n.job = s.job and n.slot_at > s.slot_at and n.source_id = any ($4))) as ends_at
       from unnest($1::timestamptz[], $2::timestamptz[], $3::timestamptz[]) as p (at, probe, until)
       join slots s on s.source_id = any ($4) and s.slot_at = (
         select min(n.slot_at) from slots n where n.slot_at >= p.probe and n.slot_at < p.until and n.source_id = any ($4))
     )
     select at, count(distinct (job, slot_at))::int as slots, percentile_cont(0.5) within group (order by late) as "medianMs",
       percentile_cont(0.95) within group (order by late) as "p95Ms", max(late) as "mostMs"
     from (select l.*, extract(epoch from r.observed_at - l.slot_at)::float8 * 1000 as late
           from looked l join responses r on r.observed_at >= l.slot_at and r.observed_at < l.ends_at + interval '1 minute'
             and r.requested_at >= l.slot_at and r.requested_at < l.ends_at and l.job = any (string_to_array(r.job, ','))
           where r.source_id = any ($4) and r.outcome = 'quotes') each
     group by 1 order by 1`,
    [...(["column", "probe", "until"] as const).map((name) => probes.map((probe) => probe[name])), sourceIds],
  );
  const slotsOf = new Map(due.map(({ at, slots }) => [at, slots]));
  return rows.map(({ at, ...row }) => ({ ...row, at: isoOf(at), of: slotsOf.get(isoOf(at)) ?? row.slots }));
}

/** Who took which account, newest first; the first holder of an account too. */
export async function readTakeOvers(pool: Queryable, { from, to }: Span): Promise<TakeOver[]> {
  const { rows } = await pool.query<TakeOver>(
    `select taken_at as at, name as account, how, left(previous, 100) as previous, left(collector, 100) as collector, fence::float8 as fence
     from lease_history join accounts on accounts.id = account_id
     where taken_at >= $1 and taken_at < $2 order by taken_at desc, name limit ${MOST_TAKE_OVERS}`,
    [from, to],
  );
  return rows.map((row) => ({ ...row, at: isoOf(row.at) }));
}
