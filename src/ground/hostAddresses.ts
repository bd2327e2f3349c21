/**
 * Addresses of hosts. Nobody can call a lookup off, and each holds one of the process's four threads, which files need as
 * well: so each host is looked up once at a time, for all who ask. The addresses of the last good lookup stand in for one that
 * fails or takes long, and never for an answer. Who connects checks the name, not the address.
 */
import { lookup as ask, type LookupAddress, type LookupOptions } from "node:dns";
import { isIP, Socket } from "node:net";
import { promisify } from "node:util";
import { atMost, type Clock, systemClock } from "./clock.ts";
import { systemError } from "./errors.ts";

/** How long a lookup is waited for where an earlier one was good, and where none was, in ms. */
const PATIENCE_MS = 2_000;
const BOUND_MS = 8_000;

export const LOOKUP_TIMEOUT = "LOOKUP_TIMEOUT";

type Host = {
  good: readonly LookupAddress[] | null;
  asking: { since: number; answer: Promise<readonly LookupAddress[]> } | null;
};

/** Rejects with the system's error, or with one of the code LOOKUP_TIMEOUT. */
export type HostAddresses = (hostname: string) => Promise<readonly LookupAddress[]>;

export function createHostAddresses(
  lookup: HostAddresses,
  clock: Pick<Clock, "monotonicMs" | "sleep">,
): HostAddresses {
  const hosts = new Map<string, Host>();
  return async (hostname) => {
    const family = isIP(hostname);
    if (family > 0) return [{ address: hostname, family }];
    const host: Host = hosts.get(hostname) ?? { good: null, asking: null };
    hosts.set(hostname, host);
    host.asking ??= {
      since: clock.monotonicMs(),
      answer: lookup(hostname).finally(() => (host.asking = null)),
    };
    const { since, answer } = host.asking;
    let found: readonly LookupAddress[] | null = null;
    let error: unknown = systemError(LOOKUP_TIMEOUT, `no address of ${hostname} in time`);
    const answered = answer.then(
      (addresses) => (found = host.good = addresses),
      (cause: unknown) => (error = cause),
    );
    const patienceMs = host.good === null ? BOUND_MS : since + PATIENCE_MS - clock.monotonicMs();
    if (patienceMs > 0) await atMost(patienceMs, answered, clock);
    const addresses = found ?? host.good;
    if (addresses === null) throw error;
    return addresses;
  };
}

export const hostAddresses = createHostAddresses(
  async (hostname) => promisify(ask)(hostname, { all: true }),
  systemClock,
);

type OnLookup = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

export function asLookup(addresses: HostAddresses) {
  return (hostname: string, { all }: LookupOptions, done: OnLookup): void => {
    addresses(hostname).then(
      (found) => (all ? done(null, [...found]) : done(null, found[0]?.address ?? "", found[0]?.family)),
      (error: NodeJS.ErrnoException) => done(error, ""),
    );
  };
}

/** A socket that `connect(port, host)` connects to one of these addresses. A path of a local socket is a path. */
export function socketTo(addresses: HostAddresses = hostAddresses): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket) as (to: unknown) => Socket;
  socket.connect = ((port: number | string, host?: string) =>
    typeof port === "string" && host === undefined
      ? connect(port)
      : connect({ port, host, lookup: asLookup(addresses) })) as typeof socket.connect;
  return socket;
}
