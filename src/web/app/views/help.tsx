/** Help: the program's own documentation, page by page, and a search through all of it. */
import { useEffect, useRef, useState } from "preact/hooks";
import "../style/help.css";
import type { Problem } from "../../api/types.ts";
import { ViewProblem } from "../parts/notes.tsx";
import { ApiProblem, ask } from "../lib/api.ts";
import { type HelpIndex, type HelpPage, type Hit, MOST_HITS, search, snippet } from "../lib/helpSearch.ts";
import { go, heading, parameter, path, setParameters } from "../lib/router.ts";
import { comebacks } from "../lib/pageLine.ts";
import { meta } from "../lib/store.ts";
import { counted } from "../../../figures.ts";

/** The view. The address names the page and the heading, or holds what is searched for. */
export function HelpView() {
  const index = useFile<HelpIndex>("index");
  const question = parameter("search");
  const slug = path.value.replace(/^\/help\/?/, "");
  const known = index.content;
  const missing = known?.pages.some((page) => page.slug === slug) === false;
  return (
    <div class="help">
      <SearchField question={question} index={known} />
      <ViewProblem problem={index.problem} />
      {question !== "" ? (
        known && <Hits index={known} question={question} />
      ) : missing ? (
        <h1 tabIndex={-1}>Help has no such page</h1>
      ) : (
        <Page slug={slug} />
      )}
      <p class="dim">These pages came with quotekeeper {meta.value?.version}.</p>
    </div>
  );
}

/** The field; Enter opens the first hit, the arrow down goes to the hits, Escape ends the search. */
function SearchField({ question, index }: { question: string; index: HelpIndex | null }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Whoever opens Help has a question; whoever follows a link to a page of it reads that.
    if (path.peek() === "/help") field.current?.focus();
  }, []);
  return (
    <div class="bar help-bar">
      <input
        ref={field}
        type="search"
        aria-label="Search Help"
        placeholder="Search Help"
        value={question}
        onInput={(event) => setParameters({ search: event.currentTarget.value }, { step: question === "" })}
        onKeyDown={(event) => {
          if (event.key === "Escape") setParameters({ search: "" }, { step: false });
          else if (event.key === "Enter") open(index && search(index, question)[0]);
          else if (event.key === "ArrowDown") document.querySelector<HTMLElement>(".hits a")?.focus();
          else return;
          event.preventDefault();
        }}
      />
      <a href="/help">All pages</a>
    </div>
  );
}

function open(hit: Hit | undefined | null): void {
  if (hit) go(addressOf(hit));
}

function addressOf({ slug, anchor }: Hit): string {
  return `/help${slug === "" ? "" : `/${slug}`}${anchor === "" ? "" : `#${anchor}`}`;
}

/** What the search finds; the arrow keys move through it, and up from the first goes back to the field. */
function Hits({ index, question }: { index: HelpIndex; question: string }) {
  const hits = search(index, question);
  const move = (event: KeyboardEvent): void => {
    const links = [...document.querySelectorAll<HTMLElement>(".hits a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key !== "Escape" && step === undefined) return;
    event.preventDefault();
    const place = links.indexOf(event.target as HTMLElement) + (step ?? 0);
    if (event.key === "Escape" || place < 0) document.querySelector<HTMLElement>(".help-bar input")?.focus();
    else links[place]?.focus();
    if (event.key === "Escape") setParameters({ search: "" }, { step: false });
  };
  return (
    <>
      <h1 tabIndex={-1} aria-live="polite">
        {hits.length === 0 ? `No page says anything of “${question}”` : found(hits.length)}
      </h1>
      <ol class="hits wraps" onKeyDown={move}>
        {hits.map((hit) => (
          <li key={addressOf(hit)}>
            <a href={addressOf(hit)}>
              {hit.title}
              {hit.heading !== "" && <b> › {hit.heading}</b>}
            </a>
            <Snippet hit={hit} question={question} />
          </li>
        ))}
      </ol>
    </>
  );
}

function found(count: number): string {
  if (count === 1) return "Found in one place";
  return count < MOST_HITS ? `Found in ${counted(count, "place")}` : `Best ${count} matches`;
}

/** Files that were loaded: hits show pieces of pages, and whoever goes back does not wait. */
const loaded = new Map<string, Promise<unknown>>();

function load<T>(name: string): Promise<T> {
  const known = loaded.get(name) ?? ask(`/docs/${name}.json`);
  loaded.set(name, known);
  known.catch(() => loaded.delete(name));
  return known as Promise<T>;
}

/** A file of the documentation, as the build left it; neither content nor problem while it is read. */
function useFile<T>(name: string): { content: T | null; problem: Problem | null } {
  const [state, setState] = useState<{ name: string; content: T | null; problem: Problem | null }>();
  useEffect(() => {
    let wanted = true;
    load<T>(name).then(
      (content) => wanted && setState({ name, content, problem: null }),
      (error: unknown) =>
        wanted && error instanceof ApiProblem && setState({ name, content: null, problem: error.problem }),
    );
    return () => void (wanted = false);
  }, [name, comebacks.value]);
  return state?.name === name ? state : { content: null, problem: null };
}

const fileOf = (slug: string): string => (slug === "" ? "first-page" : slug);

function Snippet({ hit: { slug, anchor }, question }: { hit: Hit; question: string }) {
  const { content } = useFile<HelpPage>(fileOf(slug));
  const parts = content ? snippet(textBelow(content.html, anchor), question) : [];
  return (
    <p class="dim">
      {parts.map((part, place) => (place % 2 === 1 ? <mark key={place}>{part}</mark> : part))}
    </p>
  );
}

/** What a page says from a heading to the next one, or from its beginning. */
function textBelow(html: string, anchor: string): string {
  const template = document.createElement("template");
  template.innerHTML = html;
  const { content } = template;
  let element =
    anchor === "" ? content.firstElementChild : (content.getElementById(anchor)?.nextElementSibling ?? null);
  const texts: string[] = [];
  for (; element && !/^H\d$/.test(element.tagName); element = element.nextElementSibling)
    // Cells have no room between them.
    texts.push(
      ...(element.matches(".scroll")
        ? [...element.querySelectorAll("td, th")].map((cell) => cell.textContent)
        : [element.textContent]),
    );
  return texts.join(" ");
}

function Page({ slug }: { slug: string }) {
  const { content, problem } = useFile<HelpPage>(fileOf(slug));
  const anchor = heading.value;
  useEffect(() => {
    const target = document.getElementById(anchor);
    if (content === null || target === null) return;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }, [content, anchor]);
  return (
    <>
      <ViewProblem problem={problem} />
      <h1 tabIndex={-1}>{content?.title ?? "Help"}</h1>
      {content && <article class="doc" dangerouslySetInnerHTML={{ __html: content.html }} />}
    </>
  );
}
