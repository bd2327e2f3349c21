/** A part of a view in a frame, below its title. */
import type { ComponentChildren } from "preact";

type PanelProps = { id: string; title: ComponentChildren; kind?: string; children: ComponentChildren };

/** @param kind how much of the row it takes: a class beside `panel` */
export function Panel({ id, title, kind = "", children }: PanelProps) {
  return (
    <section class={`panel ${kind}`} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
