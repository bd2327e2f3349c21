/** Begins a box that scrolls with what matters in its middle. */
import { type Ref } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** @param selector what is to be seen: its parent of offsets lies at the box's corner @param of when this changes, the box begins anew */
export function useInMiddle(selector: string, of: unknown): Ref<HTMLDivElement> {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    const seen = box?.querySelector<HTMLElement>(selector);
    if (!box || !seen) return;
    box.scrollTop = seen.offsetTop - (box.clientHeight - seen.offsetHeight) / 2;
    box.scrollLeft = seen.offsetLeft - (box.clientWidth - seen.offsetWidth) / 2;
  }, [of]);
  return ref;
}
