/** Keeps the directory of instruments current: descriptions, and when each instrument was seen. */
import type pg from "pg";
import { engineOf } from "../tiers/citus/door.ts";
import { clean, inArrays } from "../schema/tableRows.ts";
import {
  DESCRIPTION,
  descriptions,
  descriptionTypes,
  instrumentColumns,
  securityOf,
  WORDS,
} from "./instrumentColumns.ts";
import { otherUnderlying, type SeenInstruments, withWrittenStrike } from "./seen.ts";

/**
 * Descriptions and `last_seen_at` follow the newest answer, `first_seen_at` the oldest. Only rows that change are
 * written: an older answer, replayed, changes no description. All rows are locked, in the order of their numbers: until the
 * transaction ends nobody else brings quotes of these instruments, whose dividends tell what they are by the quotes beside
 * them (dividends.ts).
 */
export async function refreshInstruments(client: pg.ClientBase, seen: SeenInstruments): Promise<void> {
  if (seen.size === 0) return;
  const entries = [...seen.values()];
  const rows = entries.map(({ row }) => row);
  const { instrumentsLocked } = await engineOf(client);
  await client.query({
    name: `refresh instruments ${instrumentsLocked}`,
    text: `with w as materialized (
       select w.*, ${IS_NEWS} as is_news from instruments i
       join unnest($1::int[], ${descriptionTypes(2)}, $8::text[], $9::timestamptz[], $10::timestamptz[])
         as w (id, ${DESCRIPTION}, underlying, first_seen_at, last_seen_at) on w.id = i.id
       ${instrumentsLocked}
     )
     update instruments i
     set first_seen_at = least(i.first_seen_at, w.first_seen_at),
         last_seen_at = greatest(i.last_seen_at, w.last_seen_at),
         ${WORDS_SAID_LAST},
         underlying_id = ${UNDERLYING}
     from w where i.id = w.id and w.is_news`,
    values: [
      [...seen.keys()],
      ...descriptions(entries),
      rows.map((row) => clean(otherUnderlying(row))),
      ...inArrays(entries, "first", "last"),
    ],
  });
}

/**
 * What an option `i` is on, where a row `w` may give an underlying of another symbol: that one, or the one that another answer gave;
 * else the security of its own symbol.
 */
const UNDERLYING = `case when i.option_type is not null then coalesce(
    ${securityOf("(u.symbol = w.underlying or u.id = i.underlying_id and u.symbol <> i.symbol)")},
    ${securityOf("u.symbol = i.symbol")}) end`;

/** When a word of a row `i` was said: when it was seen last, unless another time is kept. */
const saidAtOf = (word: string): string => `coalesce(i.${word}_at, i.last_seen_at)`;

/** Whether a row `w` says a word later than `i`; of one time the greater one counts as later. */
const isLater = (word: string): string =>
  `(w.${word} is not null and (i.${word} is null
     or (w.${word}_at, w.${word}::text collate "C") > (${saidAtOf(word)}, i.${word}::text collate "C")))`;

const laterAt = (word: string): string =>
  `case when ${isLater(word)} then w.${word}_at when i.${word} is not null then ${saidAtOf(word)} end`;

const WORDS_SAID_LAST = WORDS.map(
  (word) => `${word} = case when ${isLater(word)} then w.${word} else i.${word} end,
         ${word}_at = nullif(${laterAt(word)}, greatest(i.last_seen_at, w.last_seen_at))`,
).join(",\n         ");

const IS_NEWS = `(w.last_seen_at > i.last_seen_at or w.first_seen_at < i.first_seen_at or ${WORDS.map(isLater).join(" or ")})`;

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
  const restore = RESTORE((await engineOf(client)).instrumentsLocked);
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
