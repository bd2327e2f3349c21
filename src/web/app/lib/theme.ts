/** Light or dark: the system's choice, or the reader's own. */
import { signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";

const THEMES = ["system", "light", "dark"] as const;

type Theme = (typeof THEMES)[number];

const KEY = "quotekeeper-theme";

export const theme = signal<Theme>(THEMES.find((each) => each === kept(KEY)) ?? "system");

export const shownDark = signal(false);

const system = matchMedia("(prefers-color-scheme: dark)");

export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  theme.value = next;
  keep(KEY, next);
  show();
}

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
