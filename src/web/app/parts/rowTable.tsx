/** A table of rows, described by its columns. With the class `stacks` each row is a card on a phone. */
import type { ComponentChildren } from "preact";

/** A column. `kind`: class of its heading and cells; `look`: class of its cells alone. */
export type TableColumn<Row> = {
  name: string;
  /** The heading where it says more than the name, such as a zone. */
  heading?: string;
  kind?: string;
  look?: string;
  /** Whether its cells name their rows. */
  names?: boolean;
  show: (row: Row) => ComponentChildren;
};

type TableProps<Row> = {
  label: string;
  kind?: string;
  /** Whether a box scrolls around it, which the keys reach: sideways, or `tall` also down. */
  scroll?: "wide" | "tall";
  columns: readonly TableColumn<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Of a row's element. */
  attributes?: (row: Row) => object;
};

export function Table<Row>({ label, kind, scroll, columns, rows, keyOf, attributes }: TableProps<Row>) {
  const table = (
    <table class={kind}>
      <caption class="unseen">{label}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.name} scope="col" class={column.kind}>
              {column.heading ?? column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} {...attributes?.(row)}>
            {columns.map(({ name, kind = "", look = "", names, show }) =>
              names ? (
                <th key={name} scope="row" class={`${kind} ${look}`}>
                  {show(row)}
                </th>
              ) : (
                <td key={name} class={`${kind} ${look}`} data-name={name}>
                  {show(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  if (scroll === undefined) return table;
  return (
    <div class={`scroll ${scroll}`} tabIndex={0} role="region" aria-label={label}>
      {table}
    </div>
  );
}
