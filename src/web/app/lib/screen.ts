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

/** @returns null: nothing is kept */
export function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @returns whether it is kept */
export function keep(key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

export function giveFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has taken it over by the next turn.
  setTimeout(() => URL.revokeObjectURL(link.href));
}

const THEMES = ["system", "light", "dark"] as const;

type Theme = (typeof THEMES)[number];

const KEY = "quotekeeper-theme";

export const theme = signal<Theme>(THEMES.find((each) => each === kept(KEY)) ?? "system");

const systemIsDark = follow("(prefers-color-scheme: dark)");

export const shownDark = computed(
  () => theme.value === "dark" || (theme.value === "system" && systemIsDark.value),
);

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  keep(KEY, theme.value);
}

export function startTheme(): void {
  const { dataset } = document.documentElement;
  effect(() => {
    if (theme.value === "system") delete dataset["theme"];
    else dataset["theme"] = theme.value;
  });
}
