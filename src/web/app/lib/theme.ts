/** Light or dark: the system's choice, or the reader's own. */
import { computed, effect, signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";
import { follow } from "./narrow.ts";

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
