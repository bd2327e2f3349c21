/** The frame around every view: navigation, marks, footer; and the token, where one is asked for first. */
import { useSignalEffect } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { logOut, tokenWanted, ApiProblem, logIn } from "./lib/api.ts";
import { exchangeMoment, exchangeTime, ZONE_NAME } from "./lib/format.ts";
import { newer, isOld, now, page, simulated, trouble, startFeed } from "./lib/newest.ts";
import { nowMs, serverTime } from "./lib/pageClock.ts";
import { heardMs, sight } from "./lib/pageLine.ts";
import { href, path, view, VIEWS } from "./lib/router.ts";
import { nextTheme, theme } from "./lib/pageLook.ts";
import { ProblemNote } from "./parts/notes.tsx";
import { FindInstrument } from "./parts/search.tsx";
import { ChainPage } from "./views/chainPage.tsx";
import { CoveragePage } from "./views/coveragePage.tsx";
import { ChartPage } from "./views/chartPage.tsx";
import { NowPage } from "./views/nowPage.tsx";
import { QuotesPage } from "./views/quotesPage.tsx";
import type { Problem } from "../api/types.ts";

export function App() {
  useSignalEffect(() => {
    const name = view.value?.name ?? "Nothing here";
    document.title = `${simulated.value ? "SIMULATED · " : ""}${name} · quotekeeper`;
  });
  if (tokenWanted.value) return <LoginView />;
  const Page = view.value && PAGES[view.value.path];
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        {newer.value !== null && (
          <p class="verdict row box marked" data-tone="calm" role="status">
            <b>A newer version runs</b> quotekeeper {newer.value}: this page loads anew when nothing is being
            typed. <button onClick={() => location.reload()}>Load now</button>
          </p>
        )}
        {trouble.value && <ProblemNote problem={trouble.value} />}
        <div class="view" data-old={isOld.value ? "" : undefined}>
          {Page ? <Page /> : <h1 tabIndex={-1}>There is no such view</h1>}
        </div>
      </main>
      <Footer />
    </>
  );
}

const PAGES: Readonly<Record<(typeof VIEWS)[number]["path"], FunctionComponent>> = {
  "": NowPage,
  quotes: QuotesPage,
  instrument: ChartPage,
  chain: ChainPage,
  coverage: CoveragePage,
};

function Footer() {
  return (
    <footer class="foot small dim">
      {page.value?.attribution && <p class="attribution">{page.value.attribution}</p>}
      {simulated.value && (
        <p>
          <strong class="sim">SIMULATED</strong> Prices are simulated.
        </p>
      )}
      <p>
        All times are New York's. quotekeeper {page.value?.version}.{" "}
        <a href={href("docs/index.html")}>Help</a>. Charts:{" "}
        <a href="https://www.tradingview.com/" rel="noreferrer" target="_blank">
          TradingView Lightweight Charts™
        </a>
        .
      </p>
    </footer>
  );
}

function Header() {
  return (
    <header class="top">
      <a class="brand" href={href("")} aria-label="quotekeeper">
        <Mark />
        <span>quotekeeper</span>
      </a>
      {simulated.value && (
        <span class="sim" title="These quotes are made up.">
          SIMULATED
        </span>
      )}
      <ViewList />
      <FindInstrument />
      <div class="top-end">
        {!isOld.value && <Market />}
        <Connection />
        <button class="quiet" onClick={nextTheme} aria-label={`Theme: ${theme.value}. Change it`}>
          {{ system: "◐", light: "○", dark: "●" }[theme.value]}
        </button>
        {page.value?.protected && (
          <button class="quiet" aria-label="Log out" title="Log out" onClick={() => void logOut()}>
            <svg class="leave" viewBox="0 0 16 16" aria-hidden="true">
              <path d="M6 2H2v12h4M6 8h8M11 5l3 3-3 3" />
            </svg>
          </button>
        )}
      </div>
    </header>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M7 21V13M7 8v2M7 24v3M13 18V9M13 4v2M13 21v3M19 23v-8M19 10v2M19 26v3M25 16V8M25 3v2M25 19v3" />
    </svg>
  );
}

/** Each in words, and where there is little room. */
const PHASES = {
  pre: ["Pre-market", "Pre"],
  regular: ["Market open", "Open"],
  post: ["After hours", "After"],
  closed: ["Market closed", "Closed"],
} as const;

function Market() {
  const market = now.value?.market;
  if (!market) return null;
  // The simulated market keeps no hours.
  const isOpen = now.value?.feed.simulated === true;
  const phase = isOpen ? "regular" : market.phase;
  const [name, short] = isOpen ? ["Never closes", "Never closes"] : PHASES[phase];
  const { opensAt, closesAt } = isOpen ? { opensAt: null, closesAt: null } : market;
  const until = closesAt ? `until ${exchangeTime(closesAt, { seconds: false })} ${ZONE_NAME}` : "";
  const more = until || (opensAt ? `opens ${exchangeMoment(opensAt)}` : "");
  return (
    <span class="market small" data-phase={phase} title={`${name} ${more}`.trim()}>
      <i aria-hidden="true" /> <span class="roomy">{name}</span>
      <span class="tight">{short}</span> <small class="dim">{more}</small>
    </span>
  );
}

/** The clock while events arrive; since when none has. The words for ears change with the state alone. */
function Connection() {
  const since = heardMs.value === null ? "" : exchangeTime(serverTime(heardMs.value));
  const old = since === "" ? "not live" : `not live since ${since} ${ZONE_NAME}`;
  const words = isOld.value ? old : sight.value;
  const time = exchangeTime(new Date(nowMs.value).toISOString());
  return (
    <span
      class="connection small mono"
      data-state={sight.value}
      title={`${words}; ${isOld.value ? "trying again" : `${time} ${ZONE_NAME}`}`}
    >
      <i aria-hidden="true" />
      <span class="unseen" role="status">
        {words}
      </span>
      {isOld.value ? (
        <span aria-hidden="true">
          not live <span class="roomy">since </span>
          {since}
        </span>
      ) : (
        now.value && time
      )}
      {now.value && !isOld.value && <span class="zone"> {ZONE_NAME}</span>}
    </span>
  );
}

/**
 * The names of the views: a row, or where it has no room a list, which the name of the view that is shown opens. The list
 * closes by a choice, by Escape, and when something else is clicked or has the focus.
 */
function ViewList() {
  const [open, setOpen] = useState(false);
  const nav = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => setOpen(false), [path.value]);
  // As soon as the list is seen: a click that comes at once closes it too.
  useLayoutEffect(() => {
    if (!open) return;
    const leave = ({ target }: Event): void => {
      if (!nav.current?.contains(target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [open]);
  const close = (): void => {
    if (!open) return;
    setOpen(false);
    // What has the focus is gone with the list. Another view takes it over.
    button.current?.focus();
  };
  return (
    <nav aria-label="Views" ref={nav} onKeyDown={({ key }) => key === "Escape" && close()}>
      <button
        class="views-button"
        ref={button}
        aria-expanded={open}
        aria-controls="views"
        onClick={() => setOpen(!open)}
      >
        {view.value?.name ?? "Views"}
      </button>
      <ul id="views" data-open={open} onClick={close}>
        {VIEWS.map(({ path: to, name }) => (
          <li key={to}>
            <a href={href(to)} aria-current={view.value?.path === to ? "page" : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function LoginView() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await logIn(token);
      startFeed();
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error.problem);
    }
  };
  return (
    <main class="login" id="main">
      <h1 tabIndex={-1}>quotekeeper</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token of this dashboard</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit">Log in</button>
      </form>
      {problem && <ProblemNote problem={problem} />}
      <p class="dim">It is the value of QUOTEKEEPER_WEB_TOKEN.</p>
    </main>
  );
}
