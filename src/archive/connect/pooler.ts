/**
 * Whether a pooler stands between us and the server, and of which kind. In session mode (pgbouncer's default) nothing
 * is different. In transaction mode any transaction may meet another server process than the one before: settings,
 * prepared statements, advisory locks and temporary tables of ours would be lost, or left behind for other programs.
 */
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { applySettings } from "./searchPath.ts";

/** SQLSTATE of a pooler in statement mode, asked for a transaction: protocol violation. */
const NO_TRANSACTIONS = "08P01";

/** How many other clients try to meet the first one's process: one, and one more where processes are given in turn. */
const OTHERS = 2;

/**
 * Gives a session its settings, if that can be: a session of a shared pool is left as it is.
 *
 * @param settings names and values, as of SET
 * @param open makes another connection to the same address
 * @throws QuotekeeperError DATABASE_POOLED behind a pooler in transaction or statement mode; DATABASE_STRANGERS
 */
export async function settleSession(
  client: pg.ClientBase,
  settings: Readonly<Record<string, string>>,
  open: () => Promise<pg.Client>,
): Promise<void> {
  // A server tells its process id at login; a pooler tells a number of its own.
  const { processID } = client as unknown as { processID: number | null };
  if (await applySettings(client, settings, processID ?? 0)) return;
  if (await sharesProcesses(client, open)) {
    throw new QuotekeeperError(
      "DATABASE_POOLED",
      "a pooler in transaction mode answers there: it keeps nothing of a session from one transaction to the next",
    );
  }
  await applySettings(client, settings);
}

/**
 * Whether the server process that served a client between its transactions also serves others, or another one serves it:
 * in session mode neither can be while the client is connected. A "no" is certain on a pool of our own; on one that others
 * use at the same moment it may be luck.
 */
async function sharesProcesses(first: pg.ClientBase, open: () => Promise<pg.Client>): Promise<boolean> {
  const own = await processOf(first);
  const others: pg.Client[] = [];
  try {
    for (let other = 0; other < OTHERS; other++) {
      const client = await open();
      others.push(client);
      await client.query("begin");
      if ((await processOf(client)) === own || (await processOf(first)) !== own) return true;
    }
    return false;
  } catch (error) {
    if ((error as { code?: string }).code === NO_TRANSACTIONS) return true;
    throw error;
  } finally {
    for (const client of others) {
      await client.query("rollback").catch(() => undefined);
      await client.end().catch(() => undefined);
    }
  }
}

async function processOf(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>("select pg_catalog.pg_backend_pid() as pid");
  return rows[0]?.pid;
}
