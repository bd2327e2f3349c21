/** The nodes of a Citus cluster on this machine, each of which a run may kill. `TEST_CITUS_URL` names the coordinator. */
import { spawnSync } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createPool } from "../../../src/archive/connect/connect.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { citusNodes, joinCitus } from "../../support/postgres/citusNodes.ts";
import { execute } from "../../support/postgres/server.ts";
import { until } from "../../support/until.ts";
import { killPostmaster } from "./server.ts";

/** A node that may be killed: kill -9 of its postmaster, and a start of the same directory. */
export type CitusNode = { url: string; kill: () => Promise<void>; revive: () => Promise<void> };

/** A cluster with a database of its own. */
export type CitusCluster = {
  coordinator: CitusNode;
  workers: CitusNode[];
  databaseUrl: string;
  close: () => Promise<void>;
};

/** Makes a database on each node, and one cluster of them. */
export async function openCitusCluster(url: string): Promise<CitusCluster> {
  const urls = await citusNodes(url);
  const [coordinator, ...workers] = await Promise.all(urls.map(nodeOf));
  if (coordinator === undefined) throw new Error("the cluster of TEST_CITUS_URL has no node");
  const name = `faults_${Buffer.from(systemClock.random(5)).toString("hex")}`;
  const databases = urls.map((one) => Object.assign(new URL(one), { pathname: `/${name}` }).href);
  for (const node of urls) await execute(node, [`create database ${name}`]);
  await joinCitus(databases);
  return {
    ...{ coordinator, workers, databaseUrl: databases[0] ?? url },
    close: async () => {
      for (const node of urls) await execute(node, [`drop database if exists ${name} with (force)`]);
    },
  };
}

async function nodeOf(url: string): Promise<CitusNode> {
  const pool = createPool(url, { max: 1 });
  const { rows } = await pool.query<{ dir: string; bin: string }>(
    "select current_setting('data_directory') as dir, (select setting from pg_config where name = 'BINDIR') as bin",
  );
  await pool.end();
  const [{ dir, bin } = { dir: "", bin: "" }] = rows;
  return {
    url,
    kill: () => killPostmaster(dir),
    revive: async () => {
      // PostgreSQL does not run as root but as the owner of its directory.
      const { uid, gid } = statSync(dir);
      const args = ["-D", dir, "-l", join(dir, "log"), "-w", "start"];
      // The dead postmaster may not have been reaped, and its number would pass for a live one.
      rmSync(join(dir, "postmaster.pid"), { force: true });
      const start = (): boolean =>
        spawnSync(join(bin, "pg_ctl"), args, { uid, gid, env: {}, stdio: "ignore" }).status === 0;
      // Its sessions hold its memory until they have noticed.
      await until(start, `the node at ${dir} being there again`);
    },
  };
}
