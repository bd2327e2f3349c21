/** The services that can be polled, by their names. */
import { DEFAULT_SERVICE, type ResponseRecord } from "../journal/record.ts";
import { cutText } from "../ground/outsideText.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { type Answer, answerError } from "../quotes/answer.ts";
import type { QuoteCall, SavedCall } from "../quotes/call.ts";
import { ALPACA } from "./alpaca/alpaca.ts";
import { ETRADE } from "./etrade/etrade.ts";
import { REFERENCE } from "./reference/reference.ts";
import type { Service } from "./service.ts";
import { TRADIER } from "./tradier/tradier.ts";

/** The default first. */
export const SERVICES: readonly Service[] = [REFERENCE, ALPACA, TRADIER, ETRADE];

export const CONTRACT_COSTS: string = SERVICES.map(({ title, optionsInList, batch, write }) =>
  optionsInList
    ? `At ${title} up to ${batch.first} contracts are one call${write.chain ? ", and so is a whole expiration" : ""}.`
    : `At the ${title} each contract is a call of its own.`,
).join(" ");

export function titlesWith(form: QuoteCall["form"]): string {
  return SERVICES.filter(({ write }) => form in write)
    .map(({ title }) => title)
    .join(", ");
}

/** What people are told of a service that is experimental; null: nothing. */
export function experimentalNote({
  title,
  experimental,
}: Pick<Service, "title" | "experimental">): string | null {
  return experimental ? `${title} is experimental: it was tried against ${experimental} only` : null;
}

/** @returns null: no service of that name is known */
export function serviceNamed(name: string = DEFAULT_SERVICE): Service | null {
  return SERVICES.find((service) => service.name === name) ?? null;
}

/** @throws QuotekeeperError UNEXPECTED there is none: the schemas of the settings let no other name pass */
export function knownService(name: string): Service {
  const service = serviceNamed(name);
  if (!service) throw new QuotekeeperError("UNEXPECTED", `no service is named ${name}`);
  return service;
}

/**
 * Reads a kept answer as the service that gave it. Never throws. An answer of a service that only a newer version knows is
 * `malformed`: it stays in the journal, and that version reads it in a rebuild.
 */
export function answerOf(
  record: Pick<ResponseRecord, "service" | "status" | "headers" | "body" | "request">,
): Answer {
  const service = serviceNamed(record.service);
  if (service) return service.classify(record, record.request as QuoteCall | SavedCall);
  const detail = `this version does not know the service ${cutText(record.service ?? "", 64)}`;
  return { outcome: "malformed", responseId: null, detail };
}

/** What is wrong with an answer, in words that name the settings of the service that gave it. */
export function errorOf(
  answer: Exclude<Answer, { outcome: "quotes" }>,
  { service }: Pick<ResponseRecord, "service">,
): QuotekeeperError {
  const { credentials, isTimed } = serviceNamed(service) ?? REFERENCE;
  const named = credentials.all.map(({ variable }) => variable);
  return answerError(answer, listed([...named, ...(isTimed ? ["the machine's clock"] : [])]));
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** How contracts stand in lists: not at all, beside stocks, or in lists of their own. */
export function inLists({ optionsInList, batch }: Pick<Service, "optionsInList" | "batch">): {
  optionsInList?: true | "apart";
} {
  return optionsInList ? { optionsInList: batch.contracts === undefined ? true : "apart" } : {};
}

/** The limit of a service at an address, where nobody has said another. */
export function limitAt({ addresses, limit }: Service, baseUrl: string | null): Service["limit"] {
  return addresses.find((address) => address.baseUrl === baseUrl)?.limit ?? limit;
}
