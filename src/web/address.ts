/** The address on which the dashboard listens. */
import { once } from "node:events";
import { createServer } from "node:net";
import { QuotekeeperError } from "../ground/errors.ts";

type Address = { host: string; port: number };

/**
 * Looks before anything is opened, so that a taken port costs no start of a database.
 *
 * @throws QuotekeeperError PORT_IN_USE, HTTP_ADDRESS_INVALID
 */
export async function requireAddress(address: Address): Promise<void> {
  const server = createServer();
  try {
    await once(server.listen(address), "listening");
  } catch (cause) {
    throw cannotListen(cause, address);
  }
  await once(server.close(), "close");
}

/** PORT_IN_USE or HTTP_ADDRESS_INVALID, for what the system says of an address. */
export function cannotListen(cause: unknown, { host, port }: Address): QuotekeeperError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const isTaken = code === "EADDRINUSE";
  const why = isTaken ? ", which is taken (its port is QUOTEKEEPER_HTTP_PORT)" : ` (${code ?? message})`;
  return new QuotekeeperError(
    isTaken ? "PORT_IN_USE" : "HTTP_ADDRESS_INVALID",
    `the dashboard cannot listen on ${host}:${port}${why}`,
    { cause },
  );
}
