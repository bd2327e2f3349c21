/** The archive's directory of instruments, sources and accounts: finds their numbers, adds new ones, keeps them current. */
import type pg from "pg";
import type { Instant } from "../clock.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import { cleanText } from "../outsideText.ts";
import { clean, instrumentColumns, SAID } from "./insert.ts";
import { isDescribedAlike, type KnownInstruments } from "./knownInstruments.ts";
import { accounts, instruments, sources } from "./schema.ts";
import { ensureExpirations } from "./sessions.ts";
import { columnList } from "./tableRows.ts";
import { isOnCitus } from "./tiers/citus.ts";
import { ADDING_LOCK } from "./transaction.ts";
import type { InstrumentRow, QuoteUnit } from "../read/rowTypes.ts";

/** The name of an instrument as the ledger writes it, `AAPL` or `AAPL:2026-12-18:CALL:150`: SQL of a row `i`. */
export const INSTRUMENT_NAME =
  "i.symbol || coalesce(':' || i.expiration || ':' || i.option_type || ':' || trim_scale(i.strike), '')";

/** An instrument of a batch: its newest description, and when it was seen first and last. */
export type Seen = { row: InstrumentRow; first: Instant; last: Instant };

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
export type Sighting = Pick<QuoteUnit, "instrument" | "observedAt">;

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
  const added = found.some(({ id, corrects }) => id === null || corrects);
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
 * Adds what is not there, and gives what was only assumed the type that is said of it. Types that an answer names come before
 * assumed ones, which then find them; options last.
 */
async function addMissing(client: pg.ClientBase, seen: readonly Seen[]): Promise<void> {
  const isOption = ({ row }: Seen) => row.underlying !== null;
  for (const some of [
    seen.filter((entry) => !isOption(entry) && !entry.row.assumedType),
    seen.filter((entry) => !isOption(entry) && entry.row.assumedType),
    seen.filter(isOption),
  ]) {
    let found = await find(client, some);
    if (found.some(({ corrects }) => corrects)) {
      await sayTypes(
        client,
        some.flatMap(({ row }, place) => (found[place]?.corrects ? [{ ...row, id: found[place].id }] : [])),
      );
      found = await find(client, some);
    }
    const missing = some.filter((_, place) => (found[place]?.id ?? null) === null);
    if (missing.length > 0) await add(client, missing);
  }
}

/** One entry for each instrument, and for each unit the place of its own. */
type FoundInstruments = { seen: Seen[]; places: number[] };

function seenInstruments(units: readonly Sighting[]): FoundInstruments {
  const seen: Seen[] = [];
  const placeOf = new Map<string, number>();
  const places = units.map(({ instrument, observedAt }) => {
    const identity = identityText(instrument);
    const place = placeOf.get(identity) ?? seen.length;
    const entry = seen[place];
    placeOf.set(identity, place);
    seen[place] = seenAgain(entry, instrument, observedAt);
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
  return known;
}

/** Two entries of one instrument; of two that are equally new the second counts as newer. */
function merged(a: Seen, b: Seen): Seen {
  const [older, newer] = b.last >= a.last ? [a, b] : [b, a];
  return {
    row: described(newer.row, older.row),
    first: a.first < b.first ? a.first : b.first,
    last: newer.last,
  };
}

/** What the newer answer says of an instrument, and the older one where it says nothing or only assumes. */
function described(newer: InstrumentRow, older: InstrumentRow): InstrumentRow {
  const isItself = newer.underlying === newer.symbol;
  return {
    ...newer,
    securityType: newer.assumedType && !older.assumedType ? older.securityType : newer.securityType,
    // An answer that names no underlying is taken for one of its own symbol.
    underlying: isItself ? (older.underlying ?? newer.underlying) : newer.underlying,
    exchange: newer.exchange ?? older.exchange,
    description: newer.description ?? older.description,
    contractSize: newer.contractSize ?? older.contractSize,
    assumedType: newer.assumedType && older.assumedType,
    writtenStrike: newer.writtenStrike ?? older.writtenStrike,
  };
}

/** With its strike in the digits that it is stored in. */
export function withWrittenStrike(row: InstrumentRow): InstrumentRow {
  return { ...row, strike: row.writtenStrike ?? row.strike };
}

/** `corrects`: the instrument has an assumed type, and the row says which it has. */
type Found = { id: number | null; corrects: boolean };

/**
 * The number of each instrument, null when it is not there. A security has one row although its type may only be assumed, of an
 * underlying (answerToRows.ts) or of a file without types: an assumed type finds whatever the symbol is known as, one that is
 * said finds what was only assumed. Equality and `is null` are said apart: `is not distinct from` uses no index.
 */
async function find(client: pg.ClientBase, seen: readonly Seen[]): Promise<Found[]> {
  const rows = seen.map(({ row }) => row);
  const { rows: found } = await client.query<Found>({
    name: "find instruments",
    text: `select f.id, coalesce(f.type_assumed and not w.assumed, false) as corrects
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::bool[])
       with ordinality as w (security_type, symbol, expiration, option_type, strike, assumed, place)
     left join instruments f on f.id = coalesce(
       (select i.id from instruments i
        where i.security_type = w.security_type and i.symbol = w.symbol
          and i.expiration = w.expiration and i.option_type = w.option_type and i.strike = w.strike),
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
    values: [...instrumentColumns(rows).slice(0, 5), rows.map(({ assumedType }) => assumedType)],
  });
  return found;
}

/** Gives instruments whose types were assumed those that are said of them; of several the first. */
async function sayTypes(
  client: pg.ClientBase,
  said: readonly { id: number | null; securityType: string }[],
): Promise<void> {
  await client.query(
    `update instruments i set security_type = w.security_type, type_assumed = false
     from (select distinct on (id) id, security_type
           from unnest($1::int[], $2::text[]) with ordinality as given (id, security_type, place) order by id, place) w
     where i.id = w.id and i.type_assumed`,
    [said.map(({ id }) => id), said.map(({ securityType }) => clean(securityType))],
  );
}

async function add(client: pg.ClientBase, seen: readonly Seen[]): Promise<void> {
  const rows = seen.map(({ row }) => row);
  await ensureExpirations(
    client,
    rows.flatMap(({ expiration }) => expiration ?? []),
  );
  await client.query(
    `insert into instruments (${columnList(instruments, ...SAID, "underlyingId", "firstSeenAt", "lastSeenAt", "typeAssumed")})
     select w.security_type, w.symbol, w.expiration, w.option_type, w.strike, w.exchange, w.description,
       w.contract_size,
       ${UNDERLYING},
       w.first_seen_at, w.last_seen_at, w.assumed
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::text[], $7::text[], $8::bigint[],
       $9::text[], $10::timestamptz[], $11::timestamptz[], $12::bool[])
       with ordinality as w (security_type, symbol, expiration, option_type, strike, exchange, description,
         contract_size, underlying, first_seen_at, last_seen_at, assumed, place)
     order by w.place
     on conflict on constraint instruments_identity do nothing`,
    [
      ...instrumentColumns(rows),
      rows.map(({ underlying }) => underlying),
      seen.map(({ first }) => first),
      seen.map(({ last }) => last),
      rows.map(({ assumedType }) => assumedType),
    ],
  );
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
         exchange = case when w.last_seen_at >= i.last_seen_at then coalesce(w.exchange, i.exchange) else coalesce(i.exchange, w.exchange) end,
         description = case when w.last_seen_at >= i.last_seen_at then coalesce(w.description, i.description) else coalesce(i.description, w.description) end,
         contract_size = case when w.last_seen_at >= i.last_seen_at then coalesce(w.contract_size, i.contract_size) else coalesce(i.contract_size, w.contract_size) end,
         underlying_id = coalesce(
           case when w.last_seen_at >= i.last_seen_at and w.underlying <> i.symbol then ${UNDERLYING} end,
           i.underlying_id, ${UNDERLYING})
     from ${onCitus ? `${REFRESHED} where w.id = i.id and ${IS_NEWS}` : "w where i.id = w.id"}`,
    values: [
      [...seen.keys()],
      ...instrumentColumns(rows).slice(5),
      rows.map(({ underlying }) => underlying),
      entries.map(({ first }) => first),
      entries.map(({ last }) => last),
    ],
  });
}

/** A security by the symbol that a row `w` gives as its underlying's. One of the option's own symbol may only be assumed. */
const UNDERLYING =
  "(select u.id from instruments u where u.symbol = w.underlying and u.option_type is null order by u.id limit 1)";

const REFRESHED = `unnest($1::int[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::timestamptz[], $7::timestamptz[])
  as w (id, exchange, description, contract_size, underlying, first_seen_at, last_seen_at)`;

const IS_NEWS = "(w.last_seen_at > i.last_seen_at or w.first_seen_at < i.first_seen_at)";

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
      ...instrumentColumns(rows).slice(4),
      rows.map(({ underlying }) => underlying),
      some.map(([, { first }]) => first),
      some.map(([, { last }]) => last),
      whole,
    ]);
  }
}

const RESTORE = (locked: string): string => `
  with w as materialized (
    select i.id, given.strike,
      case when $9 then given.exchange when newest then coalesce(given.exchange, i.exchange) else i.exchange end as exchange,
      case when $9 then given.description when newest then coalesce(given.description, i.description) else i.description end as description,
      case when $9 then given.contract_size when newest then coalesce(given.contract_size, i.contract_size) else i.contract_size end as contract_size,
      case when $9 then given.first else least(i.first_seen_at, given.first) end as first_seen_at,
      case when $9 then given.last else greatest(i.last_seen_at, given.last) end as last_seen_at,
      coalesce(
        (select u.id from instruments u where u.symbol = given.underlying and u.option_type is null order by u.id limit 1),
        i.underlying_id) as underlying_id
    from unnest($1::int[], $2::numeric[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::timestamptz[],
        $8::timestamptz[])
      as given (id, strike, exchange, description, contract_size, underlying, first, last)
    join instruments i on i.id = given.id
    cross join lateral (select i.last_seen_at <= given.last as newest) n
    ${locked}
  )
  update instruments i
  set strike = w.strike, exchange = w.exchange, description = w.description, contract_size = w.contract_size,
      first_seen_at = w.first_seen_at, last_seen_at = w.last_seen_at, underlying_id = w.underlying_id
  from w
  where i.id = w.id
    and (i.strike::text, i.exchange, i.description, i.contract_size, i.first_seen_at, i.last_seen_at, i.underlying_id)
      is distinct from
      (w.strike::text, w.exchange, w.description, w.contract_size, w.first_seen_at, w.last_seen_at, w.underlying_id)`;

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
  expiration,
  optionType,
  strike,
}: InstrumentRow): string {
  const security = `${securityType.length} ${securityType}${symbol.length} ${symbol}`;
  return optionType === null ? security : `${security} ${expiration} ${optionType} ${strike}`;
}
