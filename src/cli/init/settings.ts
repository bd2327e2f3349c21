/** The lines of `.env` of an account and of a database. Secrets are asked for; a server is tried. */
import { currentVersion } from "../../archive/schema/migrations.ts";
import { CREDENTIAL_NAMES } from "../../config/environment.ts";
import { loadConfig } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../errors.ts";
import { withArchive } from "../../run/archive.ts";
import type { Edges } from "../../run/edges.ts";
import type { Asker } from "../terminal/asker.ts";
import { say } from "../terminal/harmless.ts";
import { complaintOf, missingCredentials, settingsProblem } from "./questions.ts";
import { environmentLine } from "./writtenFiles.ts";

/** The lines of `.env` of an answer, or what is wrong with the answer. */
export type Tried = { lines: string[] } | { problem: string };

/** Without an asker nobody is asked. */
export type Asking = { edges: Edges; asker: Asker | null };

const BOTH_MARKS = "It holds quotation marks of every kind: put it into a file.";

export async function tryAccount(address: string, { edges, asker }: Asking): Promise<Tried> {
  if (address === "simulated") return { lines: [] };
  const missing = missingCredentials(edges);
  if (missing.length > 0 && asker === null)
    return {
      problem: `there is no terminal to ask for secrets: set ${missing.join(", ")} in the environment, or for each NAME a NAME_FILE with the path of a file`,
    };
  const lines = [`QUOTES_BASE_URL=${address}`];
  if (asker !== null && missing.length > 0)
    say(
      edges.stdout,
      "Its credentials are not shown. @ and a path name a file that holds one: @/run/secrets/key",
    );
  for (const name of CREDENTIAL_NAMES) {
    const file = edges.env[`${name}_FILE`]?.trim();
    if (file) lines.push(`${name}_FILE=${file}`);
    else if (!missing.includes(name) || asker === null) lines.push(`# ${name} comes from the environment.`);
    else lines.push(await askSecret(name, address, { edges, asker }));
  }
  return { lines };
}

/** Asks until the answer is right. @returns the line of `.env` */
async function askSecret(
  name: string,
  address: string,
  { edges, asker }: { edges: Edges; asker: Asker },
): Promise<string> {
  const others = missingCredentials(edges)
    .filter((other) => other !== name)
    .map((other) => [other, "given"]);
  for (;;) {
    const typed = await asker.askHidden(`${name}: `);
    const [variable, value] = typed.startsWith("@") ? [`${name}_FILE`, typed.slice(1)] : [name, typed];
    const line = environmentLine(variable, value);
    const settings = { QUOTES_BASE_URL: address, ...Object.fromEntries(others), [variable]: value };
    const problem = line === null ? BOTH_MARKS : settingsProblem(settings, edges);
    if (line !== null && problem === null) return line;
    say(edges.stdout, problem ?? BOTH_MARKS);
  }
}

/** Connects to the server, and asks for a password if the server wants one. @throws Interrupted */
export async function tryDatabase(url: string, { edges, asker }: Asking): Promise<Tried> {
  if (url === "embedded") return { lines: [] };
  let opened = url;
  let trial = await connect(opened, edges);
  if (trial?.wantsLogin && asker !== null && HAS_USER.test(url)) {
    say(edges.stdout, trial.problem);
    const password = await asker.askHidden("password, not shown (Enter: another address): ");
    if (password !== "") {
      opened = url.replace(HAS_USER, (start) => `${start}:${encodeURIComponent(password)}`);
      trial = await connect(opened, edges);
    }
  }
  if (trial !== null) return { problem: trial.problem };
  const line = environmentLine("DATABASE_URL", opened);
  return line === null ? { problem: BOTH_MARKS } : { lines: [line] };
}

/** An address up to the user's name. */
const HAS_USER = /^\w+:\/\/[^/?#@:]+(?=@)/;

/** @returns null when the server accepts the connection; `wantsLogin`: a password may help. @throws Interrupted */
async function connect(url: string, edges: Edges): Promise<{ problem: string; wantsLogin: boolean } | null> {
  try {
    const config = loadConfig({ ...edges.env, DATABASE_URL: url }, edges.directory);
    await withArchive(config, edges, ({ pool }) => currentVersion(pool));
    return null;
  } catch (error) {
    const problem = complaintOf(() => {
      throw error;
    });
    if (problem === null) return null;
    return { problem, wantsLogin: error instanceof QuotekeeperError && error.code === "DATABASE_REFUSED" };
  }
}
