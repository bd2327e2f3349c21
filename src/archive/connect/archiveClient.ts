/** One connection to the archive's database: how it logs in, and whom it believes. */
import type { Duplex } from "node:stream";
import pg from "pg";
import { SCRAM } from "../../config/databaseUrl.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { socketTo } from "../../ground/hostAddresses.ts";

/**
 * How long the network and a busy server may take until a connection stands, in ms. Waiting for a turn in the pool has no
 * limit.
 */
export const CONNECT_TIMEOUT_MS = 15_000;

/** What the driver does not declare: what arrives at login, each message an event, and how it answers with a password. */
type Login = { connection: NodeJS.EventEmitter & { password: () => void; stream: Duplex } };

/**
 * One connection. With `require_auth=scram-sha-256` in its address, libpq's word (PostgreSQL documentation, section
 * 34.1.2), a server that asks for the password in any other way gets nothing, and one that lets us in without having
 * proved that it knows the password is left before the first statement.
 *
 * Given to the pool, the limit of time would also hold for who waits until one of its few connections is free.
 */
export class ArchiveClient extends pg.Client {
  #unproven: boolean;

  constructor(config: pg.ClientConfig & { require_auth?: string; abandoned?: AbortSignal }) {
    // Not a copy: the pool hides the password from those.
    super(
      Object.create(config, {
        connectionTimeoutMillis: { value: CONNECT_TIMEOUT_MS },
        stream: { value: () => socketTo() },
      }) as pg.ClientConfig,
    );
    // What is asked of one that breaks rejects, and then it says so once more: without a listener that would end the process.
    // The server's goodbye can come with the end of the login, before a pool listens.
    this.on("error", () => undefined);
    this.#endWith(config.abandoned);
    this.#unproven = config.require_auth === SCRAM;
    if (this.#unproven) this.#sayNothingButProofs();
  }

  #endWith(abandoned: AbortSignal | undefined): void {
    const onAbandoned = (): void => cut(this);
    abandoned?.addEventListener("abort", onAbandoned);
    this.once("end", () => abandoned?.removeEventListener("abort", onAbandoned));
  }

  #sayNothingButProofs(): void {
    const { connection } = this as unknown as Login;
    // The one message that holds a password, or its MD5. SCRAM has others.
    connection.password = () => connection.emit("error", impostor());
    // The driver compares what this message says, and ends the connection where the server's proof is wrong.
    connection.on("authenticationSASLFinal", () => (this.#unproven = false));
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
    const connecting = super.connect().then(
      () => {
        if (!this.#unproven) return this as pg.Client;
        void this.end().catch(() => undefined);
        throw impostor();
      },
      (error: unknown) => {
        // Without the password that the server asks for, the driver gives up and leaves the connection open.
        void this.end().catch(() => undefined);
        throw error;
      },
    );
    if (callback === undefined) return connecting;
    connecting.then(() => callback(null as unknown as Error), callback);
  }
}

function impostor(): QuotekeeperError {
  return new QuotekeeperError(
    "DATABASE_REFUSED",
    `the server does not prove that it knows the password, as require_auth=${SCRAM} asks: it may be another program`,
  );
}

/** Cuts a connection: a server that is silent would not answer a goodbye. */
export function cut(client: unknown): void {
  (client as Login).connection.stream.destroy();
}
