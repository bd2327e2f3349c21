/** The little that is used of `autocannon`, which brings no types. */
declare module "autocannon" {
  import type { EventEmitter } from "node:events";

  /** One request, written to the socket as it is. */
  export type Request = { method: string; path: string; headers: Record<string, string> };

  /** A connection. */
  export type Client = { setRequests: (requests: Request[]) => void };

  /** A run under way; `response` comes with the client, the status, the bytes and the time in ms. */
  export type Instance = EventEmitter & Promise<{ errors: number; timeouts: number }>;

  // The module is CommonJS and is one function.
  // eslint-disable-next-line import-x/no-default-export
  export default function autocannon(options: {
    url: string;
    connections: number;
    /** Requests in all, the same number on each connection. */
    amount: number;
    setupClient: (client: Client) => void;
  }): Instance;
}
