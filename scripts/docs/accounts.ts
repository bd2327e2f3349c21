/** `docs/accounts.md`, from the schema of accounts.yaml. */
import { accountsSchema } from "../../src/accounts/accountsFile.ts";
import { codeBlock, GENERATED, paragraphs } from "./markdown.ts";
import { optionSchema, optionsTable } from "./options.ts";

/** A file that the page shows; a test reads it as one. */
export const ACCOUNTS_EXAMPLE = `accounts:
  - name: default
    baseUrl: https://api.broker.example
    consumerKeyFile: ./secrets/default.key
    consumerSecretFile: ./secrets/default.secret
    accessTokenFile: ./secrets/default.token
    accessTokenSecretFile: ./secrets/default.token-secret
  - name: second
    baseUrl: https://api.broker.example
    limit: 120
    consumerKeyVariable: QUOTES_SECOND_KEY
    consumerSecretVariable: QUOTES_SECOND_SECRET
    accessTokenVariable: QUOTES_SECOND_TOKEN
    accessTokenSecretVariable: QUOTES_SECOND_TOKEN_SECRET`;

/** The page. */
export function accountsPage(): string {
  const account = optionSchema(accountsSchema).properties?.["accounts"]?.items ?? {};
  return paragraphs(
    GENERATED,
    "# Several accounts",
    "Source: `scripts/docs/accounts.ts`; the table is from `src/accounts/accountsFile.ts`.",
    "At the Market Quotes Service one account may make 60 calls a minute: 6,000 stocks, or 60 option contracts. If `quotekeeper plan` says that your jobs need more, and you have several accounts at the service, one collector can poll with all of them. With one account you need nothing of this page: the variables of [configuration.md](configuration.md) are enough, and the account is called `default`.",
    "`QUOTEKEEPER_SIMULATED_ACCOUNTS=2 quotekeeper start` shows it without any account: the simulated market then has two, `default` and `simulated-2`.",
    "## `accounts.yaml`",
    "The accounts stand in `accounts.yaml` (or `accounts.yml`) in the jobs directory, beside the job files. It is read when a command starts, and a running collector follows it as it follows the job files: a change holds within seconds, from the next slot on. A broken file leaves the accounts before in force, and the log says what is wrong. If the file is there, it alone says what is polled: never the simulated market. Another service, or none, needs a new start: a file that was removed by mistake leads a running collector to no simulated quotes, and the accounts before go on (or, where `QUOTES_BASE_URL` names the same service, its account alone).",
    codeBlock("yaml", ACCOUNTS_EXAMPLE),
    optionsTable(account),
    "All accounts are of one service, because the archive keeps one market. Two of them with the same consumer key and access token are refused: they would be one account, and its calls would be counted twice.",
    "`quotekeeper jobs check` names every problem of the file at once, with its line, and lists the accounts. `start` does not start while there is a problem.",
    "## Secrets",
    "No secret stands in `accounts.yaml`. Each credential of the service is named once, in one of two ways:",
    "- `...File`: a file with the secret in it and nothing else; white space around it is dropped. A relative path begins at the directory of `accounts.yaml`. The file has to lie below the jobs directory, or below the directory that the variable `QUOTEKEEPER_SECRETS_DIR` names, also when a link leads to it: `QUOTEKEEPER_SECRETS_DIR=/run/secrets` in a container, `%d` in a systemd unit. If every user of the machine may read the file, it is refused, whatever the mode of its directory: `chmod 600` it. A group may read it (`chmod 640`). The files below `/run/secrets/` are a container's own and may have any mode.\n- `...Variable`: the name of a variable, in the environment or in `.env`. It begins with `QUOTES_`, so that this file can name no other part of the environment.",
    "A writer of `accounts.yaml` chooses the address that the credentials are sent to. [What that means](security.md#what-can-somebody-do-who-may-write-job-files), and how `QUOTES_BASE_URL` settles the address.",
    "A running collector follows the files too: a new secret is used within seconds. Variables are read at the start alone.",
    "Messages show nothing that stands in `accounts.yaml` but the names of accounts, in case a secret was written there by mistake: look at the line that they name.",
    "The secrets stay in the process that polls. The database, the journal and the dashboard know names and limits.",
    "## Who asks for what",
    "The jobs need not say anything of accounts. What they want is spread over all accounts, each according to its limit, and each instrument is asked for once. It stays with its account for as long as accounts and jobs stay as they are. [The decision](decisions/accounts.md) says how.",
    "A job can be pinned to an account, for example because only that one has real-time quotes:",
    codeBlock("yaml", 'name: real-time\nschedule: "* * * * *"\naccount: second\nsymbols: [AAPL, MSFT]'),
    "- What a pinned job wants is asked for by its account alone, for other jobs too: a symbol is not asked for twice. When two jobs with different pins want the same, the one of the higher priority holds.\n- A pin to a name that is not in `accounts.yaml` is a problem of the job file.\n- While the pinned account is drained or refused, others ask for what the job wants, because what is not polled cannot be had later.\n- **A watchlist** is the list of that account. Without a pin it is taken to be the same at all accounts. If it is not, pin its job: another account's list of the same name is another list, so nobody stands in for the account, and its slots are missed.",
    "## When an account is refused",
    "If the service refuses an account's credentials (401), the account makes one call a slot, to see whether it is refused still: some brokers lock an account for more. Another account asks in the same slot for what the refused one was to ask for. After two minutes of refusals the others have its share, and it makes one call a minute. With its first answer, or with new credentials, it has its share again. Where there is one account, or all are refused, the same holds, and what is not asked for is missed as `unauthorized`.",
    "## Draining",
    "`quotekeeper accounts list` shows each account with its limit, its state and its calls. `quotekeeper accounts drain second` takes its share away from the next slot on, for example before its token is replaced, and `quotekeeper accounts resume second` gives it back.",
    "## Collectors",
    "`quotekeeper accounts list` also names the collector that calls each account. A collector has its host's name, and a number in the archive for as long as its data directory lives. When a machine is gone for good, `quotekeeper accounts forget quotes-1` frees its name and its number; what it has collected stays. A collector that is running is not forgotten.",
    "## What each account does",
    "- `quotekeeper status` has a line `accounts`: the calls of each in its last minute, and which is drained, refused or out of budget. It needs a person where somebody has to see to an account; `answers` then names whose answers are wrong.\n- [The page Now](dashboard.md) has a row for each, and its banner names the account in trouble. Coverage and `quotekeeper coverage` say what was due to each; `coverage --account second` shows one alone.\n- [The metrics](metrics.md) of calls, misses, lateness and the budget have the label `account`.\n- `quotekeeper plan` says how many calls each makes, who would starve, and what one more account would change.\n- `quotekeeper poll --account second --symbols AAPL` tries one with one call. Without `--account` a poll asks the first that is not drained, and [a sweep](backfill.md) all of these.",
    "## From the variables to the file",
    "1. Write `accounts.yaml`. Name the account that you have had so far `default`: the archive keeps its answers and slots under that name, and goes on with them.\n2. Name the variables that you have already, for example `consumerKeyVariable: QUOTES_CONSUMER_KEY`, or move the secrets into files.\n3. Unset `QUOTES_BASE_URL`. If it stays, its account has to be one of the file's. `QUOTES_LIMIT` and `QUOTES_LIMIT_WINDOW_MS` hold for accounts that name no `limit` and `windowMs`; `QUOTES_ALLOW_HTTP` holds for all.\n4. `quotekeeper jobs check`, then `quotekeeper plan`.",
    "To go back, remove the file and set the variables. A name that is no longer used keeps its rows.",
  );
}
