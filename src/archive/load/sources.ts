/** The numbers of sources. */
import type pg from "pg";
import type { RecordSource } from "../../journal/record.ts";
import { cleanText } from "../../ground/outsideText.ts";
import { sources } from "../schema/schema.ts";
import { columnList } from "../schema/tableRows.ts";

/** Numbers of sources by kind and name; a new one is added, with the sources that it says stand beside it. */
export async function placeSources(client: pg.ClientBase, given: readonly RecordSource[]): Promise<number[]> {
  const wanted = given.map((one) => ({ ...one, name: cleanText(one.name) }));
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
      `insert into sources (${columnList(sources, "kind", "name", "spot", "interest")})
       select w.kind, w.name, w.spot, w.interest
       from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as w (kind, name, spot, interest)
       left join sources s on s.kind = w.kind and s.name = w.name
       where s.id is null
       order by w.kind, w.name
       on conflict do nothing`,
      [...values, distinct.map(({ spot }) => spot ?? null), distinct.map(({ interest }) => interest ?? null)],
    );
    ({ rows } = await find());
  }
  const ids = new Map(rows.map((row) => [sourceText(row), row.id]));
  return wanted.map((source) => ids.get(sourceText(source)) ?? 0);
}

export function sourceText({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${name}`;
}
