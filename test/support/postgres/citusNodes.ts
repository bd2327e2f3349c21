/** The nodes of a Citus cluster that tests may use: each has the databases that the tests make. */
import pg from "pg";
import { execute } from "./server.ts";

/**
 * The nodes that a coordinator knows, itself first; all of them are asked as its own user is.
 *
 * @param url of a database of the coordinator in which Citus has its nodes
 */
export async function citusNodes(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ host: string; port: number }>(
      "select nodename as host, nodeport as port from pg_dist_node where isactive order by groupid",
    );
    return rows.map(({ host, port }) => {
      const node = new URL(url);
      [node.hostname, node.port] = [host, String(port)];
      return node.href;
    });
  } finally {
    await client.end();
  }
}

/** Makes one cluster of the databases of one name: the first is the coordinator's. */
export async function joinCitus(databases: readonly string[]): Promise<void> {
  for (const database of databases) await execute(database, ["create extension citus"]);
  const [coordinator = "", ...workers] = databases;
  const place = (url: string): string => {
    const { hostname, port } = new URL(url);
    return `'${hostname}', ${port}`;
  };
  await execute(coordinator, [
    `select citus_set_coordinator_host(${place(coordinator)})`,
    ...workers.map((worker) => `select citus_add_node(${place(worker)})`),
  ]);
}
