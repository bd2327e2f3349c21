/** What the journal says of a job that is polled once, where its answers come in pages. */
import { expect, test } from "@jest/globals";
import { TakenOnce } from "../../../src/collector/once/takeOnce.ts";
import { putOnce } from "../../../src/collector/once/onceFiles.ts";
import { OnceJournal } from "../../../src/collector/once/onceJournal.ts";
import { type Account, accountKey } from "../../../src/accounts/account.ts";
import type { OnceCalls } from "../../../src/collect/once/onceCalls.ts";
import { NO_LOG } from "../../../src/cli/askOnce.ts";
import type { ResponseRecord } from "../../../src/journal/record.ts";
import type { QuoteCall } from "../../../src/quotes/call.ts";
import { ALPACA } from "../../../src/services/alpaca/alpaca.ts";
import { credentialsOf } from "../../support/accounts.ts";
import { createTestClock } from "../../support/clock.ts";
import { answerRecord, appendAll, at } from "../../support/journal.ts";
import { tempDir } from "../../support/tempDir.ts";

const JOB = "once:sweep";
const NAME = "chain AAPL:2026-12-18";

type Page = { call: QuoteCall; body: object | null };

const pageOf = <Form extends object>(call: Form, page: number) => ({
  ...call,
  ...(page > 1 && { page: `AAPL ${page}` }),
});

const quotes = (...symbols: string[]) => ({
  snapshots: Object.fromEntries(symbols.map((one) => [one, { latestQuote: { bp: 1.5, ap: 1.6 } }])),
});

/** A page of the chain with contracts of these strikes; null: the service fails. `of`: how many pages there are. */
function chainPage(page: number, of: number, strikes: readonly number[] | null): Page {
  const chain = { form: "chain" as const, underlying: "AAPL", expiration: "2026-12-18", delayed: false };
  const symbols = strikes?.map((strike) => `AAPL261218C00${strike}000`);
  return {
    call: pageOf(chain, page),
    body: symbols ? { ...quotes(...symbols), next_page_token: page < of ? `${page + 1}` : null } : null,
  };
}

function listPage(page: number, of: number, dates: readonly string[]): Page {
  const list = { form: "expirations" as const, underlying: "AAPL", delayed: false };
  const contracts = dates.map((date) => ({ symbol: "AAPL261218C00240000", expiration_date: date }));
  return {
    call: { ...list, ...(page > 1 && { page: `${page}` }) },
    body: { option_contracts: contracts, next_page_token: page < of ? `${page + 1}` : null },
  };
}

const recordsOf = (pages: readonly Page[], slotAt: string): ResponseRecord[] =>
  pages.map(({ call, body }, second) => ({
    ...answerRecord(at(second), JSON.stringify(body ?? { message: "internal" }), { request: call }),
    ...{ service: "alpaca", jobs: [JOB], slotAt, status: body ? 200 : 500 },
    headers: { "content-type": "application/json" },
  }));

async function fatesOf(...pages: Page[]): Promise<[string, string][]> {
  const dir = tempDir();
  await appendAll(dir, recordsOf(pages, at(0)));
  const found = new OnceJournal(dir, { job: JOB, slotAt: at(0) }, () => undefined);
  await found.read();
  return [...found.fates];
}

test("a chain that was cut off behind its first page is not stored, and neither is one whose second page failed", async () => {
  expect(await fatesOf(chainPage(1, 3, [240]))).toEqual([]);
  expect(await fatesOf(chainPage(1, 3, [240]), chainPage(2, 3, null))).toEqual([]);
});

test("a chain is stored with its last page where any page held a quote, and absent where none did", async () => {
  const [full, empty] = [[240], []];

  expect(await fatesOf(chainPage(1, 2, empty), chainPage(2, 2, full))).toEqual([[NAME, "stored"]]);
  expect(await fatesOf(chainPage(1, 2, full), chainPage(2, 2, empty))).toEqual([[NAME, "stored"]]);
  expect(await fatesOf(chainPage(1, 2, empty), chainPage(2, 2, empty))).toEqual([[NAME, "absent"]]);
});

test("a chain that is begun anew owes nothing to the pages before, and a page without a first one says nothing", async () => {
  expect(await fatesOf(chainPage(1, 2, [240]), chainPage(1, 2, []), chainPage(2, 2, []))).toEqual([
    [NAME, "absent"],
  ]);
  expect(await fatesOf(chainPage(2, 2, [240]))).toEqual([]);
});

test("a list of expirations is there with its last page, and unknown where no page has one", async () => {
  const list = "expirations of AAPL";

  expect(await fatesOf(listPage(1, 2, ["2026-12-18"]))).toEqual([]);
  expect(await fatesOf(listPage(1, 2, ["2026-12-18"]), listPage(2, 2, []))).toEqual([[list, "stored"]]);
  expect(await fatesOf(listPage(1, 1, []))).toEqual([[list, "unknown"]]);
});

test("a contract that a page of a list lacks is not absent while more follows", async () => {
  const [first, second] = ["AAPL261218C00240000", "AAPL261218C00250000"] as const;
  const listOf = (...symbols: string[]): QuoteCall => ({
    ...{ form: "symbols", of: "contracts", symbols, delayed: false },
  });

  const fates = await fatesOf(
    { call: listOf(first, second), body: { ...quotes(first), next_page_token: "2" } },
    { call: listOf(second), body: { ...quotes(second), next_page_token: null } },
  );

  expect(fates.map(([, fate]) => fate)).toEqual(["stored", "stored"]);
});

test("a chain that a kill cut off between two pages is asked again by the next run, and its job stays", async () => {
  const dataDir = tempDir();
  const clock = createTestClock();
  const account: Account = {
    ...{ name: "default", limit: 200, limitGiven: false, limitWindowMs: 60_000, service: ALPACA },
    feed: { kind: "account", baseUrl: "http://127.0.0.1:9", credentials: credentialsOf("default") },
  };
  const chain = { underlying: "AAPL", expiration: "2026-12-18", strikes: "all" as const };
  const file = await putOnce(
    dataDir,
    {
      ...{ once: true, name: "sweep", delayed: false, priority: -1_000, single: false },
      ...{ symbols: [], watchlist: null, contracts: [chain], chains: [] },
      accounts: [{ name: "default", key: accountKey(account) }],
    },
    clock,
  );
  await appendAll(dataDir, recordsOf([chainPage(1, 3, [240])], file.slotAt), { clock });
  const polled: Parameters<OnceCalls["poll"]>[0][] = [];
  const taken = new TakenOnce({
    ...{ dataDir, journalDir: dataDir, clock, batchSize: 100, log: NO_LOG },
    accounts: () => [{ account, feed: { session: null } }] as never,
    journal: { append: () => Promise.reject(new Error("nothing is noted")) },
    notes: { flush: () => Promise.resolve() },
    calls: {
      poll: (asked) => void polled.push(asked),
      isOpen: () => polled.some(({ options }) => options.length > 0),
      ...{ withdraw: () => undefined, know: () => undefined, isSuspect: () => false, room: () => null },
    },
  });

  await taken.look();
  await taken.close();

  expect(polled).toMatchObject([{ options: [chain], known: new Set() }]);
});
