/** The frame around every view: navigation, marks, footer. */
import { useSignalEffect } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Header } from "./parts/header.tsx";
import { ProblemNote } from "./parts/notes.tsx";
import { tokenWanted } from "./lib/api.ts";
import { comebacks, note } from "./lib/pageLine.ts";
import { view, type VIEWS } from "./lib/router.ts";
import { isOld, meta, simulated, trouble } from "./lib/store.ts";
import { AccountsPage } from "./views/accounts.tsx";
import { ChainView } from "./views/chain.tsx";
import { CoveragePage } from "./views/coverage.tsx";
import { HealthPage } from "./views/health.tsx";
import { InstrumentView } from "./views/instrument.tsx";
import { JobsPage } from "./views/jobs.tsx";
import { LoginView } from "./views/login.tsx";
import { NowPage } from "./views/now.tsx";
import { QuotesView } from "./views/quotes.tsx";

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
  "/": NowPage,
  "/quotes": QuotesView,
  "/instrument": InstrumentView,
  "/chain": ChainView,
  "/coverage": CoveragePage,
  "/health": HealthPage,
  "/jobs": JobsPage,
  "/accounts": AccountsPage,
  "/help": Help,
};

function Help() {
  const [Loaded, setLoaded] = useState<FunctionComponent | null>(null);
  useEffect(() => {
    import("./views/help.tsx").then(
      ({ HelpView }) => setLoaded(() => HelpView),
      () => note("broke"),
    );
  }, [comebacks.value]);
  return Loaded ? <Loaded /> : <h1 tabIndex={-1}>Help</h1>;
}

function Footer() {
  const known = meta.value;
  return (
    <footer class="foot small dim">
      {known?.attribution && <p class="attribution">{known.attribution}</p>}
      {simulated.value && (
        <p>
          <strong class="sim">SIMULATED</strong> Prices are simulated.
        </p>
      )}
      <p>
        All times are New York's. quotekeeper {known?.version}, read only. Charts:{" "}
        <a href="https://www.tradingview.com/" rel="noreferrer" target="_blank">
          TradingView Lightweight Charts™
        </a>
        .
      </p>
    </footer>
  );
}
