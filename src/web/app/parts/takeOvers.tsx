/** Which collector took which account, and when. */
import type { TakeOver } from "../../api/operatorTypes.ts";
import { dayAndTime, ZONE_NAME } from "../lib/format.ts";
import { nowMs } from "../lib/pageClock.ts";
import { Empty } from "./notes.tsx";

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
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Takeovers, newest first">
      <table class="taken stacks">
        <thead>
          <tr>
            {[`Time (${ZONE_NAME})`, "Account", "Now called by", "Before", "Why"].map((name) => (
              <th key={name} scope="col" class="text">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={`${row.account} ${row.fence}`}
              data-how={row.how}
              data-fresh={isFresh(row) ? "" : undefined}
            >
              <td class="text" data-name="Time">
                {dayAndTime(row.at)}
              </td>
              <td class="text" data-name="Account">
                {row.account}
              </td>
              <td class="text" data-name="Now called by">
                {row.collector}
              </td>
              <td class="text dim" data-name="Before">
                {row.previous ?? "nobody"}
              </td>
              <td class="text" data-name="Why">
                {HOW[row.how]}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
