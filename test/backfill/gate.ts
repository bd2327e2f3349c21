/**
 * Holds a backfill, which is a process of its own, between two of its transactions, so that it is killed in its midst on
 * every machine: one that is fast is not done before, and one that is slow is waited for.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { until } from "../support/until.ts";
import type { BackfillWorld } from "./world.ts";

/** Whoever holds this advisory lock keeps the gate shut. */
const GATE = 0x71_6b_99;

/** A gate in the database of a world. */
export type Gate = {
  /**
   * Runs the program until it has committed more answers than were there, and kills it in its next transaction.
   *
   * @returns how many answers are there then
   */
  killed: (bin: string, argv: readonly string[]) => Promise<number>;
  /** Takes the gate away. */
  open: () => Promise<void>;
};

/** Shuts a gate behind the next answers that are committed. */
export async function shutGate({ env, pool }: BackfillWorld): Promise<Gate> {
  const holder = new pg.Client({ connectionString: env["DATABASE_URL"] });
  await holder.connect();
  await holder.query(`
    select pg_advisory_lock(${GATE});
    create schema gate;
    create table gate.let_pass (answers int);
    insert into gate.let_pass values (0);
    create function gate.wait() returns trigger language plpgsql as $$
      begin
        if (select count(*) from responses where pg_xact_status(xmin::text::xid8) = 'committed') > (select answers from gate.let_pass) then
          perform pg_advisory_xact_lock_shared(${GATE});
        end if;
        return null;
      end $$;
    create trigger gate before insert on responses for each statement execute function gate.wait()`);
  const waiting = async (): Promise<number[]> => {
    const { rows } = await holder.query<{ pid: number }>(
      // The server has the databases of other test files too, with gates of their own.
      `select pid from pg_locks where locktype = 'advisory' and objid = $1 and not granted
         and database = (select oid from pg_database where datname = current_database())`,
      [GATE],
    );
    return rows.map(({ pid }) => pid);
  };
  return {
    killed: async (bin, argv) => {
      const child = spawn(process.execPath, [bin, ...argv], { env, stdio: "ignore" });
      const [pid] = await until(async () => {
        const held = await waiting();
        if (held.length === 0 && hasEnded(child))
          throw new Error(`it ended by itself with ${child.exitCode}, before it came to the gate`);
        return held.length > 0 && held;
      }, "the program at the gate");
      child.kill("SIGKILL");
      if (!hasEnded(child)) await once(child, "exit");
      // What it waited for comes to nothing, as it does when a server finds its client gone.
      await holder.query("select pg_terminate_backend($1::int)", [pid]);
      await until(async () => (await waiting()).length === 0, "its transaction being rolled back");
      const { rows } = await pool.query<{ n: number }>("select count(*)::int as n from responses");
      const n = rows[0]?.n ?? 0;
      await holder.query("update gate.let_pass set answers = $1", [n]);
      return n;
    },
    open: async () => {
      await holder.query("drop trigger gate on responses; drop schema gate cascade");
      await holder.end();
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
