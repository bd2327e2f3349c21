/**
 * Puts what an export says of sources, instruments and dividends into the archive, inside a transaction of the caller's.
 * In an archive that has nothing of them they get the numbers they had: exported again, it gives the same files.
 */
import type pg from "pg";
import { DESCRIBED, addAllSeen, type SeenInstruments, type Sighting, withWrittenStrike } from "./seen.ts";
import { IDENTITY, instrumentColumns, DESCRIPTION, descriptionTypes } from "./instrumentColumns.ts";
import { linkContracts, placeInstruments } from "./instruments.ts";
import { IS_SAME_INSTRUMENT } from "../schema/instrumentNames.ts";
import { placeSources } from "./sources.ts";
import { refreshInstruments } from "./refreshInstruments.ts";
import { dividends, instruments, sources } from "../schema/schema.ts";
import { columnList, inArrays, insertAll } from "../schema/tableRows.ts";
import { ensureExpirations } from "../schema/sessions.ts";
import { ADDING_LOCK } from "../connect/transaction.ts";
import type { AnswerRows, RestoredRows, RestoredInstrument, RestoredSource } from "../../read/rowTypes.ts";
import { EXPORT_SOURCE, EXPORT_SOURCE_ID, isExportCall } from "../../read/exportCall.ts";

/** Restores sources, that of exports among them, and instruments, before the quotes of the same answers are stored. Adds to `seen`. */
export async function restoreDirectory(
  client: pg.ClientBase,
  answers: readonly AnswerRows[],
  seen: SeenInstruments,
): Promise<void> {
  if (!answers.some(({ record }) => isExportCall(record.request))) return;
  const restored = allRestored(answers);
  await client.query(ADDING_LOCK);
  await insertAll(client, sources, [{ id: EXPORT_SOURCE_ID, ...EXPORT_SOURCE, spot: null, interest: null }]);
  await restoreSources(client, restored.sources);
  // An option names its underlying, which has to be there.
  for (const isOption of [false, true])
    await restoreInstruments(
      client,
      restored.instruments.filter(({ row }) => (row.optionType !== null) === isOption),
      seen,
    );
}

export function restoredSightings(answers: readonly AnswerRows[]): Sighting[] {
  return allRestored(answers).instruments.flatMap(sightingsOf);
}

function sightingsOf({ row: instrument, firstSeenAt, lastSeenAt, saidAt }: RestoredInstrument): Sighting[] {
  return [firstSeenAt, lastSeenAt].map((observedAt) => ({ instrument, observedAt, saidAt }));
}

function allRestored(answers: readonly AnswerRows[]): RestoredRows {
  const all = answers.flatMap(({ restored }) => restored ?? []);
  return {
    sources: all.flatMap((one) => one.sources),
    instruments: all.flatMap((one) => one.instruments),
    dividends: all.flatMap((one) => one.dividends),
  };
}

async function restoreSources(client: pg.ClientBase, restored: readonly RestoredSource[]): Promise<void> {
  const rows = restored.map(({ id, source }) => ({ spot: null, interest: null, ...source, id }));
  if ((await insertAll(client, sources, rows)) > 0) await countOn(client, "sources");
  // Whose number another source has gets the next one.
  const given = restored.map(({ source }) => source);
  if (given.length > 0) await placeSources(client, given);
}

async function restoreInstruments(
  client: pg.ClientBase,
  restored: readonly RestoredInstrument[],
  seen: SeenInstruments,
): Promise<void> {
  if (restored.length === 0) return;
  const rows = restored.map(({ row }) => withWrittenStrike(row));
  await ensureExpirations(
    client,
    rows.flatMap(({ expiration }) => expiration ?? []),
  );
  const { rowCount } = await client.query(
    `insert into instruments (${columnList(instruments, ...IDENTITY, ...DESCRIBED, "exchangeAt", "descriptionAt", "contractSizeAt", "id", "underlyingId", "firstSeenAt", "lastSeenAt", "typeAssumed")})
     select w.security_type, w.symbol, w.expiration, w.option_type, w.strike, w.root, w.exchange, w.description, w.contract_size,
       w.exchange_at, w.description_at, w.contract_size_at, w.id,
       (select u.id from instruments u
        where u.security_type = w.underlying_type and u.symbol = w.symbol and u.option_type is null),
       w.first_seen_at, w.last_seen_at, w.assumed
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::text[], ${descriptionTypes(7)},
         $13::int[], $14::text[], $15::timestamptz[], $16::timestamptz[], $17::bool[])
       as w (security_type, symbol, expiration, option_type, strike, root, ${DESCRIPTION}, id,
         underlying_type, first_seen_at, last_seen_at, assumed)
     where not exists (select from instruments i where i.id = w.id)
       -- A security that one of the two only assumes the type of is found below, and a contract that one of them names by its root.
       and not exists (select from instruments i where w.option_type is null and i.symbol = w.symbol
         and i.option_type is null and (w.assumed or i.type_assumed))
       and not exists (select from instruments i where w.option_type is not null and ${IS_SAME_INSTRUMENT})
     on conflict do nothing`,
    [
      ...instrumentColumns(rows),
      ...instrumentColumns(rows, DESCRIBED),
      ...DESCRIBED.map((field) => restored.map(({ saidAt }) => saidAt?.[field] ?? null)),
      ...inArrays(restored, "id", "underlyingType", "firstSeenAt", "lastSeenAt"),
      rows.map(({ assumedType }) => assumedType),
    ],
  );
  if ((rowCount ?? 0) > 0) await countOn(client, "instruments");
  // Those that the archive has, or whose number another one has: found or added, and as new as the newer word on them.
  const { seen: here } = await placeInstruments(client, restored.flatMap(sightingsOf));
  await linkContracts(
    client,
    rows.flatMap(({ optionType, symbol }) => (optionType === null ? [symbol] : [])),
  );
  await refreshInstruments(client, here);
  addAllSeen(seen, here);
}

/** New numbers from now on follow the restored ones. */
async function countOn(client: pg.ClientBase, table: "sources" | "instruments"): Promise<void> {
  await client.query(`select setval(pg_get_serial_sequence('${table}', 'id'), max(id)) from ${table}`);
}

/** @returns how many dividends were not there before */
export async function restoreDividends(
  client: pg.ClientBase,
  answers: readonly AnswerRows[],
): Promise<number> {
  const { dividends: restored } = allRestored(answers);
  if (restored.length === 0) return 0;
  const sourceIds = await placeSources(
    client,
    restored.map(({ source }) => source),
  );
  const { ids } = await placeInstruments(client, restored);
  const rows = restored.map(({ observedAt, exDate, amount, yield: part }, place) => ({
    observedAt,
    instrumentId: ids[place] ?? 0,
    sourceId: sourceIds[place] ?? 0,
    exDate,
    amount,
    yield: part,
  }));
  return insertAll(client, dividends, rows);
}
