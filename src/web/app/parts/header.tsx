/** Brand, views, marks and the theme's switch. */
import { exchangeMoment, exchangeTime, ZONE_NAME } from "../lib/format.ts";
import { logOut } from "../lib/api.ts";
import { nowMs } from "../lib/pageClock.ts";
import { view, VIEWS } from "../lib/router.ts";
import { connected, meta, now, simulated } from "../lib/store.ts";
import { FindInstrument } from "./search.tsx";
import { nextTheme, theme } from "../lib/theme.ts";

/** The bar on top of every view. */
export function Header() {
  return (
    <header class="top">
      <a class="brand" href="/" aria-label="quotekeeper">
        <Mark />
        <span>quotekeeper</span>
      </a>
      {simulated.value && (
        <span class="sim" title="These quotes are made up.">
          SIMULATED
        </span>
      )}
      <nav aria-label="Views">
        {VIEWS.map(({ path: to, name }) => (
          <a key={to} href={to} aria-current={view.value?.path === to ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <FindInstrument />
      <div class="top-end">
        <Market />
        <Connection />
        <button
          type="button"
          class="quiet"
          onClick={nextTheme}
          aria-label={`Theme: ${theme.value}. Change it`}
        >
          {{ system: "◐", light: "○", dark: "●" }[theme.value]}
        </button>
        {meta.value?.protected && (
          <button type="button" class="quiet" onClick={() => void logOut()}>
            Log out
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

const PHASES = { pre: "Pre-market", regular: "Market open", post: "After hours", closed: "Market closed" };

function Market() {
  const market = now.value?.market;
  if (!market) return null;
  // The simulated market keeps no hours.
  if (now.value?.feed.simulated)
    return (
      <span class="market" data-phase="regular">
        <i aria-hidden="true" /> Never closes
      </span>
    );
  const { phase, opensAt, closesAt } = market;
  const until = closesAt ? `until ${exchangeTime(closesAt, { seconds: false })} ${ZONE_NAME}` : "";
  const next = opensAt ? `opens ${exchangeMoment(opensAt)}` : "";
  return (
    <span class="market" data-phase={phase}>
      <i aria-hidden="true" /> {PHASES[phase]} <small>{until || next}</small>
    </span>
  );
}

const CONNECTION = {
  connecting: "connecting",
  live: "live",
  away: "not connected, trying again",
};

function Connection() {
  const time = `${exchangeTime(new Date(nowMs.value).toISOString())} ${ZONE_NAME}`;
  return (
    <span class="connection" data-state={connected.value} title={CONNECTION[connected.value]}>
      <i aria-hidden="true" />
      <span class="unseen">{CONNECTION[connected.value]}, </span>
      {connected.value === "away" ? "reconnecting" : now.value ? time : ""}
    </span>
  );
}
