/** A field that finds an instrument of the archive as one types: by symbol, contract or description. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { FoundInstrument, FoundInstruments } from "../../../archive/ask/dashboardTypes.ts";
import { thousands } from "../../../figures.ts";
import { ask } from "../lib/api.ts";
import { href, path, setParameters, visit } from "../lib/router.ts";
import { signal } from "@preact/signals";
import { keep, kept } from "../lib/kept.ts";

type Found = { text: string; options: readonly FoundInstrument[]; total: number };

const lastUsed = (): FoundInstruments => ({
  instruments: recent.value.map((instrument) => ({ instrument, description: null })),
  total: recent.value.length,
});

/** The best matches of what was typed. A server that is away finds nothing: its note stands above the view. */
async function search(text: string, abort?: AbortSignal): Promise<Found> {
  const { instruments: options, total } =
    text === ""
      ? lastUsed()
      : await ask<FoundInstruments>("/api/instruments", { search: text }, abort).catch(() => NONE);
  return { text, options, total };
}

const NONE: FoundInstruments = { instruments: [], total: 0 };

/** What is found of what is typed, anew with each sign; `search` finds it at once. */
function useFound(typed: string, open: boolean) {
  const [found, setFound] = useState<Found>({ text: "", options: [], total: 0 });
  useEffect(() => {
    if (!open) return;
    const abort = new AbortController();
    void search(typed, abort.signal).then((next) => {
      if (!abort.signal.aborted) setFound(next);
    });
    return () => abort.abort();
  }, [typed, open]);
  const searchNow = async (): Promise<readonly FoundInstrument[]> => {
    const next = await search(typed);
    setFound(next);
    return next.options;
  };
  return { found, search: searchNow };
}

type Props = {
  label: string;
  placeholder: string;
  choose: (name: string) => void;
  /** Whether the key `/` leads to it. */
  slash?: boolean;
};

const PLAIN = {
  autocomplete: "off",
  spellcheck: false,
  autocapitalize: "characters",
  "aria-autocomplete": "list",
} as const;

/** The next place of so many options, round and round; -1, above the first one, is the field itself. */
const stepped = (at: number, step: number, count: number): number =>
  ((at + 1 + step + count + 1) % (count + 1)) - 1;

export function InstrumentSearch({ label, placeholder, choose, slash = false }: Props) {
  const list = useId();
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const typed = text.trim();
  const { found, search: searchNow } = useFound(typed, open);
  const { options } = found;
  const close = (): void => {
    setOpen(false);
    setAt(-1);
  };
  const take = (name: string): void => {
    close();
    setText("");
    remember(name);
    choose(name);
  };
  const takeBest = async (): Promise<void> => {
    const best = at >= 0 || found.text === typed ? options : await searchNow();
    const name = best[Math.max(0, at)]?.instrument;
    if (name !== undefined) take(name);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    if (step !== undefined) {
      setOpen(true);
      setAt(stepped(at, step, options.length));
    } else if (event.key === "Enter") {
      if (typed !== "" || at >= 0) void takeBest();
    } else if (open) close();
    else setText("");
  };
  return (
    <div class="find">
      <input
        {...{ type: "text", role: "combobox", value: text, placeholder, onKeyDown, ...PLAIN }}
        aria-label={label}
        aria-expanded={open}
        aria-controls={list}
        aria-keyshortcuts={slash ? "/" : undefined}
        aria-activedescendant={open && options[at] ? `${list}-${at}` : undefined}
        data-slash={slash ? "" : undefined}
        onFocus={() => setOpen(true)}
        onBlur={close}
        onInput={(event) => {
          close();
          setText(event.currentTarget.value);
          setOpen(true);
        }}
      />
      <Options list={list} label={label} at={at} take={take} open={open} typed={typed} found={found} />
    </div>
  );
}

type OptionsProps = {
  list: string;
  label: string;
  at: number;
  take: (name: string) => void;
  open: boolean;
  typed: string;
  found: Found;
};

function Options({ list, label, at, take, open, typed, found: { text, options, total } }: OptionsProps) {
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [at]);
  const none = text === typed && options.length === 0;
  const heading =
    typed === ""
      ? none
        ? "Type a symbol, a contract such as AAPL 150C, or a name."
        : "Last used"
      : none
        ? `Nothing matches ${typed}.`
        : total > options.length
          ? `The best ${options.length} of ${thousands(total)}: type more to find fewer.`
          : "";
  return (
    <div class="found box popup small" hidden={!open}>
      {heading !== "" && (
        <p role="status" class="dim">
          {heading}
        </p>
      )}
      <ul id={list} role="listbox" aria-label={label}>
        {options.map(({ instrument, description }, place) => (
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
            <b>{instrument}</b> <span class="dim">{description ?? ""}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The one in the bar on top of every view: it leads to the instrument's chart. */
export function FindInstrument() {
  return (
    <InstrumentSearch
      slash
      label="Find an instrument"
      placeholder="Find an instrument  /"
      choose={(name) => {
        // What else was chosen for the chart stays.
        if (path.value === "/instrument") setParameters({ name, source: "", delayed: "" });
        else visit(href("/instrument", { name }));
      }}
    />
  );
}

/** Lets the key `/` lead to the search, wherever nobody types. */
export function startSlash(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as Element | null;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target?.closest("input, textarea, select, [contenteditable]")) return;
    const field = document.querySelector<HTMLInputElement>("[data-slash]");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

const KEY = "quotekeeper-recent";
const MOST = 8;

/** The instruments that were looked for last, kept in the browser. */
const recent = signal<readonly string[]>(stored());

function remember(name: string): void {
  recent.value = [name, ...recent.value.filter((each) => each !== name)].slice(0, MOST);
  keep(KEY, JSON.stringify(recent.value));
}

function stored(): string[] {
  try {
    const names: unknown = JSON.parse(kept(KEY) ?? "[]");
    return Array.isArray(names) ? names.filter((name) => typeof name === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}
