/** The socket that a run listens on while it contends for a lock or holds it, and what it answers there. */
import { once } from "node:events";
import { lstatSync } from "node:fs";
import { chmod, rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { atMost, type Clock } from "../../ground/clock.ts";
import { errnoOf } from "../../journal/fs.ts";
import { type Talk, talkOver, talkTo } from "./lines.ts";

export type ThisProcess = {
  pid: number;
  host: string;
  /** The same for all processes, in whichever container, that share a running kernel: only they see each other's sockets. */
  kernel: string;
};

/** A run among contenders: the earlier, and of two of the same time the smaller id, goes first. */
const run = z.object({ since: z.string().max(40), id: z.string().max(40) });
/** `collects`: whether who asks is a collector, to which a command leaves the lock. */
const question = z.object({
  ask: z.literal("who"),
  for: run.nullable(),
  collects: z.boolean().default(false),
});
const answer = run.extend({
  state: z.enum(["holds", "contends"]),
  once: z.boolean().default(false),
  pid: z.int().min(0),
  host: z.string().max(255),
});
type Run = z.infer<typeof run>;
export type Answer = z.infer<typeof answer>;

/** What this process listens on, and how it answers there. */
export class Door {
  readonly own: Run;
  readonly self: ThisProcess;
  readonly once: boolean;
  readonly file: string;
  holds = false;
  /** Whether one that goes first was told, since this was last set, that this one waits for it. */
  waits = false;
  readonly #talks = new Set<Talk>();
  #server: Server | null = null;
  #path: string | null = null;
  #closed = false;
  /** Called when a collector wants the lock that a command holds. */
  want: () => void = () => undefined;
  readonly wanted = new Promise<void>((resolve) => (this.want = resolve));

  constructor(own: Run, self: ThisProcess, { once = false }: { once?: boolean | undefined } = {}) {
    this.own = own;
    this.self = self;
    this.once = once;
    this.file = `${once ? "once-" : ""}${self.pid}-${own.id}-${self.kernel}-${shortened(self.host)}`;
  }

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

  isThere(): boolean {
    return this.#path !== null && lstatSync(this.#path, { throwIfNoEntry: false }) !== undefined;
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
    const who = question.safeParse(await talk.next());
    if (!who.success) return;
    if (who.data.collects && this.once) this.want();
    if (who.data.for && goesFirst(who.data.for, this.own)) this.waits = true;
    const { pid, host } = this.self;
    talk.say({
      ...this.own,
      state: this.holds ? "holds" : "contends",
      once: this.once,
      pid,
      host,
    } satisfies Answer);
  }
}

/** How long an answer is waited for, in ms. */
const ANSWER_MS = 2_000;

/** Asks at a socket who listens on it. @param door one's own, if one contends too */
export async function ask(
  path: string,
  door: Pick<Door, "own" | "once"> | null,
  clock: Clock,
): Promise<Answer | "dead" | "gone" | "mute"> {
  let talk: Talk;
  try {
    talk = await talkTo(path);
  } catch (error) {
    const code = errnoOf(error);
    return code === "ECONNREFUSED" ? "dead" : code === "ENOENT" ? "gone" : "mute";
  }
  let heard: unknown = null;
  const collects = door?.once === false;
  talk.say({ ask: "who", for: door?.own ?? null, collects } satisfies z.infer<typeof question>);
  await atMost(
    ANSWER_MS,
    talk.next().then((said) => (heard = said)),
    clock,
  );
  talk.end();
  return answer.safeParse(heard).data ?? "mute";
}

export function shortened(host: string): string {
  return host.replace(/[^\w.-]/g, "_").slice(0, 16) || "_";
}

export function goesFirst(one: Run, other: Run): boolean {
  return one.since === other.since ? one.id < other.id : one.since < other.since;
}
