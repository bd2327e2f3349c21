/** How long the reader takes over each hostile document, beside an honest one of 325 instruments, in this run. */
import { expect, test } from "@jest/globals";
import { kindOf } from "../support/recorded.ts";
import { answerXml, equityXml } from "../support/xml.ts";
import { hostileDocuments } from "./hostileDocuments.ts";

const honest = Buffer.from(answerXml(...Array.from({ length: 325 }, (_, n) => equityXml(`S${n}`))));
const RUNS = 3;

/** The shortest of a few runs, in ms. */
function timed(body: Uint8Array): number {
  const runs = Array.from({ length: RUNS }, () => {
    const startedAt = performance.now();
    kindOf(body);
    return performance.now() - startedAt;
  });
  return Math.min(...runs);
}

test("hostile documents are printed with their times", () => {
  const lines = hostileDocuments().map(({ name, make, outcome }) => {
    const body = make();
    expect(kindOf(body)).toBe(outcome);
    return { name, ms: timed(body) };
  });

  const all = [{ name: "honest: 325 instruments", ms: timed(honest) }, ...lines.sort((a, b) => b.ms - a.ms)];
  process.stdout.write(
    `${all.map(({ name, ms }) => `${ms.toFixed(1).padStart(8)} ms  ${name}`).join("\n")}\n`,
  );
});
