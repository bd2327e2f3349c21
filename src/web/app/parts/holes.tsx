/** The slots at which something was missed, and of one of them what was asked and what the service answered. */
import type { HoleRow, HolesView, SlotCall, SlotView } from "../../../archive/ask/healthTypes.ts";
import { bytes, NOTHING, thousands } from "../../../figures.ts";
import { exchangeTime, dayAndTime, exchangeMoment, ZONE_NAME, late } from "../lib/format.ts";
import { reasonOf } from "../lib/reasons.ts";
import { href, parameter, setParameters } from "../lib/router.ts";
import { useApi } from "../lib/useApi.ts";
import { Await, Empty } from "./notes.tsx";
import { Panel } from "./facts.tsx";
import { Table, type TableColumn } from "./table.tsx";
import { MissedFor } from "./why.tsx";

type HolesProps = {
  span: { from: string; to: string };
  source: string;
  version: number;
  where: string;
  whole: (() => void) | null;
  closer: { from: string; to: string } | null;
};

/**
 * The list.
 *
 * @param where the time in words
 * @param whole shows the whole range again; null: it is shown
 * @param closer the time as a range of its own; null: it cannot be looked at more closely
 */
export function Holes({ span, source, version, where, whole, closer }: HolesProps) {
  const reason = parameter("reason");
  const query = { from: span.from, to: span.to, source, ...(reason && { reason }) };
  const loaded = useApi<HolesView>("/api/holes", query, version);
  return (
    <Panel
      id="holes"
      kind="holes"
      title={`Slots that missed${reason && ` (${reasonOf(reason).title})`}, ${where}`}
    >
      <p>
        {whole && <button onClick={whole}>All of the time shown</button>}{" "}
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
    </Panel>
  );
}

function HoleTable({ holes, total }: HolesView) {
  const several = new Set(holes.map(({ account }) => account)).size > 1;
  return (
    <div>
      <Table
        label="Slots that missed"
        scroll="tall"
        kind="stacks"
        columns={HOLE_COLUMNS.filter(({ name }) => several || name !== "Account")}
        rows={holes}
        keyOf={({ job, at, account }) => `${job} ${at} ${account}`}
        attributes={(hole) => ({ "aria-selected": isChosen(hole) })}
      />
      {total > holes.length && (
        <p class="after dim">
          The newest {holes.length} of {thousands(total)}: choose a column, or a shorter time.
        </p>
      )}
    </div>
  );
}

const isChosen = ({ at, job }: HoleRow): boolean => parameter("slot") === at && parameter("job") === job;

const HOLE_COLUMNS: readonly TableColumn<HoleRow>[] = [
  { name: "Slot", heading: `Slot (${ZONE_NAME})`, kind: "text", show: (hole) => <ChooseSlot hole={hole} /> },
  { name: "Job", kind: "text", show: ({ job }) => job },
  { name: "Account", kind: "text", show: ({ account }) => account },
  {
    name: "Stored",
    show: ({ stored, due }) => (
      <>
        {thousands(stored)} <span class="dim">of {thousands(due)}</span>
      </>
    ),
  },
  { name: "Missed", show: ({ missed }) => thousands(missed) },
  {
    name: "Why",
    kind: "text",
    show: ({ reasons }) =>
      Object.entries(reasons)
        .sort(([, one], [, other]) => other - one)
        .map(([reason, count]) => `${reasonOf(reason).title} ${thousands(count)}`)
        .join(", "),
  },
];

function ChooseSlot({ hole }: { hole: HoleRow }) {
  const { at, job } = hole;
  const chosen = isChosen(hole);
  return (
    <button
      class="plain"
      aria-expanded={chosen}
      onClick={() => setParameters(chosen ? { job: "", slot: "" } : { job, slot: at })}
    >
      {dayAndTime(at)}
    </button>
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
        <>
          <Table
            label="Calls of this slot"
            scroll="tall"
            kind="calls stacks"
            columns={callColumns(at).filter(({ name }) => several || name !== "Account")}
            rows={calls}
            keyOf={({ observedAt }) => observedAt}
            attributes={({ outcome }) => ({ "data-outcome": outcome })}
          />
          <p class="after dim">
            The whole answers are in the journal: the file, and the byte of it as it is uncompressed. Used and
            limit are the service's own count.
          </p>
        </>
      )}
    </>
  );
}

function named(instruments: readonly string[], count: number): string {
  if (instruments.includes("*")) return "all that was due";
  const more = count - instruments.length;
  return `${instruments.join(", ")}${more > 0 ? ` and ${thousands(more)} more` : ""}`;
}

function callColumns(slotAt: string): TableColumn<SlotCall>[] {
  return [
    { name: "Account", kind: "text", show: ({ account }) => account },
    { name: "Asked for", kind: "text", show: ({ asked }) => asked },
    { name: "Outcome", kind: "text", show: ({ outcome }) => outcome },
    { name: "HTTP", show: ({ httpStatus }) => httpStatus },
    {
      name: "After the slot",
      title: ({ requestedAt, observedAt }) =>
        `sent ${exchangeTime(requestedAt)}, answered ${exchangeTime(observedAt)} ${ZONE_NAME}`,
      show: ({ observedAt }) => late(Date.parse(observedAt) - Date.parse(slotAt)),
    },
    {
      name: "Used",
      heading: "Used of limit",
      show: ({ used, limit }) => (used === null ? NOTHING : `${used} of ${limit ?? NOTHING}`),
    },
    { name: "Bytes", show: ({ bodyBytes }) => bytes(bodyBytes) },
    {
      name: "Journal",
      heading: "In the journal",
      kind: "text",
      look: "wraps",
      show: ({ segment, offset }) => (
        <>
          {segment} <span class="dim">at {offset}</span>
        </>
      ),
    },
  ];
}
