/**
 * What the journal tells of the runs before, so that a restart asks only what its slots still lack, and the longest
 * unseen first. Answers are given in the journal's order. Pure.
 */
import type { ResponseRecord } from "../journal/record.ts";
import type { Job } from "../schedule/readJobs.ts";
import { matchCall } from "../quotes/match.ts";
import type { ReadDocument } from "../quotes/document.ts";
import { type QuoteCall } from "../quotes/call.ts";
import { answerOf } from "../services/registry.ts";
import { namesOf } from "./asks.ts";
import { storedNames } from "./callPlan.ts";
import { PagesSoFar } from "./pages.ts";

type EarlierAnswer = Pick<ResponseRecord, "service" | "status" | "headers" | "body"> & {
  request: QuoteCall;
  requestedAt: string;
};

/** Of a chain: what its pages so far have been. `firstAskedMs`: -Infinity where the first is not known. */
type ChainSoFar = { firstAskedMs: number; isStored: boolean };

type QuotedAnswer = { call: QuoteCall; askedMs: number; document: ReadDocument; before: ChainSoFar };

/** Which expirations the service has listed of an underlying. `askedMs`: epoch ms UTC. */
type ListedExpirations = { underlying: string; expirations: readonly string[]; askedMs: number };

const UNKNOWN: ChainSoFar = { firstAskedMs: -Infinity, isStored: false };

export class EarlierRuns {
  readonly #sinceMs: number;
  readonly lastSeenMs = new Map<string, number>();
  readonly #quoted: QuotedAnswer[] = [];
  readonly listed = new Map<string, ListedExpirations>();
  readonly #lists = new PagesSoFar<readonly string[]>();
  readonly #chains = new PagesSoFar<ChainSoFar>();

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
    const before = this.#chains.before(request, { firstAskedMs: askedMs, isStored: false }) ?? UNKNOWN;
    this.#quoted.push({ call: request, askedMs, document, before });
    if (document.nextPage === undefined) return;
    const isStored =
      before.isStored || matchCall(request, document.items).some(({ fate }) => fate === "stored");
    this.#chains.goOn(request, document.nextPage, { ...before, isStored });
  }

  #list(
    request: Extract<QuoteCall, { form: "expirations" }>,
    raw: Parameters<typeof answerOf>[0],
    askedMs: number,
  ): void {
    const { underlying } = request;
    const answer = answerOf(raw);
    const before = this.#lists.before(request, []);
    // A list in pages is whole with its last one, where all before it are known.
    if (answer.outcome !== "quotes" || before === null) return;
    const { expirations = [], nextPage } = answer.document;
    const all = [...new Set([...before, ...expirations])].sort();
    if (nextPage !== undefined) this.#lists.goOn(request, nextPage, all);
    else if (all.length > 0) this.listed.set(underlying, { underlying, expirations: all, askedMs });
  }

  /** Documents with quotes that were asked for within the slots that still last: chains hang on their prices. */
  get documents(): readonly ReadDocument[] {
    return this.#quoted.map(({ document }) => document);
  }

  /** Names of what was asked for within [from, to) and stored; epoch ms UTC. */
  storedWithin({ delayed }: Pick<Job, "delayed">, from: number, to: number): Set<string> {
    const within = this.#quoted.filter(
      ({ call, askedMs, before }) => call.delayed === delayed && before.firstAskedMs >= from && askedMs < to,
    );
    return new Set(
      within.flatMap(({ call, document, before }) =>
        storedNames(call, matchCall(call, document.items), { ...document, before: before.isStored }),
      ),
    );
  }
}
