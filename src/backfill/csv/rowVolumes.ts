/** What the rows before each row of a file have come to, where its volumes are those of bars. */
import type { CsvReading } from "../../read/csvCall.ts";
import { createUnitReader } from "../../read/csvRows.ts";
import { dayOf, DaySums, type DayVolume, type DayVolumes } from "../../read/dayVolumes.ts";
import { createRowReader } from "../../read/rowReader.ts";
import type { RawRow } from "../../read/splitRows.ts";

/** A row that is to be cut into a piece. `day`: of its instrument, and what the rows before have come to; null: nothing yet. */
export type CutRow = RawRow & { day?: { name: string; before: DayVolume | null } };

/** Says it of the rows of a file, in their order. @param header as `createRowReader` */
export function createVolumeMarker(call: CsvReading, header: Buffer | null): (row: RawRow) => CutRow {
  if (call.volumeOf !== "bar") return (row) => row;
  const unitOf = createUnitReader(call, createRowReader(call, header));
  const sums = new DaySums();
  return (row) => {
    const read = unitOf(row);
    if (!read.ok) return row;
    const name = dayOf(read);
    const before = sums.sumOf(name);
    sums.add(read);
    return { ...row, day: { name, before } };
  };
}

/** What a piece that begins with these rows has to be told of the rows before it. */
export function volumesBefore(rows: readonly CutRow[]): DayVolumes {
  const days = new Map<string, DayVolume | null>();
  for (const { day } of rows) if (day && !days.has(day.name)) days.set(day.name, day.before);
  return Object.fromEntries([...days].flatMap(([name, before]) => (before === null ? [] : [[name, before]])));
}
