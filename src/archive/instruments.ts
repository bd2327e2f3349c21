/** The archive's directory of instruments, sources and accounts: finds their numbers, adds new ones, keeps them current. */
import type pg from "pg";
import type { Instant } from "../clock.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import { cleanText } from "../outsideText.ts";
import { clean, DESCRIBED, IDENTITY, instrumentColumns } from "./insert.ts";
import { isDescribedAlike, type KnownInstruments } from "./knownInstruments.ts";
import { accounts, instruments, sources } from "./schema.ts";
import { ensureExpirations } from "./sessions.ts";
import { columnList } from "./tableRows.ts";
import { isOnCitus } from "./tiers/citus.ts";
import { ADDING_LOCK } from "./transaction.ts";
import { rootOf, UNDERLYING_OF_ROOT } from "../market/root.ts";
import type { InstrumentRow, QuoteUnit } from "../read/rowTypes.ts";

const CONTRACT_NAME =
  "coalesce(':' || i.expiration || ':' || i.option_type || ':' || trim_scale(i.strike), '')";

/**
 * The name of an instrument as the ledger writes it, `AAPL`, `AAPL:2026-12-18:CALL:150` or `SPX/SPXW:2026-12-18:CALL:5000`: SQL of a
 * row `i`.
 */
export const INSTRUMENT_NAME = `i.symbol || coalesce('/' || i.root, '') || ${CONTRACT_NAME}`;

/** SQL of an array of texts, one of which is `coalesce(i.root, i.symbol)` of a row `i` that a name means: an index has them. */
export const rootsOf = (name: string): string =>
  `array[split_part(${name}, ':', 1), regexp_replace(split_part(${name}, ':', 1), '^.*/', '')]`;

/** Whether a row `i` is what a name means, SQL: a contract is also found by its root alone, `SPXW:2026-12-18:CALL:5000`. */
export const isNamed = (name: string): string =>
  `coalesce(i.root, i.symbol) = any (${rootsOf(name)})
   and ${name} in (${INSTRUMENT_NAME}, coalesce(i.root, i.symbol) || ${CONTRACT_NAME})`;

/** An instrument of a batch: its newest description, and when it was seen first and last. */
export type Seen = {
  row: InstrumentRow;
  first: Instant;
  last: Instant;
  /** When each word of the description was said last, where that was not `last`. */
  saidAt?: SaidAt | undefined;
};

/** Times by words of the description; without a time: when the instrument was seen last. */
type SaidAt = Partial<Record<(typeof DESCRIBED)[number], Instant | null>>;

/** What batches say of instruments, by number. */
export type SeenInstruments = Map<number, Seen>;

/** Numbers of a batch's instruments. */
type PlacedInstruments = {
  /** In the order of the units. */
  ids: number[];
  /** What the batch says of each of them, for `refreshInstruments`. */
  seen: SeenInstruments;
};

/** An instrument, and when it was seen. */
export type Sighting = Pick<QuoteUnit, "instrument" | "observedAt"> & Pick<Seen, "saidAt">;

/** Numbers of the instruments of `units`. New instruments are added, underlyings before their options. */
export async function placeInstruments(
  client: pg.ClientBase,
  units: readonly Sighting[],
): Promise<PlacedInstruments> {
  const found = seenInstruments(units);
  const { ids } = await findOrAdd(client, found.seen);
  return { ids: found.places.map((place) => ids[place] ?? 0), seen: seenByNumber(found.seen, ids) };
}

/** What units say of instruments that are there; of others nothing. */
export async function findSeen(client: pg.ClientBase, units: readonly Sighting[]): Promise<SeenInstruments> {
  const { seen } = seenInstruments(units);
  const byId: SeenInstruments = new Map();
  const found = await find(client, seen);
  seen.forEach((entry, place) => {
    const id = found[place]?.id ?? null;
    if (id !== null) addSeen(byId, id, entry);
  });
  return byId;
}

/** Numbers of instruments, each in its place: from memory, else as `placeInstruments`; then they are remembered. */
export async function placeSeen(
  client: pg.ClientBase,
  seen: readonly Seen[],
  known: KnownInstruments,
): Promise<number[]> {
  const identities = seen.map(({ row }) => identityText(row));
  const remembered = seen.map(({ row }, place) => known.get(identities[place] ?? "", row));
  if (!remembered.includes(undefined)) return remembered as number[];
  const { ids, added } = await findOrAdd(client, seen);
  known.take(
    seen.map(({ row }, place) => ({ identity: identities[place] ?? "", row, id: ids[place] ?? 0 })),
    added,
  );
  return ids;
}

/** What is said of instruments, by their numbers. */
export function seenByNumber(seen: readonly Seen[], ids: readonly number[]): SeenInstruments {
  const byId: SeenInstruments = new Map();
  seen.forEach((entry, place) => addSeen(byId, ids[place] ?? 0, entry));
  return byId;
}

/** Adds what later batches say of instruments. */
export function addAllSeen(to: SeenInstruments, later: SeenInstruments): void {
  for (const [id, entry] of later) addSeen(to, id, entry);
}

function addSeen(to: SeenInstruments, id: number, entry: Seen): void {
  const other = to.get(id);
  to.set(id, other ? merged(other, entry) : entry);
}

async function findOrAdd(
  client: pg.ClientBase,
  seen: readonly Seen[],
): Promise<{ ids: number[]; added: boolean }> {
  let found = await find(client, seen);
  const added = found.some((one, place) => one.id === null || corrects(one, seen[place]?.row));
  if (added) {
    await client.query(ADDING_LOCK);
    await addMissing(client, seen);
    found = await find(client, seen);
  }
  const ids = seen.map(({ row }, place) => {
    const id = found[place]?.id ?? null;
    if (id === null) throw new Error(`no number for the instrument ${JSON.stringify(row)}`);
    return id;
  });
  return { ids, added };
}

/**
 * Adds what is not there, and corrects what is known by less: a type that was only assumed, a contract by its root alone. Types that
 * an answer names come before assumed ones, which then find them; so do contracts with their roots before those by them alone.
 */
async function addMissing(client: pg.ClientBase, seen: readonly Seen[]): Promise<void> {
  const isOption = ({ row }: Seen) => row.underlying !== null;
  const securities = seen.filter((entry) => !isOption(entry));
  const options = seen.filter(isOption);
  const isAlone = ({ row }: Seen) => UNDERLYING_OF_ROOT.has(row.symbol);
  const changed = new Set<string>();
  for (const some of [
    securities.filter(({ row }) => !row.assumedType),
    securities.filter(({ row }) => row.assumedType),
    options.filter(({ row }) => hasRoot(row)),
    options.filter((entry) => !hasRoot(entry.row) && !isAlone(entry)),
    options.filter((entry) => !hasRoot(entry.row) && isAlone(entry)),
  ]) {
    if (some.length === 0) continue;
    let found = await find(client, some);
    const corrected = some.flatMap(({ row }, place) => {
      const one = found[place];
      return one && corrects(one, row) ? [{ row, id: one.id }] : [];
    });
    if (corrected.length > 0) {
      await correct(client, corrected);
      found = await find(client, some);
    }
    const missing = some.filter((_, place) => (found[place]?.id ?? null) === null);
    if (missing.length > 0) await add(client, missing);
    for (const { row } of corrected) changed.add(row.symbol);
    for (const entry of missing) if (!isOption(entry)) changed.add(entry.row.symbol);
  }
  await linkContracts(client, [...changed]);
}

function hasRoot({ root }: InstrumentRow): boolean {
  return (root ?? null) !== null;
}

/** One entry for each instrument, and for each unit the place of its own. */
type FoundInstruments = { seen: Seen[]; places: number[] };

function seenInstruments(units: readonly Sighting[]): FoundInstruments {
  const seen: Seen[] = [];
  const placeOf = new Map<string, number>();
  const places = units.map(({ instrument, observedAt, saidAt }) => {
    const identity = identityText(instrument);
    const place = placeOf.get(identity) ?? seen.length;
    const entry = seen[place];
    placeOf.set(identity, place);
    const sighting = { row: instrument, first: observedAt, last: observedAt, saidAt };
    if (saidAt === undefined) seen[place] = seenAgain(entry, instrument, observedAt);
    else seen[place] = entry === undefined ? sighting : merged(entry, sighting);
    return place;
  });
  return { seen, places };
}

/** An entry after one more answer: mostly that says what those before it have said. */
export function seenAgain(known: Seen | undefined, row: InstrumentRow, at: Instant): Seen {
  if (known === undefined) return { row, first: at, last: at };
  if (at < known.last || !isDescribedAlike(row, known.row))
    return merged(known, { row, first: at, last: at });
  known.last = at;
  known.saidAt = undefined;
  return known;
}

/** Two entries of one instrument, in whatever order they come: of each word of the description the one that was said last. */
function merged(a: Seen, b: Seen): Seen {
  const [sure, other] = b.row.assumedType && !a.row.assumedType ? [a.row, b.row] : [b.row, a.row];
  const row = {
    ...sure,
    underlying: leastOther(a.row, b.row) ?? sure.underlying,
    assumedType: a.row.assumedType && b.row.assumedType,
    writtenStrike: sure.writtenStrike ?? other.writtenStrike,
  };
  const saidAt: SaidAt = {};
  for (const field of DESCRIBED) {
    const said = isNewerWord(field, a, b) ? a : b;
    row[field] = said.row[field];
    saidAt[field] = saidOf(field, said);
  }
  return {
    ...{ row, saidAt },
    first: a.first < b.first ? a.first : b.first,
    last: a.last > b.last ? a.last : b.last,
  };
}

function saidOf(field: (typeof DESCRIBED)[number], { row, last, saidAt }: Seen): Instant | null {
  return row[field] === null ? null : (saidAt?.[field] ?? last);
}

/** Of two words of one time the greater one counts as newer, as the database compares them. */
function isNewerWord(field: (typeof DESCRIBED)[number], a: Seen, b: Seen): boolean {
  const [atA, atB] = [saidOf(field, a), saidOf(field, b)];
  if (atA === null || atB === null) return atB === null;
  if (atA !== atB) return atA > atB;
  return Buffer.compare(Buffer.from(a.row[field] ?? ""), Buffer.from(b.row[field] ?? "")) > 0;
}

/** An underlying of another symbol, which an answer brought along, goes before the option's own. */
function leastOther(a: InstrumentRow, b: InstrumentRow): string | undefined {
  return [otherUnderlying(a), otherUnderlying(b)].filter((symbol) => symbol !== null).sort()[0];
}

function otherUnderlying({ symbol, underlying }: InstrumentRow): string | null {
  return underlying === symbol ? null : underlying;
}

/** With its strike in the digits that it is stored in. */
export function withWrittenStrike(row: InstrumentRow): InstrumentRow {
  return { ...row, strike: row.writtenStrike ?? row.strike };
}

/** What an instrument is known as; nulls where it is not there. */
type Found = { id: number | null; symbol: string; root: string | null; type_assumed: boolean };

/** Whether a row says more than an instrument is known by: the type that was assumed, or what a root belongs to. */
function corrects(found: Found, row: InstrumentRow | undefined): boolean {
  if (found.id === null || row === undefined) return false;
  if (row.underlying === null) return found.type_assumed && !row.assumedType;
  if (found.root !== null || (found.symbol === row.symbol && !hasRoot(row))) return false;
  return hasRoot(row) || rootOf({ underlying: row.symbol }) === found.symbol;
}

/** Another symbol by which a contract is known that is named without a root: BRKB for BRK.B, and the other way round. */
function otherSymbol({ symbol, root, underlying }: InstrumentRow): string | null {
  if (underlying === null || (root ?? null) !== null) return null;
  const own = rootOf({ underlying: symbol });
  if (own !== symbol) return own;
  const longer = UNDERLYING_OF_ROOT.get(symbol);
  return longer !== undefined && rootOf({ underlying: longer }) === symbol ? longer : null;
}

/** Whether a row `i` is the instrument of a row `w`, SQL: a contract is the same with its underlying and by its root alone. */
export const IS_SAME_INSTRUMENT = `coalesce(i.root, i.symbol) = coalesce(w.root, w.symbol)
   and (i.symbol = w.symbol or i.root is null or w.root is null)
   and (i.expiration, i.option_type, i.strike) is not distinct from (w.expiration, w.option_type, w.strike)`;

/**
 * The number of each instrument, null when it is not there. A security has one row although its type may only be assumed, of an
 * underlying (answerToRows.ts) or of a file without types: an assumed type finds whatever the symbol is known as, one that is
 * said finds what was only assumed. Equality and `is null` are said apart: `is not distinct from` uses no index.
 */
async function find(client: pg.ClientBase, seen: readonly Seen[]): Promise<Found[]> {
  const rows = seen.map(({ row }) => row);
  const { rows: found } = await client.query<Found>({
    name: "find instruments",
    text: `select f.id, f.symbol, f.root, f.type_assumed
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::text[], $7::bool[], $8::text[])
       with ordinality as w (security_type, symbol, expiration, option_type, strike, root, assumed, other, place)
     left join instruments f on f.id = coalesce(
       (select i.id from instruments i
        where i.security_type = w.security_type and coalesce(i.root, i.symbol) = any (array[coalesce(w.root, w.symbol), w.other])
          and i.expiration = w.expiration and i.option_type = w.option_type and i.strike = w.strike
          and (i.symbol = w.symbol or i.root is null or w.root is null)
        order by i.symbol = w.symbol and i.root is not distinct from w.root desc, i.id limit 1),
       (select i.id from instruments i
        where w.expiration is null and i.security_type = w.security_type and i.symbol = w.symbol
          and i.expiration is null and i.option_type is null and i.strike is null
          and not (w.assumed and i.type_assumed)),
       (select i.id from instruments i
        where w.expiration is null and i.symbol = w.symbol and i.option_type is null
          and (w.assumed or i.type_assumed)
        order by i.type_assumed, i.security_type <> w.security_type, i.id limit 1)
     )
     order by w.place`,
    values: [
      ...instrumentColumns(rows),
      rows.map(({ assumedType }) => assumedType),
      rows.map((row) => clean(otherSymbol(row))),
    ],
  });
  return found;
}

/** Gives instruments the types and names that are said of them; of several the first. */
async function correct(
  client: pg.ClientBase,
  said: readonly { id: number | null; row: InstrumentRow }[],
): Promise<void> {
  await client.query(
    `update instruments i
     set security_type = w.security_type, type_assumed = false, symbol = w.symbol, root = w.root,
         underlying_id = case when i.symbol = w.symbol then i.underlying_id end
     from (select distinct on (id) *
           from unnest($1::int[], $2::text[], $3::text[], $4::text[])
             with ordinality as given (id, security_type, symbol, root, place) order by id, place) w
     where i.id = w.id`,
    [
      said.map(({ id }) => id),
      ...instrumentColumns(
        said.map(({ row }) => row),
        ["securityType", "symbol", "root"],
      ),
    ],
  );
}

/**
 * Gives the contracts of some underlyings the security that they are on, whichever of them was there first. One that an answer has
 * given an underlying of another symbol keeps it.
 */
export async function linkContracts(
  client: Pick<pg.ClientBase, "query">,
  symbols: readonly string[],
): Promise<void> {
  if (symbols.length === 0) return;
  const locked = (await isOnCitus(client)) ? "" : "order by i.id for no key update of i";
  await client.query(
    `with o as materialized (
       select i.id, ${securityOf("u.symbol = i.symbol")} as underlying_id
       from instruments i
       where i.symbol = any ($1) and i.option_type is not null
         and not exists (select from instruments u where u.id = i.underlying_id and u.symbol <> i.symbol)
       ${locked}
     )
     update instruments i set underlying_id = o.underlying_id
     from o where i.id = o.id and i.underlying_id is distinct from o.underlying_id`,
    [symbols.map(clean)],
  );
}

async function add(client: pg.ClientBase, seen: readonly Seen[]): Promise<void> {
  const rows = seen.map(({ row }) => row);
  await ensureExpirations(
    client,
    rows.flatMap(({ expiration }) => expiration ?? []),
  );
  await client.query(
    `insert into instruments (${columnList(instruments, ...IDENTITY, ...DESCRIBED, "exchangeAt", "descriptionAt", "contractSizeAt", "underlyingId", "firstSeenAt", "lastSeenAt", "typeAssumed")})
     select w.security_type, w.symbol, w.expiration, w.option_type, w.strike, w.root, w.exchange, w.description, w.contract_size,
       ${WORDS.map((word) => `nullif(w.${word}_at, w.last_seen_at)`).join(", ")},
       ${securityOf("u.symbol = w.underlying")},
       w.first_seen_at, w.last_seen_at, w.assumed
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::text[], ${descriptionTypes(7)},
       $13::text[], $14::timestamptz[], $15::timestamptz[], $16::bool[])
       with ordinality as w (security_type, symbol, expiration, option_type, strike, root, ${DESCRIPTION},
         underlying, first_seen_at, last_seen_at, assumed, place)
     order by w.place
     on conflict on constraint instruments_identity do nothing`,
    [
      ...instrumentColumns(rows),
      ...descriptions(seen),
      rows.map(({ underlying }) => clean(underlying)),
      seen.map(({ first }) => first),
      seen.map(({ last }) => last),
      rows.map(({ assumedType }) => assumedType),
    ],
  );
}

/** What is said of instruments, and when each word of it was said last: names and types of parallel arrays. */
export const DESCRIPTION =
  "exchange, description, contract_size, exchange_at, description_at, contract_size_at";

/** Their types as parameters. @param from the number of the first */
export function descriptionTypes(from: number): string {
  const types = ["text[]", "text[]", "bigint[]", "timestamptz[]", "timestamptz[]", "timestamptz[]"];
  return types.map((type, place) => `$${from + place}::${type}`).join(", ");
}

/** Their values. */
function descriptions(seen: readonly Seen[]): (string | null)[][] {
  return [
    ...instrumentColumns(
      seen.map(({ row }) => row),
      DESCRIBED,
    ),
    ...DESCRIBED.map((field) => seen.map((entry) => saidOf(field, entry))),
  ];
}

/**
 * Descriptions and `last_seen_at` follow the newest answer, `first_seen_at` the oldest. Only rows that change are
 * written: an older answer, replayed, changes no description. Rows are locked in the order of their numbers.
 */
export async function refreshInstruments(client: pg.ClientBase, seen: SeenInstruments): Promise<void> {
  if (seen.size === 0) return;
  const entries = [...seen.values()];
  const rows = entries.map(({ row }) => row);
  const onCitus = await isOnCitus(client);
  await client.query({
    name: `refresh instruments${onCitus ? " on nodes" : ""}`,
    text: `${onCitus ? "" : REFRESHED_IN_ORDER}
     update instruments i
     set first_seen_at = least(i.first_seen_at, w.first_seen_at),
         last_seen_at = greatest(i.last_seen_at, w.last_seen_at),
         ${WORDS_SAID_LAST},
         underlying_id = ${UNDERLYING}
     from ${onCitus ? `${REFRESHED} where w.id = i.id and ${IS_NEWS}` : "w where i.id = w.id"}`,
    values: [
      [...seen.keys()],
      ...descriptions(entries),
      rows.map((row) => clean(otherUnderlying(row))),
      entries.map(({ first }) => first),
      entries.map(({ last }) => last),
    ],
  });
}

/** The security `u` of which something holds. Of several types one that is said goes first, then the first by its letters. */
function securityOf(which: string): string {
  return `(select u.id from instruments u where ${which} and u.option_type is null
     order by u.symbol collate "C", u.type_assumed, u.security_type collate "C" limit 1)`;
}

/**
 * What an option `i` is on, where a row `w` may give an underlying of another symbol: that one, or the one that another answer gave;
 * else the security of its own symbol.
 */
const UNDERLYING = `case when i.option_type is not null then coalesce(
    ${securityOf("(u.symbol = w.underlying or u.id = i.underlying_id and u.symbol <> i.symbol)")},
    ${securityOf("u.symbol = i.symbol")}) end`;

const REFRESHED = `unnest($1::int[], ${descriptionTypes(2)}, $8::text[], $9::timestamptz[], $10::timestamptz[])
  as w (id, ${DESCRIPTION}, underlying, first_seen_at, last_seen_at)`;

/** When a word of a row `i` was said: when it was seen last, unless another time is kept. */
const saidAtOf = (word: string): string => `coalesce(i.${word}_at, i.last_seen_at)`;

/** Whether a row `w` says a word later than `i`; of one time the greater one counts as later. */
const isLater = (word: string): string =>
  `(w.${word} is not null and (i.${word} is null
     or (w.${word}_at, w.${word}::text collate "C") > (${saidAtOf(word)}, i.${word}::text collate "C")))`;

const laterAt = (word: string): string =>
  `case when ${isLater(word)} then w.${word}_at when i.${word} is not null then ${saidAtOf(word)} end`;

const WORDS = DESCRIPTION.split(", ").slice(0, DESCRIBED.length);

const WORDS_SAID_LAST = WORDS.map(
  (word) => `${word} = case when ${isLater(word)} then w.${word} else i.${word} end,
         ${word}_at = nullif(${laterAt(word)}, greatest(i.last_seen_at, w.last_seen_at))`,
).join(",\n         ");

const IS_NEWS = `(w.last_seen_at > i.last_seen_at or w.first_seen_at < i.first_seen_at or ${WORDS.map(isLater).join(" or ")})`;

/** Of a table that all nodes have Citus locks the whole for whoever writes, and knows no `for update` in a statement's part. */
const REFRESHED_IN_ORDER = `with w as materialized (
    select w.* from instruments i join ${REFRESHED} on w.id = i.id and ${IS_NEWS}
    order by i.id
    for no key update of i
  )`;

/** Days before the last load of which bars are looked at: more than a load and what follows it ever take. */
const FOLLOWED_DAYS = 3;

/**
 * Brings `last_seen_at` up to the quotes: a loader of live answers that was killed between the two may not have come to
 * it. Looks at the bars of the last days that were loaded, which are kept with the quotes.
 */
export async function followSightings(pool: pg.Pool): Promise<void> {
  const locked = (await isOnCitus(pool)) ? "" : "order by i.id for no key update of i";
  await pool.query(`
    with newest as materialized (
      select b.instrument_id as id, max(b.last_at) as last_at
      from session_bars b
      where b.date >= (select max(loaded_at) from journal_positions)::date - ${FOLLOWED_DAYS}
      group by b.instrument_id
    ), w as materialized (
      select i.id, n.last_at from instruments i join newest n on n.id = i.id and n.last_at > i.last_seen_at ${locked}
    )
    update instruments i set last_seen_at = greatest(i.last_seen_at, w.last_at) from w where i.id = w.id`);
}

/** Instruments that one statement restores. */
const RESTORED_TOGETHER = 5_000;

/**
 * Gives instruments back what answers say of them, whatever was made of it since.
 *
 * @param seen what a journal's answers say, all of them together
 * @param whole whether the archive has nothing but that journal: what no answer says was never known then
 */
export async function restoreInstruments(
  client: Pick<pg.ClientBase, "query">,
  seen: SeenInstruments,
  whole: boolean,
): Promise<void> {
  const all = [...seen].sort(([a], [b]) => a - b);
  const restore = RESTORE((await isOnCitus(client)) ? "" : "order by i.id for no key update of i");
  for (let from = 0; from < all.length; from += RESTORED_TOGETHER) {
    const some = all.slice(from, from + RESTORED_TOGETHER);
    const rows = some.map(([, { row }]) => withWrittenStrike(row));
    await client.query(restore, [
      some.map(([id]) => id),
      ...instrumentColumns(rows, ["strike"]),
      ...descriptions(some.map(([, entry]) => entry)),
      rows.map((row) => clean(otherUnderlying(row))),
      some.map(([, { first }]) => first),
      some.map(([, { last }]) => last),
      whole,
    ]);
  }
}

const RESTORE = (locked: string): string => `
  with w as materialized (
    select i.id, w.strike,
      ${WORDS.map(
        (word) => `case when $12 or ${isLater(word)} then w.${word} else i.${word} end as ${word},
      nullif(case when $12 then w.${word}_at else ${laterAt(word)} end, n.last) as ${word}_at`,
      ).join(",\n      ")},
      case when $12 then w.first else least(i.first_seen_at, w.first) end as first_seen_at,
      n.last as last_seen_at,
      ${UNDERLYING} as underlying_id
    from unnest($1::int[], $2::numeric[], ${descriptionTypes(3)}, $9::text[], $10::timestamptz[], $11::timestamptz[])
      as w (id, strike, ${DESCRIPTION}, underlying, first, last)
    join instruments i on i.id = w.id
    cross join lateral (select case when $12 then w.last else greatest(i.last_seen_at, w.last) end as last) n
    ${locked}
  )
  update instruments i
  set strike = w.strike, ${RESTORED.map((column) => `${column} = w.${column}`).join(", ")}
  from w
  where i.id = w.id and (i.strike::text, ${RESTORED.map((column) => `i.${column}`).join(", ")})
    is distinct from (w.strike::text, ${RESTORED.map((column) => `w.${column}`).join(", ")})`;

const RESTORED = [...DESCRIPTION.split(", "), "first_seen_at", "last_seen_at", "underlying_id"];

/** Numbers of sources by kind and name; a new one is added. */
export async function placeSources(
  client: pg.ClientBase,
  given: readonly { kind: string; name: string }[],
): Promise<number[]> {
  const wanted = given.map(({ kind, name }) => ({ kind, name: cleanText(name) }));
  const distinct = [...new Map(wanted.map((source) => [sourceText(source), source])).values()];
  const values = [distinct.map(({ kind }) => kind), distinct.map(({ name }) => name)];
  const find = (): Promise<pg.QueryResult<typeof sources.$inferSelect>> =>
    client.query({
      name: "find sources",
      text: `select s.id, s.kind, s.name from sources s
        join unnest($1::text[], $2::text[]) as w (kind, name) on s.kind = w.kind and s.name = w.name`,
      values,
    });
  let { rows } = await find();
  if (rows.length < distinct.length) {
    await client.query(
      `insert into sources (${columnList(sources, "kind", "name")})
       select w.kind, w.name from unnest($1::text[], $2::text[]) as w (kind, name)
       left join sources s on s.kind = w.kind and s.name = w.name
       where s.id is null
       order by w.kind, w.name
       on conflict do nothing`,
      values,
    );
    ({ rows } = await find());
  }
  const ids = new Map(rows.map((row) => [sourceText(row), row.id]));
  return wanted.map((source) => ids.get(sourceText(source)) ?? 0);
}

/** The number of `DEFAULT_ACCOUNT`; the migration gives it. */
const DEFAULT_ACCOUNT_ID = 1;

/** Numbers of accounts by name; a new one gets the lowest that is free. */
export async function placeAccounts(client: pg.ClientBase, wanted: readonly string[]): Promise<number[]> {
  if (wanted.every((name) => name === DEFAULT_ACCOUNT)) return wanted.map(() => DEFAULT_ACCOUNT_ID);
  const names = wanted.map(clean);
  const find = async (): Promise<(number | null)[]> => {
    const { rows } = await client.query<{ id: number | null }>(
      `select a.id from unnest($1::text[]) with ordinality as w (name, place)
       left join accounts a on a.name = w.name order by w.place`,
      [names],
    );
    return rows.map(({ id }) => id);
  };
  let ids = await find();
  if (ids.includes(null)) {
    await client.query(ADDING_LOCK);
    await client.query(
      `insert into accounts (${columnList(accounts, "id", "name")})
       select free.id, w.name
       from (select name, row_number() over (order by name) as place from unnest($1::text[]) as given (name)
             where not exists (select from accounts a where a.name = given.name) group by name) w
       join (select n as id, row_number() over (order by n) as place from generate_series(2, 32767) as n
             where not exists (select from accounts a where a.id = n)) free using (place)`,
      [names],
    );
    ids = await find();
  }
  return ids.map((id, place) => {
    if (id === null) throw new Error(`no number is free for the account ${names[place]}`);
    return id;
  });
}

/** A text for each source. */
export function sourceText({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${name}`;
}

/** A text for each identity, and each its own: lengths tell where the parts end. */
export function identityText({
  securityType,
  symbol,
  root,
  expiration,
  optionType,
  strike,
}: InstrumentRow): string {
  const security = `${securityType.length} ${securityType}${symbol.length} ${symbol}`;
  return optionType === null ? security : `${security} ${root ?? ""} ${expiration} ${optionType} ${strike}`;
}
