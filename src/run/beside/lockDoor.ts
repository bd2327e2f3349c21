/** The socket that a run listens on while it contends for a lock or holds it, and what it answers there. */
import { once } from "node:events";
import { chmod, lstat, rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { errnoOf } from "../../journal/fs.ts";
import { type Talk, talkOver } from "./lines.ts";

/** @param asked what the program beside said first */
export type Serve = (asked: unknown, talk: Talk) => Promise<void>;

/** What the lock is told of the process and its machine. */
export type ThisProcess = {
  pid: number;
  host: string;
  /** The same for all processes, in whichever container, that share a running kernel: only they see each other's sockets. */
  kernel: string;
};

/** A run among contenders: the earlier, and of two of the same time the smaller id, goes first. */
const run = z.object({ since: z.string().max(40), id: z.string().max(40) });
export const question = z.object({ ask: z.literal("who"), for: run.nullable() });
export const answer = run.extend({
  state: z.enum(["holds", "contends"]),
  pid: z.int().min(0),
  host: z.string().max(255),
});
export type Run = z.infer<typeof run>;
export type Answer = z.infer<typeof answer>;

/** What this process listens on, and how it answers there. */
export class Door {
  readonly own: Run;
  readonly self: ThisProcess;
  /** The name of its socket. */
  readonly file: string;
  holds = false;
  /** Whether one that goes first was told, since this was last set, that this one waits for it. */
  waits = false;
  readonly #talks = new Set<Talk>();
  #server: Server | null = null;
  #path: string | null = null;
  #closed = false;
  #onServe: (serve: Serve) => void = () => undefined;
  readonly #serving = new Promise<Serve>((resolve) => (this.#onServe = resolve));

  constructor(own: Run, self: ThisProcess) {
    this.own = own;
    this.self = self;
    this.file = `${self.pid}-${own.id}-${self.kernel}-${shortened(self.host)}`;
  }

  readonly serve = (serve: Serve): void => this.#onServe(serve);

  /** @throws the system's error */
  async listen(path: string): Promise<void> {
    const server = createServer((socket) => {
      const talk = talkOver(socket);
      this.#talks.add(talk);
      socket.once("close", () => this.#talks.delete(talk));
      void this.#answer(talk).finally(talk.end);
    });
    await once(server.listen(path), "listening");
    // A connection that cannot be taken in costs itself alone.
    server.on("error", () => undefined);
    this.#server = server;
  }

  /** Makes a socket that nobody meets before somebody listens on it. @throws the system's error */
  async appear(dir: string, reach: string): Promise<void> {
    for (;;) {
      const draft = `new-${this.file}`;
      await this.listen(join(reach, draft));
      try {
        await chmod(join(dir, draft), 0o600);
        await rename(join(dir, draft), join(dir, this.file));
        this.#path = join(dir, this.file);
        return;
      } catch (error) {
        await this.#stopListening();
        // A holder that tidies up has taken it for a dead one's, between its making and our listening.
        if (errnoOf(error) !== "ENOENT") throw error;
      }
    }
  }

  async isThere(): Promise<boolean> {
    return this.#path !== null && (await lstat(this.#path).catch(() => null)) !== null;
  }

  /** Makes the socket again that somebody has removed: another run would not notice this one. @throws the system's error */
  async appearAgain(dir: string, reach: string): Promise<void> {
    const before = this.#server;
    await this.appear(dir, reach);
    before?.close();
    if (this.#closed) await this.close();
  }

  readonly close = async ({ asDead = false } = {}): Promise<void> => {
    this.#closed = true;
    await this.#stopListening();
    if (this.#path && !asDead) await rm(this.#path, { force: true });
  };

  async #stopListening(): Promise<void> {
    this.#talks.forEach((talk) => talk.end());
    const server = this.#server;
    this.#server = null;
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  async #answer(talk: Talk): Promise<void> {
    const asked = await talk.next();
    const who = question.safeParse(asked);
    if (asked === null) return;
    if (!who.success) return (await this.#serving)(asked, talk);
    if (who.data.for && goesFirst(who.data.for, this.own)) this.waits = true;
    const { pid, host } = this.self;
    talk.say({ ...this.own, state: this.holds ? "holds" : "contends", pid, host } satisfies Answer);
  }
}

export function shortened(host: string): string {
  return host.replace(/[^\w.-]/g, "_").slice(0, 16) || "_";
}

export function goesFirst(one: Run, other: Run): boolean {
  return one.since === other.since ? one.id < other.id : one.since < other.since;
}
