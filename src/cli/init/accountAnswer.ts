/** Answers to `account` of `quotekeeper init`: a service by its name, or an address. */
import { DEFAULT_SERVICE } from "../../journal/record.ts";
import { knownService, SERVICES } from "../../services/registry.ts";
import type { Service } from "../../services/service.ts";

export const SIMULATED = "simulated";

/** The account that an answer stands for. */
export type AccountAnswer = {
  service: Service;
  /** Settings that choose the service and its address, in the order in which `.env` has them; none: the simulated market. */
  settings: Readonly<Record<string, string>>;
};

type Address = Service["addresses"][number];

/** Services that have addresses of their own are chosen by name. */
const NAMED = SERVICES.filter(({ addresses }) => addresses.length > 0);

/** Words that need no address behind them. */
const WORDS: ReadonlyMap<string, AccountAnswer> = new Map([
  [SIMULATED, { service: knownService(DEFAULT_SERVICE), settings: {} }],
  ...NAMED.flatMap((service) =>
    service.addresses.map((address) => [wordOf(service, address), at(service, address.baseUrl)] as const),
  ),
]);

export const ACCOUNT_WORDS: readonly string[] = [...WORDS.keys()];

/** Each form of an answer, for help and messages. */
export const ACCOUNT_FORMS: readonly string[] = [
  ...ACCOUNT_WORDS,
  ...NAMED.map(({ name }) => `${name} ADDRESS`),
];

/** The question's sentence about services that are chosen by name. */
export const NAMED_SERVICES: string = NAMED.map(({ name, title, free, experimental, addresses }) => {
  const sandbox = addresses
    .map((one) => (one.sandbox === undefined ? "" : ` ${name}-sandbox: ${one.sandbox}.`))
    .join("");
  return `${name}: ${title}${free ? ", free" : ""}${experimental ? ", experimental" : ""}.${sandbox} ${name} ADDRESS: a proxy or a fake of it.`;
}).join(" ");

/** @returns null: neither a word, nor an address, nor a service's name with an address */
export function readAccount(answer: string): AccountAnswer | null {
  const word = WORDS.get(answer);
  if (word) return word;
  const [first = "", address = "", ...more] = answer.split(/\s+/);
  if (more.length > 0) return null;
  const named = NAMED.find(({ name }) => name === first);
  if (named) return address.includes("://") ? at(named, address) : null;
  if (address !== "" || !first.includes("://")) return null;
  // A service is known by an address of its own too: the credentials of another are never sent there.
  const owner = NAMED.find(({ addresses }) => addresses.some(({ baseUrl }) => baseUrl === plain(first)));
  return at(owner ?? knownService(DEFAULT_SERVICE), first);
}

function wordOf({ name }: Service, { sandbox }: Address): string {
  return sandbox === undefined ? name : `${name}-sandbox`;
}

function at(service: Service, baseUrl: string): AccountAnswer {
  const isDefault = service.addresses[0]?.baseUrl === plain(baseUrl);
  return {
    service,
    settings: {
      ...(service.name !== DEFAULT_SERVICE && { QUOTES_SERVICE: service.name }),
      ...(!isDefault && { QUOTES_BASE_URL: baseUrl }),
    },
  };
}

function plain(address: string): string {
  return address.replace(/\/+$/, "").toLowerCase();
}
