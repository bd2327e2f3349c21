/** The slots at which something was missed, and of one of them what was asked and what the service answered. */
import type { HoleRow, HolesView, SlotCall, SlotView } from "../../api/operatorTypes.ts";
import { bytes, thousands } from "../../../figures.ts";
import { exchangeTime, dayAndTime, exchangeMoment, ZONE_NAME, late } from "../lib/format.ts";
import { reasonOf } from "../lib/reasons.ts";
import { href, parameter, setParameters } from "../lib/router.ts";
import { useApi } from "../lib/useApi.ts";
import { Await, Empty } from "./notes.tsx";
import { MissedFor } from "./why.tsx";

/**
 * The list.
 *
 * @param where the time in words
 * @param whole shows the whole range again; null: it is shown
 * @param closer the time as a range of its own; null: it cannot be looked at more closely
 */
export function Holes({
  span,
  source,
  version,
  where,
  whole,
  closer,
}: {
  span: { from: string; to: string };
  source: string;
  version: number;
  where: string;
  whole: (() => void) | null;
  closer: { from: string; to: string } | null;
}) {
  const reason = parameter("reason");
  const query = { from: span.from, to: span.to, source, ...(reason && { reason }) };
  const loaded = useApi<HolesView>("/api/holes", query, version);
  return (
    <section class="panel holes" aria-labelledby="holes">
      <h2 id="holes">
        Slots that missed{reason && ` (${reasonOf(reason).title})`}, {where}
      </h2>
      <p class="hole-links">
        {whole && (
          <button type="button" onClick={whole}>
            All of the time shown
          </button>
        )}{" "}
        {closer && (
          <a class="button" href={href("/health", { from: closer.from, to: closer.to, source })}>
            Look at {where} alone
          </a>
        )}
      </p>
      <div class="holes-and-slot">
        <Await loaded={loaded} what="the slots">
          {({ holes, total }) =>
            holes.length === 0 ? (
              <Empty title="None">Every quote that was due is stored.</Empty>
            ) : (
              <HoleTable holes={holes} total={total} />
            )
          }
        </Await>
        {parameter("slot") !== "" && <Slot source={source} />}
      </div>
    </section>
  );
}

function HoleTable({ holes, total }: HolesView) {
  const several = new Set(holes.map(({ account }) => account)).size > 1;
  return (
    <div>
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Slots that missed">
        <table class="stacks">
          <thead>
            <tr>
              <th scope="col" class="text">
                Slot ({ZONE_NAME})
              </th>
              <th scope="col" class="text">
                Job
              </th>
              {several && (
                <th scope="col" class="text">
                  Account
                </th>
              )}
              <th scope="col">Stored</th>
              <th scope="col">Missed</th>
              <th scope="col" class="text">
                Why
              </th>
            </tr>
          </thead>
          <tbody>
            {holes.map((hole) => (
              <Hole key={`${hole.job} ${hole.at} ${hole.account}`} hole={hole} several={several} />
            ))}
          </tbody>
        </table>
      </div>
      {total > holes.length && (
        <p class="after dim">
          The newest {holes.length} of {thousands(total)}: choose a column, or a shorter time.
        </p>
      )}
    </div>
  );
}

function Hole({ hole, several }: { hole: HoleRow; several: boolean }) {
  const { job, at, account, due, stored, missed, reasons } = hole;
  const chosen = parameter("slot") === at && parameter("job") === job;
  const why = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  return (
    <tr aria-selected={chosen}>
      <td class="text" data-name="Slot">
        <button
          type="button"
          class="plain"
          aria-expanded={chosen}
          onClick={() => setParameters(chosen ? { job: "", slot: "" } : { job, slot: at })}
        >
          {dayAndTime(at)}
        </button>
      </td>
      <td class="text" data-name="Job">
        {job}
      </td>
      {several && (
        <td class="text" data-name="Account">
          {account}
        </td>
      )}
      <td data-name="Stored">
        {thousands(stored)} <span class="dim">of {thousands(due)}</span>
      </td>
      <td data-name="Missed">{thousands(missed)}</td>
      <td class="text" data-name="Why">
        {why.map(([reason, n]) => `${reasonOf(reason).title} ${thousands(n)}`).join(", ")}
      </td>
    </tr>
  );
}

function Slot({ source }: { source: string }) {
  const [job, at] = [parameter("job"), parameter("slot")];
  const loaded = useApi<SlotView>("/api/slot", { job, at, source });
  const isIt = loaded.data?.job === job && loaded.data.at === at;
  return (
    <aside class="slot" aria-live="polite" aria-label="Slot">
      <h3>
        {job}, {exchangeMoment(at)}
      </h3>
      <Await loaded={isIt ? loaded : { ...loaded, data: null }} what="the slot">
        {(slot) => <SlotFacts slot={slot} />}
      </Await>
    </aside>
  );
}

function SlotFacts({ slot: { at, until, shares, reasons, calls } }: { slot: SlotView }) {
  const several = shares.length > 1;
  return (
    <>
      {shares.map(({ account, due, stored, missed }) => (
        <p key={account}>
          {several && `${account}: `}
          <b>{thousands(due)}</b> due, <b>{thousands(stored)}</b> stored, <b>{thousands(missed)}</b> missed.
        </p>
      ))}
      <ul class="missed">
        {reasons.map(({ account, reason, count, instruments }) => (
          <MissedFor key={`${account} ${reason}`} reason={reason} count={count}>
            {several && `${account}: `}
            {named(instruments, count)}
          </MissedFor>
        ))}
      </ul>
      {calls.length === 0 ? (
        <Empty title="No call of this job was answered">
          Nothing came between this slot and{" "}
          {until === null ? "now" : `the next one at ${exchangeTime(until)}`}.
        </Empty>
      ) : (
        <Calls calls={calls} slotAt={at} several={several} />
      )}
    </>
  );
}

function named(instruments: readonly string[], count: number): string {
  if (instruments.includes("*")) return "all that was due";
  const more = count - instruments.length;
  return `${instruments.join(", ")}${more > 0 ? ` and ${thousands(more)} more` : ""}`;
}

const HEADINGS = [
  "Asked for",
  "Outcome",
  "HTTP",
  "After the slot",
  "Used of limit",
  "Bytes",
  "In the journal",
];
const TEXTS = ["Asked for", "Outcome", "In the journal", "Account"];

function Calls({ calls, slotAt, several }: { calls: readonly SlotCall[]; slotAt: string; several: boolean }) {
  return (
    <>
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Calls of this slot">
        <table class="calls stacks">
          <thead>
            <tr>
              {[...(several ? ["Account"] : []), ...HEADINGS].map((name) => (
                <th key={name} scope="col" class={TEXTS.includes(name) ? "text" : undefined}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {calls.map((call) => (
              <CallRow key={call.observedAt} call={call} slotAt={slotAt} several={several} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="after dim">
        The whole answers are in the journal: the file, and the byte of it as it is uncompressed. Used and
        limit are the service's own count.
      </p>
    </>
  );
}

function CallRow({ call, slotAt, several }: { call: SlotCall; slotAt: string; several: boolean }) {
  const { account, asked, requestedAt, observedAt, outcome, httpStatus, used, limit, bodyBytes } = call;
  const afterMs = Date.parse(observedAt) - Date.parse(slotAt);
  return (
    <tr data-outcome={outcome}>
      {several && (
        <td class="text" data-name="Account">
          {account}
        </td>
      )}
      <td class="text" data-name="Asked for">
        {asked}
      </td>
      <td class="text" data-name="Outcome">
        {outcome}
      </td>
      <td data-name="HTTP">{httpStatus}</td>
      <td
        data-name="After the slot"
        title={`sent ${exchangeTime(requestedAt)}, answered ${exchangeTime(observedAt)} ${ZONE_NAME}`}
      >
        {late(afterMs)}
      </td>
      <td data-name="Used">{used === null ? "–" : `${used} of ${limit ?? "–"}`}</td>
      <td data-name="Bytes">{bytes(bodyBytes)}</td>
      <td class="text" data-name="Journal">
        {call.segment} <span class="dim">at {call.offset}</span>
      </td>
    </tr>
  );
}
