/** What the window is like: how wide it is, and light or dark by the system's choice or the reader's own. */
import { type ReadonlySignal, signal, computed, effect } from "@preact/signals";

/** Whether the window is as the query says; it follows the window. */
export function follow(text: string): ReadonlySignal<boolean> {
  const query = matchMedia(text);
  const matches = signal(query.matches);
  query.addEventListener("change", () => (matches.value = query.matches));
  return matches;
}

export const narrow = follow("(max-width: 860px)");

/** As narrow as a phone: a row of the watch table has several lines. */
export const slim = follow("(max-width: 700px)");

const THEMES = ["system", "light", "dark"] as const;

type Theme = (typeof THEMES)[number];

const KEY = "quotekeeper-theme";

export const theme = signal<Theme>(keptTheme());

/** A browser that keeps nothing begins anew each time. */
function keptTheme(): Theme {
  try {
    return THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system";
  }
}

const systemIsDark = follow("(prefers-color-scheme: dark)");

export const shownDark = computed(
  () => theme.value === "dark" || (theme.value === "system" && systemIsDark.value),
);

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // It holds until the page is left.
  }
}

export function startTheme(): void {
  const { dataset } = document.documentElement;
  effect(() => {
    if (theme.value === "system") delete dataset["theme"];
    else dataset["theme"] = theme.value;
  });
}
