/** Changes a watchlist: its name, instruments, their order and the columns; and takes lists along as a file. */
import { useRef, useState } from "preact/hooks";
import { MOST_NAMES } from "../../api/quoteTable.ts";
import type { Problem } from "../../api/types.ts";
import { ProblemNote } from "./notes.tsx";
import { InstrumentSearch } from "./search.tsx";
import { giveFile } from "../lib/kept.ts";
import { setParameters } from "../lib/router.ts";
import { COLUMNS } from "../lib/watchColumns.ts";
import { movedTo, readWatchlists, type Watchlist, writeWatchlists, wrongName } from "../lib/watchlistFile.ts";
import {
  addWatchlist,
  areKept,
  changeWatchlist,
  removeWatchlist,
  takeWatchlists,
  watchlists,
} from "../lib/watchlists.ts";

const wrong = (code: string, detail: string, hint: string): Problem => ({ code, detail, hint, person: true });

const NOT_KEPT = wrong(
  "WATCHLISTS_NOT_KEPT",
  "this browser keeps nothing of this page, so its watchlists end with it",
  "Allow the browser to keep data of this address, or take the lists along with Export.",
);

/** @param list the one that is shown; null: all instruments are */
export function WatchlistEditor({ list }: { list: Watchlist | null }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [said, say] = useState("");
  return (
    <section class="panel lists below" aria-label="Watchlists" id="lists">
      <div class="bar">
        <button onClick={() => setParameters({ list: addWatchlist() })}>New list</button>
        <button disabled={watchlists.value.length === 0} onClick={download}>
          Export
        </button>
        <Import setProblem={setProblem} say={say} />
        <span role="status" class="dim">
          {said}
        </span>
      </div>
      {problem && <ProblemNote problem={problem} />}
      {!areKept.value && <ProblemNote problem={NOT_KEPT} />}
      {list ? (
        <Editor key={list.name} list={list} say={say} />
      ) : (
        <p class="dim">Lists are kept in this browser. Choose one to change it.</p>
      )}
    </section>
  );
}

function download(): void {
  const content = new Blob([writeWatchlists(watchlists.value)], { type: "application/json" });
  giveFile(content, "quotekeeper-watchlists.json");
}

type ImportProps = { setProblem: (problem: Problem | null) => void; say: (text: string) => void };

function Import({ setProblem, say }: ImportProps) {
  const field = useRef<HTMLInputElement>(null);
  const take = async (file: File): Promise<void> => {
    const lists = readWatchlists(await file.text());
    if (typeof lists === "string") {
      const hint = "Take a file that Export of this page has written. No list was changed.";
      setProblem(wrong("WATCHLISTS_UNREADABLE", `${file.name}: ${lists}`, hint));
      return say("");
    }
    takeWatchlists(lists);
    setProblem(null);
    say(lists.length > 0 ? `Taken: ${lists.map(({ name }) => name).join(", ")}.` : "");
  };
  return (
    <>
      <button onClick={() => field.current?.click()}>Import</button>
      <input
        type="file"
        accept="application/json,.json"
        ref={field}
        hidden={true}
        aria-label="File of watchlists"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          // The same file can be chosen again.
          if (file) void take(file).finally(() => (currentTarget.value = ""));
        }}
      />
    </>
  );
}

function Editor({ list, say }: { list: Watchlist; say: (text: string) => void }) {
  const { name, instruments } = list;
  const add = (instrument: string): void => {
    if (instruments.includes(instrument)) return say(`${instrument} is in the list already.`);
    if (instruments.length >= MOST_NAMES) return say(`A list has at most ${MOST_NAMES} instruments.`);
    changeWatchlist(name, { instruments: [...instruments, instrument] });
    say(`${instrument} added.`);
  };
  return (
    <>
      <div class="bar">
        <NameField name={name} say={say} />
        <InstrumentSearch label="Add an instrument" placeholder="Add an instrument" choose={add} />
        <button
          onClick={() => {
            removeWatchlist(name);
            setParameters({ list: "" });
          }}
        >
          Delete {name}
        </button>
      </div>
      <Columns list={list} />
      {instruments.length === 0 && <p class="dim">No instrument is in the list yet: add one above.</p>}
      <Order list={list} say={say} />
    </>
  );
}

function NameField({ name, say }: { name: string; say: (text: string) => void }) {
  return (
    <input
      type="text"
      aria-label="Name of the list"
      value={name}
      onChange={({ currentTarget }) => {
        const wanted = currentTarget.value.trim();
        if (wanted === name) return;
        const why = watchlists.value.some((each) => each.name === wanted)
          ? `is that of another list: ${wanted}`
          : wrongName(wanted);
        if (why !== null) {
          currentTarget.value = name;
          return say(`The name ${why}.`);
        }
        changeWatchlist(name, { name: wanted });
        setParameters({ list: wanted }, { step: false });
      }}
    />
  );
}

function Columns({ list: { name, columns } }: { list: Watchlist }) {
  return (
    <fieldset class="choose-columns row box">
      <legend>Columns</legend>
      {COLUMNS.map(({ key, name: title }) => (
        <label key={key}>
          <input
            type="checkbox"
            checked={columns.includes(key)}
            onChange={({ currentTarget: { checked } }) =>
              changeWatchlist(name, {
                columns: COLUMNS.map((column) => column.key).filter((each) =>
                  each === key ? checked : columns.includes(each),
                ),
              })
            }
          />{" "}
          {title}
        </label>
      ))}
    </fieldset>
  );
}

/** The instruments in their order: dragged by their handle, or moved with the arrow keys while it has the focus. */
function Order({ list: { name, instruments }, say }: { list: Watchlist; say: (text: string) => void }) {
  const rows = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const move = (from: number, to: number): void => {
    const place = Math.min(instruments.length - 1, Math.max(0, to));
    if (place === from) return;
    changeWatchlist(name, { instruments: movedTo(instruments, from, place) });
    say(`${instruments[from]} is ${place + 1} of ${instruments.length}.`);
  };
  const placeAt = (y: number): number =>
    [...(rows.current?.children ?? [])].filter((row) => {
      const { top, height } = row.getBoundingClientRect();
      return top + height / 2 < y;
    }).length;
  const drag = (y: number): void => {
    if (dragged === null) return;
    const before = placeAt(y);
    const to = before > dragged ? before - 1 : before;
    if (to === dragged) return;
    move(dragged, to);
    setDragged(to);
  };
  return (
    <ol class="order mono small wraps" ref={rows} aria-label={`Instruments of ${name}`}>
      {instruments.map((instrument, place) => (
        <li key={instrument} data-dragged={place === dragged ? "" : undefined}>
          <Handle
            instrument={instrument}
            place={place}
            drag={drag}
            setDragged={setDragged}
            count={instruments.length}
            move={(to) => move(place, to)}
          />
          <span>{instrument}</span>
          <button
            class="quiet"
            aria-label={`Remove ${instrument}`}
            onClick={() =>
              changeWatchlist(name, { instruments: instruments.filter((each) => each !== instrument) })
            }
          >
            ×
          </button>
        </li>
      ))}
    </ol>
  );
}

type HandleProps = {
  instrument: string;
  place: number;
  count: number;
  move: (to: number) => void;
  drag: (y: number) => void;
  setDragged: (place: number | null) => void;
};

function Handle({ instrument, place, count, move, drag, setDragged }: HandleProps) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: count }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const handle = event.currentTarget as HTMLElement;
    move(to);
    // A row that is moved in the document loses its focus.
    requestAnimationFrame(() => handle.focus());
  };
  return (
    <button
      class="quiet handle"
      aria-label={`Move ${instrument}, ${place + 1} of ${count}: arrow keys`}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragged(place);
      }}
      onPointerMove={(event) => drag(event.clientY)}
      onPointerUp={() => setDragged(null)}
      onPointerCancel={() => setDragged(null)}
    >
      ⠿
    </button>
  );
}
