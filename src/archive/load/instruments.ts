/** The archive's directory of instruments: finds their numbers, adds new ones, corrects what was assumed. */
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { ADDING_LOCK } from "../connect/transaction.ts";
import { rootOf, UNDERLYING_OF_ROOT } from "../../market/root.ts";
import type { InstrumentRow } from "../../read/rowTypes.ts";
import { ensureExpirations } from "../schema/sessions.ts";
import { clean, columnList, inArrays } from "../schema/tableRows.ts";
import { instruments } from "../schema/schema.ts";
import { engineOf } from "../tiers/citus/door.ts";
import {
  DESCRIPTION,
  descriptions,
  descriptionTypes,
  IDENTITY,
  instrumentColumns,
  securityOf,
  WORDS,
} from "./instrumentColumns.ts";
import {
  addSeen,
  DESCRIBED,
  seenByNumber,
  seenInstruments,
  type SeenInstrument,
  type SeenInstruments,
  type Sighting,
} from "./seen.ts";

type PlacedInstruments = {
  /** In the order of the units. */
  ids: number[];
  seen: SeenInstruments;
};

/** Numbers of the instruments of `units`. New instruments are added, underlyings before their options. */
export async function placeInstruments(
  client: pg.ClientBase,
  units: readonly Sighting[],
): Promise<PlacedInstruments> {
  const found = seenInstruments(units);
  const ids = await findOrAdd(client, found.seen);
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

async function findOrAdd(client: pg.ClientBase, seen: readonly SeenInstrument[]): Promise<number[]> {
  let found = await find(client, seen);
  if (found.some((one, place) => one.id === null || corrects(one, seen[place]?.row))) {
    await client.query(ADDING_LOCK);
    await addMissing(client, seen);
    found = await find(client, seen);
  }
  return seen.map(({ row }, place) => {
    const id = found[place]?.id ?? null;
    if (id !== null) return id;
    throw new QuotekeeperError("UNEXPECTED", `no number for the instrument ${JSON.stringify(row)}`);
  });
}

/**
 * Adds what is not there, and corrects what is known by less: a type that was only assumed, a contract by its root alone. Types that
 * an answer names come before assumed ones, which then find them; so do contracts with their roots before those by them alone.
 */
async function addMissing(client: pg.ClientBase, seen: readonly SeenInstrument[]): Promise<void> {
  const isOption = ({ row }: SeenInstrument) => row.underlying !== null;
  const securities = seen.filter((entry) => !isOption(entry));
  const options = seen.filter(isOption);
  const isAlone = ({ row }: SeenInstrument) => UNDERLYING_OF_ROOT.has(row.symbol);
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

/** What an instrument is known as; nulls where it is not there. */
type KnownInstrument = { id: number | null; symbol: string; root: string | null; type_assumed: boolean };

/** Whether a row says more than an instrument is known by: the type that was assumed, or what a root belongs to. */
function corrects(found: KnownInstrument, row: InstrumentRow | undefined): boolean {
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

/**
 * The number of each instrument, null when it is not there. A security has one row although its type may only be assumed, of an
 * underlying (answerToRows.ts) or of a file without types: an assumed type finds whatever the symbol is known as, one that is
 * said finds what was only assumed. Equality and `is null` are said apart: `is not distinct from` uses no index. The type of a
 * contract is hidden from the planner: without statistics of thousands of new contracts it looked each of them up among all of
 * the type.
 */
async function find(client: pg.ClientBase, seen: readonly SeenInstrument[]): Promise<KnownInstrument[]> {
  const rows = seen.map(({ row }) => row);
  const { rows: found } = await client.query<KnownInstrument>({
    name: "find instruments",
    text: `select f.id, f.symbol, f.root, f.type_assumed
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::text[], $7::bool[], $8::text[])
       with ordinality as w (security_type, symbol, expiration, option_type, strike, root, assumed, other, place)
     left join instruments f on f.id = coalesce(
       (select i.id from instruments i
        where i.security_type || '' = w.security_type and coalesce(i.root, i.symbol) = any (array[coalesce(w.root, w.symbol), w.other])
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
  const { instrumentsLocked } = await engineOf(client);
  await client.query(
    `with o as materialized (
       select i.id, ${securityOf("u.symbol = i.symbol")} as underlying_id
       from instruments i
       where i.symbol = any ($1) and i.option_type is not null
         and not exists (select from instruments u where u.id = i.underlying_id and u.symbol <> i.symbol)
       ${instrumentsLocked}
     )
     update instruments i set underlying_id = o.underlying_id
     from o where i.id = o.id and i.underlying_id is distinct from o.underlying_id`,
    [symbols.map(clean)],
  );
}

async function add(client: pg.ClientBase, seen: readonly SeenInstrument[]): Promise<void> {
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
      ...inArrays(seen, "first", "last"),
      rows.map(({ assumedType }) => assumedType),
    ],
  );
}
