/** Light or dark: the system's choice, or the reader's own. */
import { signal } from "@preact/signals";

const THEMES = ["system", "light", "dark"] as const;

/** The three choices. */
type Theme = (typeof THEMES)[number];

const KEY = "quotekeeper-theme";

/** What is chosen. */
export const theme = signal<Theme>(stored());

/** What is shown; it changes with the system's choice too. */
export const shownDark = signal(false);

const system = matchMedia("(prefers-color-scheme: dark)");

/** The next of the three. */
export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  theme.value = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing shows the system's choice next time.
  }
  show();
}

/** Shows the choice. */
export function startTheme(): void {
  system.addEventListener("change", show);
  show();
}

function show(): void {
  const { documentElement: root } = document;
  if (theme.value === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme.value;
  shownDark.value = theme.value === "dark" || (theme.value === "system" && system.matches);
}

function stored(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return THEMES.find((each) => each === kept) ?? "system";
  } catch {
    return "system";
  }
}
