/** A database that meets an error of its engine's at one statement of ours, made by the server itself. */
import type pg from "pg";

/** What is to happen, whenever a statement of this text is asked. */
export type Injection = {
  statement: string;
  sqlstate: string;
  /** Without the place where it happened, which a server need not tell. */
  bare: boolean;
};

/** A pool that meets it, and the statements that were asked of it. */
export type InjectedPool = { pool: pg.Pool; statements: string[] };

type Copy = { text: string; emit: (event: string, ...details: unknown[]) => boolean };

/** @param injection null: the statements are only counted */
export function injectedPool(pool: pg.Pool, injection: Injection | null): InjectedPool {
  const statements: string[] = [];
  const connect = async (): Promise<pg.PoolClient> => {
    const client = await pool.connect();
    const query = (asked: unknown, ...rest: unknown[]): unknown => {
      const text = typeof asked === "string" ? asked : (asked as { text: string }).text;
      statements.push(text);
      const ask = client.query.bind(client) as (...given: unknown[]) => unknown;
      if (text !== injection?.statement) return ask(asked, ...rest);
      const met = meet(client, injection);
      if (!isCopy(asked)) return met;
      // The transaction has failed by then, and the server refuses the COPY: for the reason that is to be met.
      met.catch((error: unknown) => failWith(asked, error));
      return ask(asked, ...rest);
    };
    return new Proxy(client, {
      get: (target, name) => {
        const value: unknown = name === "query" ? query : Reflect.get(target, name);
        return typeof value === "function" && name !== "query" ? value.bind(target) : value;
      },
    });
  };
  const injected = new Proxy(pool, {
    get: (target, name) => {
      const value: unknown = name === "connect" ? connect : Reflect.get(target, name);
      return typeof value === "function" && name !== "connect" ? value.bind(target) : value;
    },
  });
  return { pool: injected, statements };
}

function isCopy(asked: unknown): asked is Copy {
  return typeof (asked as { submit?: unknown }).submit === "function";
}

function failWith(copy: Copy, error: unknown): void {
  const emit = copy.emit.bind(copy);
  copy.emit = (event, ...details) => emit(event, ...(event === "error" ? [error] : details));
}

async function meet(client: pg.PoolClient, { sqlstate, bare }: Injection): Promise<never> {
  try {
    await client.query(`do $$ begin raise exception 'injected' using errcode = '${sqlstate}'; end $$`);
  } catch (error) {
    if (bare) delete (error as { where?: string }).where;
    throw error;
  }
  throw new Error(`the server raised no ${sqlstate}`);
}
