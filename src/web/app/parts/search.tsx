/** The field in the bar on top of every view. It finds an instrument as one types, by symbol, contract or description. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { FoundInstruments } from "../../../archive/ask/dashboardTypes.ts";
import { thousands } from "../../../ground/figures.ts";
import { ask } from "../lib/api.ts";
import { href, path, setParameters, visit } from "../lib/router.ts";

type SearchResult = FoundInstruments & { text: string };

const NONE: FoundInstruments = { instruments: [], total: 0 };

/** The best matches of a text. A server that is away finds nothing: its note stands above the view. */
async function find(text: string, abort?: AbortSignal): Promise<SearchResult> {
  const found = await ask<FoundInstruments>("api/instruments", { search: text }, abort).catch(() => NONE);
  return { ...found, text };
}

/** What is found of what is typed, anew with each sign. */
function useFound(typed: string, open: boolean): SearchResult {
  const [found, setFound] = useState<SearchResult>({ ...NONE, text: "" });
  useEffect(() => {
    if (!open) return;
    const abort = new AbortController();
    void find(typed, abort.signal).then((next) => abort.signal.aborted || setFound(next));
    return () => abort.abort();
  }, [typed, open]);
  return found;
}

export function FindInstrument() {
  const list = useId();
  const [text, setText] = useState("");
  // Place -1, above the first option, is the field itself; null: the list is closed.
  const [place, setPlace] = useState<number | null>(null);
  const [open, at] = [place !== null, place ?? -1];
  const typed = text.trim();
  const found = useFound(typed, open);
  const take = (name: string): void => {
    setPlace(null);
    setText("");
    // What else was chosen for the chart stays.
    if (path.value === "instrument") setParameters({ name, source: "", delayed: "" });
    else visit(href("instrument", { name }));
  };
  const takeBest = async (): Promise<void> => {
    // Who types quickly presses Enter before the answer is there.
    const { instruments } = at >= 0 || found.text === typed ? found : await find(typed);
    const name = instruments[Math.max(0, at)]?.instrument;
    if (name !== undefined) take(name);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    if (step !== undefined) {
      setPlace(Math.max(-1, Math.min(found.instruments.length - 1, at + step)));
    } else if (event.key === "Enter") {
      if (typed !== "" || at >= 0) void takeBest();
    } else if (open) setPlace(null);
    else setText("");
  };
  return (
    <div class="find">
      <input
        {...{ type: "text", role: "combobox", autocomplete: "off", spellcheck: false }}
        {...{ autocapitalize: "characters", "aria-autocomplete": "list", "aria-keyshortcuts": "/" }}
        data-slash
        value={text}
        placeholder="Find an instrument  /"
        aria-label="Find an instrument"
        aria-expanded={open}
        aria-controls={list}
        aria-activedescendant={open && at >= 0 ? `${list}-${at}` : undefined}
        onKeyDown={onKeyDown}
        onFocus={() => setPlace(-1)}
        onBlur={() => setPlace(null)}
        onInput={({ currentTarget }) => {
          setPlace(-1);
          setText(currentTarget.value);
        }}
      />
      <Options {...{ list, at, take, open, typed, found }} />
    </div>
  );
}

type OptionsProps = {
  list: string;
  at: number;
  take: (name: string) => void;
  open: boolean;
  typed: string;
  found: SearchResult;
};

function Options({ list, at, take, open, typed, found: { text, instruments, total } }: OptionsProps) {
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [at]);
  const heading =
    typed === ""
      ? "Type a symbol, a contract such as AAPL 150C, or a name."
      : text === typed && total === 0
        ? `Nothing matches ${typed}.`
        : total > instruments.length &&
          `The best ${instruments.length} of ${thousands(total)}: type more to find fewer.`;
  return (
    <div class="found box small" hidden={!open}>
      {heading && (
        <p role="status" class="dim">
          {heading}
        </p>
      )}
      <ul id={list} role="listbox" aria-label="Instruments found">
        {instruments.map(({ instrument, description }, place) => (
          <li
            key={instrument}
            id={`${list}-${place}`}
            ref={place === at ? chosen : undefined}
            role="option"
            aria-selected={place === at}
            // Before the field loses its focus, and with it the list its place.
            onPointerDown={(event) => {
              event.preventDefault();
              take(instrument);
            }}
          >
            <b>{instrument}</b> <span class="dim">{description}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Lets the key `/` lead to the field, wherever nobody types. */
export function startSlash(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as Element | null;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target?.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    document.querySelector<HTMLInputElement>("[data-slash]")?.select();
  });
}
