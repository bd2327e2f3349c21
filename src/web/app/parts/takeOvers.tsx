/** Which collector took which account, and when. */
import type { TakeOver } from "../../../archive/ask/healthTypes.ts";
import { dayAndTime, ZONE_NAME } from "../lib/format.ts";
import { nowMs } from "../lib/pageClock.ts";
import { Empty } from "./notes.tsx";
import { Table, type TableColumn } from "./table.tsx";

export const HOW: Readonly<Record<TakeOver["how"], string>> = {
  new: "was free",
  released: "given back",
  restarted: "started again",
  expired: "not heard of any more",
};

/** What has just happened is marked for so long, ms. */
const FRESH_MS = 60_000;

/** Whether an account has just come from another collector. At the very first start no collector had it. */
export function isFresh(row: TakeOver): boolean {
  return row.how !== "new" && isTakeOver(row) && nowMs.value - Date.parse(row.at) < FRESH_MS;
}

/** Whether another collector has the account now: one that was started again takes its own account back. */
function isTakeOver({ how, previous, collector }: TakeOver): boolean {
  return how !== "restarted" && previous !== collector;
}

export function TakeOvers({ rows: all }: { rows: readonly TakeOver[] }) {
  const rows = all.filter(isTakeOver);
  if (rows.length === 0)
    return <Empty title="None in this time">Each account stayed with the collector that called it.</Empty>;
  return (
    <Table
      label="Takeovers, newest first"
      scroll="tall"
      kind="taken stacks"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ account, fence }) => `${account} ${fence}`}
      attributes={(row) => ({ "data-how": row.how, "data-fresh": isFresh(row) ? "" : undefined })}
    />
  );
}

const COLUMNS: readonly TableColumn<TakeOver>[] = [
  { name: "Time", heading: `Time (${ZONE_NAME})`, kind: "text", show: ({ at }) => dayAndTime(at) },
  { name: "Account", kind: "text", show: ({ account }) => account },
  { name: "Now called by", kind: "text", show: ({ collector }) => collector },
  { name: "Before", kind: "text", look: "dim", show: ({ previous }) => previous ?? "nobody" },
  { name: "Why", kind: "text", show: ({ how }) => HOW[how] },
];
