/** The names of the views: a row, or where it has no room a list, which the name of the view that is shown opens. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { path, view, VIEWS } from "../lib/router.ts";

/** The list closes by a choice, by Escape, and when something else is clicked or has the focus. */
export function ViewList() {
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
        type="button"
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
            <a href={to} aria-current={view.value?.path === to ? "page" : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
