/**
 * What the journal tells of the runs before, so that a restart asks only what its slots still lack, and the longest
 * unseen first. Answers are given in the journal's order. Pure.
 */
import type { ResponseRecord } from "../journal/record.ts";
import type { Job } from "../schedule/readJobs.ts";
import { matchCall, type MatchedItem } from "../quotes/match.ts";
import type { ReadDocument } from "../quotes/document.ts";
import { type QuoteCall } from "../quotes/call.ts";
import { answerOf } from "../services/registry.ts";
import { namesOf } from "./asks.ts";
import { storedNames } from "./callPlan.ts";
import { listedBy, ReadPages } from "./pages.ts";

type EarlierAnswer = Pick<ResponseRecord, "service" | "status" | "headers" | "body"> & {
  request: QuoteCall;
  requestedAt: string;
};

type AnsweredPage = { askedMs: number; isStored: boolean };

/** `pages`: of a chain all of them, with its last one; null: others follow, or its first one is not known. */
type QuotedAnswer = {
  call: QuoteCall;
  document: ReadDocument;
  matched: readonly MatchedItem[];
  pages: readonly AnsweredPage[] | null;
};

/** Which expirations the service has listed of an underlying. `askedMs`: epoch ms UTC. */
type ListedExpirations = { underlying: string; expirations: readonly string[]; askedMs: number };

export class EarlierRuns {
  readonly #sinceMs: number;
  readonly lastSeenMs = new Map<string, number>();
  readonly #quoted: QuotedAnswer[] = [];
  readonly listed = new Map<string, ListedExpirations>();
  readonly #lists = new ReadPages<string>();
  readonly #chains = new ReadPages<AnsweredPage>();

  /** @param sinceMs begin of the oldest slot that still lasts, epoch ms UTC: what was asked since then is read whole */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  add(earlier: EarlierAnswer): void {
    const { request, requestedAt, status } = earlier;
    const askedMs = Date.parse(requestedAt);
    if (status !== 200) return;
    if (request.form === "expirations") return this.#list(request, earlier, askedMs);
    for (const name of namesOf(request)) this.lastSeenMs.set(name, askedMs);
    if (askedMs < this.#sinceMs) return;
    const answer = answerOf(earlier);
    if (answer.outcome !== "quotes") return;
    const { document } = answer;
    const matched = matchCall(request, document.items);
    const page = { askedMs, isStored: matched.some(({ fate }) => fate === "stored") };
    const pages = request.form === "chain" ? this.#chains.add(request, document, [page]) : [page];
    this.#quoted.push({ call: request, document, matched, pages });
  }

  #list(
    request: Extract<QuoteCall, { form: "expirations" }>,
    raw: Parameters<typeof answerOf>[0],
    askedMs: number,
  ): void {
    const { underlying } = request;
    const answer = answerOf(raw);
    if (answer.outcome !== "quotes") return;
    const expirations = listedBy(this.#lists, request, answer.document);
    if (expirations !== null) this.listed.set(underlying, { underlying, expirations, askedMs });
  }

  /** Documents with quotes that were asked for within the slots that still last: chains hang on their prices. */
  get documents(): readonly ReadDocument[] {
    return this.#quoted.map(({ document }) => document);
  }

  /** Names of what was asked for within [from, to) and stored; epoch ms UTC. */
  storedWithin({ delayed }: Pick<Job, "delayed">, from: number, to: number): Set<string> {
    return new Set(
      this.#quoted.flatMap(({ call, document, matched, pages }) => {
        if (call.delayed !== delayed || pages === null) return [];
        if (!pages.every(({ askedMs }) => askedMs >= from && askedMs < to)) return [];
        const before = pages.some(({ isStored }) => isStored);
        return storedNames(call, matched, { ...document, before });
      }),
    );
  }
}
