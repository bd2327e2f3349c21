/** What panels are made of: the frame below a title, a fact by its name, a line of the calls that are used. */
import type { ComponentChildren } from "preact";
import { thousands } from "../../../ground/figures.ts";

type FactProps = { name: string; value: ComponentChildren; tone?: string | undefined };

/** @param tone class of the value */
export function Fact({ name, value, tone }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={tone}>{typeof value === "number" ? thousands(value) : value}</dd>
    </div>
  );
}

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

type UsedProps = {
  used: number;
  /** Calls that are left to other programs on the same account. */
  left: number;
  limit: number;
  label: string;
};

export function UsedLine({ used, left, limit, label }: UsedProps) {
  const ours = Math.min(used, limit);
  const theirs = Math.min(left, limit);
  return (
    <svg
      class="used-line"
      viewBox={`0 0 ${limit} 1`}
      preserveAspectRatio="none"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={ours}
      aria-valuetext={`${used} of ${limit} calls used${left > 0 ? `, ${left} left to another program` : ""}`}
    >
      <rect width={ours} height="1" />
      <rect data-of="them" x={limit - theirs} width={theirs} height="1" />
    </svg>
  );
}
