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
    "# Calls, accounts, collectors",
    "Source: `scripts/docs/accounts.ts`; the table is from `src/accounts/accountsFile.ts`. With one account and one machine, read the first part alone.",
    "## How many calls does it make?",
    "Without `QUOTES_LIMIT` the program begins with the service's limit, 60 calls a minute at the Market Quotes Service, and follows the limit that the service's headers name. With `QUOTES_LIMIT` it never makes more, and still keeps to a lower limit of the service. [Alpaca's](alpaca.md) headers name the plan's limit. [Tradier's](tradier.md#limits) headers do not tell the account's count, and E\\*TRADE has none: there it makes the calls that the documentation allows, 120 a minute and 4 a second, or what `QUOTES_LIMIT` says, and learns a lower limit from refusals. The limit in force is in the live line, on the page Now and in `quotekeeper_calls_limit`.",
    "A refusal is recognised by its status, headers or words. A 5xx, or a connection that ends in an answer (`SERVICE_CUT_SHORT`), may be a refusal in disguise. After three in a row nothing is sent for a third of a minute, then one call tries; while it fails, the waits grow up to a window. Where headers show that the failures are the service's own, they cost little; without headers the program makes fewer calls for some minutes. `Retry-After` is kept to, a quarter of an hour at most. Slots that pass meanwhile are missed: `refused` if the service asked for the wait, `transport` if it only failed.",
    "Each call is noted in `calls/` of the data directory before it leaves, so the next run uses what is left of the budget, also after a `kill -9` ([how](decisions/call-log.md)). Two data directories know nothing of each other.",
    "## Several accounts: `accounts.yaml`",
    "One account of the Market Quotes Service brings 6,000 stocks a minute, or 60 contracts. If `quotekeeper plan` says that your jobs need more, one collector can poll with several accounts. `QUOTEKEEPER_SIMULATED_ACCOUNTS=2 quotekeeper start` shows it without any.",
    "The accounts stand in `accounts.yaml` (or `accounts.yml`) in the jobs directory. A running collector follows the file within seconds, from the next slot on. A broken file leaves the accounts before in force. If the file is there, it alone says what is polled. Another service, or none, needs a new start.",
    codeBlock("yaml", ACCOUNTS_EXAMPLE),
    optionsTable(account),
    "All accounts are of one service. Two with the same consumer key and access token are refused. `quotekeeper jobs check` names every problem with its line; `start` does not start while there is one.",
    "**Secrets** do not stand in the file. Each credential is named once:",
    "- `...File`: a file with the secret alone. A relative path begins at the directory of `accounts.yaml`. The file lies below the jobs directory, or below the directory that `QUOTEKEEPER_SECRETS_DIR` names, also where a link leads: `/run/secrets` in a container, `%d` in a systemd unit. A file that every user may read is refused (`chmod 600` or `640`), except below `/run/secrets/`. A new secret is used within seconds.\n- `...Variable`: a variable of the environment or `.env` that begins with `QUOTES_`, read at the start.",
    "A writer of `accounts.yaml` chooses the address that credentials are sent to: [what that means](security.md#what-can-somebody-do-who-may-write-job-files), and how `QUOTES_BASE_URL` settles the address. Messages show names of accounts alone. Secrets stay in the process that polls.",
    "**Who asks for what.** What the jobs want is spread over all accounts by their limits, and each instrument is asked for once ([how](decisions/accounts.md)). A job can be pinned to an account:",
    codeBlock("yaml", 'name: real-time\nschedule: "* * * * *"\naccount: second\nsymbols: [AAPL, MSFT]'),
    "- Its account alone asks for what the job wants, for other jobs too. Of two pins the higher priority holds. While the account is drained or refused, others ask.\n- **A watchlist** belongs to one account. Without a pin the program takes it to be the same on every account. With a pin no other account stands in, and its slots are missed.",
    "**When an account is refused** (401) another asks in the same slot. The refused one makes one call a slot; after two minutes the others have its share, and it makes one a minute, until an answer or new credentials. Where all are refused, what is due is missed as `unauthorized`.",
    "**Draining.** `quotekeeper accounts drain second` takes its share away from the next slot on, `resume second` gives it back, `accounts list` shows limit, state, calls and collector of each.",
    "`status` has a line `accounts`, Now a row for each; `coverage --account`, `poll --account` and the label `account` of [metrics](metrics.md) name one. `plan` says what one more would change.",
    "**From the variables to the file**: name your present account `default`, and the archive goes on with its rows; name its variables (`consumerKeyVariable: QUOTES_CONSUMER_KEY`) or move the secrets into files; unset `QUOTES_BASE_URL`, or let one account of the file have its address. `QUOTES_LIMIT` and `QUOTES_LIMIT_WINDOW_MS` hold for accounts without `limit` and `windowMs`. To go back, remove the file and set the variables.",
    "## Several collectors",
    "Two or more machines can collect into one database. Exactly one calls each account; when it dies, is cut off or is stopped, another calls the account within 15 s. This brings no more calls: with one account, one machine collects and the others stand by.",
    "1. Give the database an address that all reach: `DATABASE_URL`. The embedded one is one machine's.\n2. Copy the jobs directory to all. Each needs the secrets of all accounts.\n3. Start all, each with a data directory of its own. **Never copy a data directory**: it says which collector this is.\n4. `quotekeeper status` on any names all, and who calls what:",
    codeBlock(
      "",
      "collectors ok        quotes-1 runs 0.9.0; quotes-2 runs 0.9.0\nowners     ok        default by quotes-1 (fence 1, renewed 1 s ago), second by quotes-2 (fence 1, renewed 2 s ago)",
    ),
    "The database has quotes, the ledger, answers without their text, who calls which account, drained accounts, and prices and expirations of chains. Each machine has its own journal, secrets, log and dashboard. The collectors share the accounts evenly. An account with [a person's login](etrade.md#the-login) belongs to the machine on which somebody has logged in.",
    "- **Remove one**: end it (Ctrl-C, SIGTERM); others go on within two seconds. If it will not come back, back up its journal, then `quotekeeper accounts forget quotes-2`. A running collector is not forgotten.\n- **Upgrade**: [one after the other](upgrade.md#several-collectors).\n- **Change job files or accounts**: on all machines, in any order. Until the last has them, those before stay in force, and `status` names who differs; then all change at one instant, about 14 s later. A collector that starts with other files ends with COLLECTOR_DIFFERS.",
    "### When something fails",
    "- **A machine dies, hangs or is cut off.** Its lease ends after 7 s. The next holder begins with the calls that the database knows of, and leaves room for calls that the last holder may have sent. A quote that nobody asked for is missed (`down`).\n- **It comes back.** It makes no call before it has asked the database; if that does not answer after a pause of more than 7 s, it listens for a window: one call in each tenth of it, and the service's count shows another caller. It loads its journal, and is given its part again.\n- **It never comes back.** `status` ends with exit code 1 until you say `accounts forget`. What only its journal held is lost with its disk: copy journals away. `rsync` of `data/journal/` is safe at any time, and `quotekeeper backfill --journal DIR` loads the copy anywhere.\n- **The database is away for all.** No collector can take an account. Each one goes on _unsure_: it writes its journal, makes one call at a time, and leaves three calls of the limit free; if the service's count shows another caller, it yields.\n- **The database answers slowly.** An answer of the database is valid for 5 s, counted from the question. `status` and `quotekeeper_account_uncalled_seconds` name an account that nobody calls for 15 s.\n- **The database is restored from a dump.** Each collector claims its accounts again within about 10 s.\n- **A process is paused.** Each call is checked at the socket: if the database was not asked for 5 s, nothing is written.",
    "`status`, Now, [metrics](metrics.md) and [alerts](monitoring.md) tell of collectors that are gone or unsure, late journals, accounts without an owner, take-overs, clocks more than 5 s apart, and files that differ. The tables are `collectors`, `leases`, `lease_history` and `epochs`.",
    "### When a second collector starts",
    "A collector takes its data directory for itself. The lock ends with its process, after `kill -9` too. A second collector with",
    "- **the same data directory** ends with COLLECTOR_RUNNING and exit code 2 before any call, and names the first.\n- **its own, and the same database and files** shares the accounts; one without an account says so, and waits.\n- **its own, the same database, other files** ends with COLLECTOR_DIFFERS.\n- **a copy of a data directory**: the one that loses an account to the other ends with COLLECTOR_REPLACED and exit code 1.\n- **the same account, another database** collects: neither can know of the other. `status`, the dashboard and `quotekeeper_calls_second_client` say how many calls another program makes, as the service's headers show it.",
    "`poll`, `doctor` and sweeps on the data directory of a running collector [give it their job](backfill.md#who-makes-the-calls): a poll's call goes first, a sweep's last. An account that it does not call is refused (`ACCOUNT_NOT_CALLED`). On another data directory they count as another program. Containers that share a volume on one machine see each other's lock. Over a network disk, or on a file system without Unix sockets, there is none, and the start says so.",
    "[What is promised](promises.md#several-accounts-and-collectors). [How it works, and why](decisions/collectors.md).",
  );
}
