/** `quotekeeper accounts list|drain|resume|forget`: which accounts share the jobs, and which collector calls each. */
import { resolve } from "node:path";
import { z } from "zod";
import { type Account, accountNamed } from "../accounts/account.ts";
import { requireAccounts } from "../accounts/accountsFile.ts";
import {
  accountState,
  forgetCollector,
  readAccountRows,
  wantAccount,
} from "../archive/ledger/accountRows.ts";
import { readBudgetUse } from "../archive/ledger/budgetUse.ts";
import { readFleet } from "../archive/ledger/fleetRows.ts";
import { currentVersion } from "../archive/schema/migrations.ts";
import type { Config } from "../config/loadEnvironment.ts";
import {
  type Archive,
  archiveExists,
  requireArchive,
  withArchive,
  withSchema,
} from "../archive/openArchive.ts";
import type { Edges } from "../ground/edges.ts";
import { drainedIn, keepDrained } from "../collector/operatorsWord.ts";
import { count } from "../ground/jsonWords.ts";
import { command, type PrintJson, word } from "./command.ts";
import { say } from "./terminal/harmless.ts";
import { inSeconds } from "../market/durations.ts";
import { right, table } from "./terminal/table.ts";
import { thousands } from "../ground/figures.ts";

const accountJson = z.strictObject({
  name: z.string(),
  limit: count,
  windowMs: count,
  state: z.enum(["active", "drained", "refused"]),
  owner: z.string().nullable(),
  fence: count.nullable(),
  callsUsed: count,
});

type ShownAccount = z.infer<typeof accountJson>;

const list = command({
  does: "what each account may call and has called, what it does, and who collects it",
  json: z.strictObject({ accounts: z.array(accountJson) }),
  readsOnly: true,
  run: async (config, edges, { printJson }) => {
    const accounts = await requireAccounts(resolve(config.jobsDir), config);
    const shown = (await archiveExists(config))
      ? await withArchive(config, edges, (archive) => show(archive, accounts, edges))
      : accounts.map(unseen);
    if (printJson) printJson({ accounts: shown });
    else {
      const numbers = right("Calls", "Limit", "Window");
      const columns = ["Account", "State", ...numbers, "Collected by", ...right("Fence")];
      const cells = shown.map(({ name, state, callsUsed, limit, windowMs, owner, fence }) => [
        ...[name, state, thousands(callsUsed), thousands(limit), inSeconds(windowMs)],
        owner ?? "nobody",
        fence === null ? null : String(fence),
      ]);
      edges.stdout.write(table(columns, cells, edges));
    }
    return 0;
  },
});

const name = word("<name>", "the account's name");

const drain = command({
  does: "an account makes no calls from the next slot on; others have its share",
  options: { name },
  json: accountJson,
  run: (config, edges, given) => change(config, edges, { ...given, state: "drained" }),
});

const resume = command({
  does: "an account takes part again from the next slot on",
  options: { name },
  json: accountJson,
  run: (config, edges, given) => change(config, edges, { ...given, state: "active" }),
});

const forget = command({
  does: "a collector will not come back: its name and its number are free for another one",
  options: { collector: word("<collector>", "the collector's name or id") },
  json: z.strictObject({ id: z.string(), name: z.string(), number: count }),
  run: async (config, edges, { collector, printJson }) => {
    await requireArchive(config);
    const forgotten = await withSchema(config, edges, ({ pool }) => forgetCollector(pool, collector));
    if (printJson) printJson(forgotten);
    else say(edges.stdout, `${forgotten.name} is forgotten; what it has collected stays.`);
    return 0;
  },
});

export const accounts = command({ commands: { list, drain, resume, forget } });

type Change = { name: string; state: "active" | "drained"; printJson: PrintJson<typeof accountJson> };

/** @returns 0, also when the account is in that state already */
async function change(config: Config, edges: Edges, { name, state, printJson }: Change): Promise<number> {
  const accounts = await requireAccounts(resolve(config.jobsDir), config);
  accountNamed(name, accounts);
  await requireArchive(config);
  const shown = await withSchema(config, edges, async (archive) => {
    await wantAccount(archive.pool, name, state);
    await keepDrained(resolve(config.dataDir), drainedIn(await readAccountRows(archive.pool)));
    return show(archive, accounts, edges);
  });
  const changed = shown.find((account) => account.name === name);
  if (printJson && changed) printJson(changed);
  else {
    const when = changed?.owner ? "from the next slot on" : "as soon as a collector runs";
    const left = shown.filter((account) => account.state !== "drained").map((account) => account.name);
    const rest =
      left.length === 0
        ? "NOTHING IS POLLED, because all accounts are drained"
        : `calls are shared by ${left.join(", ")}`;
    const does = state === "drained" ? "makes no calls" : "takes part again";
    say(edges.stdout, `${name} ${does} ${when}: ${rest}.`);
  }
  return 0;
}

async function show(
  { pool }: Archive,
  accounts: readonly Account[],
  { clock }: Edges,
): Promise<ShownAccount[]> {
  if ((await currentVersion(pool)) === 0) return accounts.map(unseen);
  const rows = await readAccountRows(pool);
  const { accounts: owned } = await readFleet(pool);
  const used = await readBudgetUse(pool, accounts, clock.now());
  return accounts.map((account, place) => {
    const { owner = null, fence = null } = owned.find((one) => one.account === account.name) ?? {};
    const state = accountState(rows.find(({ name }) => name === account.name));
    return { ...unseen(account), state, owner, fence, callsUsed: used[place]?.calls ?? 0 };
  });
}

function unseen({ name, limit, limitWindowMs }: Account): ShownAccount {
  return { name, limit, windowMs: limitWindowMs, state: "active", owner: null, fence: null, callsUsed: 0 };
}
