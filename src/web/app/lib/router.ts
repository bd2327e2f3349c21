/** Which view is shown, and with what: the address alone says it. */
import { computed, signal } from "@preact/signals";
import { BASE } from "./api.ts";

export const VIEWS = [
  { path: "", name: "Now" },
  { path: "quotes", name: "Quotes" },
  { path: "instrument", name: "Chart" },
  { path: "chain", name: "Chain" },
  { path: "coverage", name: "Coverage" },
] as const;

const address = signal(new URL(location.href));

/** The address below the page's own, such as `chain`. */
export const path = computed(() => address.value.pathname.slice(BASE.pathname.length));

/** The view that is shown; undefined at an address of none. */
export const view = computed(() => VIEWS.find(({ path: own }) => path.value === own));

/** A parameter of the address; the empty text where it is not given. */
export function parameter(name: string): string {
  return address.value.searchParams.get(name) ?? "";
}

/** An address of the page. @param to as `VIEWS` has it, or of the API */
export function href(to: string, parameters: Record<string, string> = {}): string {
  const search = new URLSearchParams(parameters).toString();
  return `${BASE.pathname}${to}${search === "" ? "" : `?${search}`}`;
}

/** Where the chart of a series is; a delayed one says so. */
export function chartOf(name: string, { sourceId, delayed }: { sourceId: number; delayed: boolean }): string {
  return href("instrument", { name, source: String(sourceId), ...(delayed && { delayed: "true" }) });
}

/** Goes there; `replace` leaves no step in the browser's history. */
function go(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  address.value = new URL(location.href);
}

/**
 * Changes parameters of the address that is shown; empty ones are left out.
 *
 * @param options.step whether the browser's Back returns to what was shown before: after a choice it does, while somebody
 *   types or draws it does not
 */
export function setParameters(changes: Record<string, string>, { step = true } = {}): void {
  const search = new URLSearchParams(address.value.search);
  for (const [name, value] of Object.entries(changes))
    if (value === "") search.delete(name);
    else search.set(name, value);
  const to = href(path.value, Object.fromEntries(search));
  if (to === address.value.pathname + address.value.search) return;
  go(to, { replace: !step });
}

/** Goes to another view. Users of a screen reader or of the keyboard continue at its heading. */
export function visit(to: string): void {
  go(to);
  // A view that is still being read has no heading yet.
  requestAnimationFrame(() =>
    (document.querySelector<HTMLElement>("main h1") ?? document.querySelector("main"))?.focus(),
  );
}

/** Follows links between views without loading the page anew, and the browser's own buttons. */
export function startRouter(): void {
  addEventListener("popstate", () => (address.value = new URL(location.href)));
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.origin !== location.origin || link.target !== "" || link.hasAttribute("download")) return;
    // To a place of what is shown: the browser goes there, and says so as it does for Back.
    if (link.hash !== "" && link.pathname + link.search === location.pathname + location.search) return;
    if (!VIEWS.some(({ path: own }) => link.pathname === BASE.pathname + own)) return;
    event.preventDefault();
    const moved = link.pathname !== location.pathname;
    const to = link.pathname + link.search + link.hash;
    if (moved) visit(to);
    else go(to);
  });
}
