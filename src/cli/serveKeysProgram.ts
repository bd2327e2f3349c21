/** The command line of `quotekeeper serve keys`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Config } from "../config/loadEnvironment.ts";
import type { Credentials } from "../quotes-api/oauth/signature.ts";
import type { AccessLevel } from "../serve/keys/key.ts";
import { parseKey, parseWhole } from "./arguments.ts";
import type { Edges } from "../run/edges.ts";
import type * as ServeKeys from "./serveKeys.ts";

type Run = (work: (config: Config) => Promise<number>) => Promise<void>;

type AddOptions = {
  access: AccessLevel;
  limit?: number;
  consumerKey?: string;
  token?: string;
  key?: Credentials;
  json: boolean;
};

/** Adds the commands below `serve`. @param exitCodes what every help text ends with */
export function addServeKeys(serve: Command, run: Run, edges: Edges, exitCodes: string): void {
  const keys = serve
    .command("keys")
    .description("who may call the service: keys that outlive a run, sealed in the data directory")
    .addHelpText("after", exitCodes);
  addAdd(keys, run, edges, exitCodes);
  keys
    .command("list")
    .description("the keys without their secrets, oldest first")
    .option("--json", "print JSON", false)
    .addHelpText("after", exitCodes)
    .action(({ json }: { json: boolean }) =>
      run(async (config) => (await import("./serveKeys.ts")).keysList(config, edges, { json })),
    );
  keys
    .command("revoke")
    .description("takes a key away; services that run refuse it from the next call on")
    .argument("<token>", "its token, or its label")
    .option("--json", "print JSON", false)
    .addHelpText("after", exitCodes)
    .action((which: string, { json }: { json: boolean }) =>
      run(async (config) => (await import("./serveKeys.ts")).keysRevoke(config, edges, { which, json })),
    );
}

function addAdd(keys: Command, run: Run, edges: Edges, exitCodes: string): void {
  const names = ["consumerKey", "token"];
  keys
    .command("add")
    .description("makes a key, or takes one you have; its secrets are shown this once")
    .argument("[label]", "a name for people, each once", parseLabel)
    .addOption(
      new Option("--access <level>", "which quotes its account may see")
        .choices(["real-time", "delayed"])
        .default("real-time"),
    )
    .addOption(
      new Option(
        "--limit <calls>",
        "quote calls it may make per window; default: the service's limit",
      ).argParser(parseWhole(1, 100_000)),
    )
    .addOption(
      new Option(
        "--consumer-key <text>",
        "its consumer key; one that is there already gets another token",
      ).argParser(parseName),
    )
    .addOption(new Option("--token <text>", "its access token; default: one is made").argParser(parseName))
    .addOption(
      new Option(
        "--key <key>",
        "all of it, as consumerKey:consumerSecret:token:tokenSecret; other users of this machine can see it while the command runs",
      )
        .argParser((text) => parseKey(text, [])[0])
        .conflicts(names),
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", exitCodes)
    .action((label: string | undefined, options: AddOptions) =>
      run(async (config) =>
        (await import("./serveKeys.ts")).keysAdd(config, edges, toRequest(label, options)),
      ),
    );
}

function toRequest(
  label: string | undefined,
  { access, limit, key, json, ...names }: AddOptions,
): Parameters<typeof ServeKeys.keysAdd>[2] {
  const secrets = key && { consumerSecret: key.consumerSecret, accessTokenSecret: key.accessTokenSecret };
  const consumerKey = key?.consumerKey ?? names.consumerKey;
  const token = key?.accessToken ?? names.token;
  return {
    label: label ?? null,
    access,
    quoteLimit: limit ?? null,
    json,
    ...(consumerKey !== undefined && { consumerKey }),
    ...(token !== undefined && { token }),
    ...(secrets && { secrets }),
  };
}

function parseLabel(text: string): string {
  if (!/^[\p{L}\p{N}\p{P}\p{S}](?:[\p{L}\p{N}\p{P}\p{S} ]{0,62}[\p{L}\p{N}\p{P}\p{S}])?$/u.test(text))
    throw new InvalidArgumentError("Expected up to 64 printable characters.");
  return text;
}

/** Without a colon, so that it has its place in `--key`. */
function parseName(text: string): string {
  if (!/^[!-9;-~]{1,128}$/.test(text))
    throw new InvalidArgumentError("Expected up to 128 characters of ASCII without blanks and colons.");
  return text;
}
