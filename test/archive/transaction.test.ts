import { once } from "node:events";
import { expect, test } from "@jest/globals";
import { isRetryable } from "../../src/archive/connect/databaseError.ts";
import { BEGIN_STORING } from "../../src/archive/connect/transaction.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { answerRecord, at } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { answerXml, equityXml } from "../support/xml.ts";

test("a program that stands still while it stores is ended by the server, and those it held up go on", async () => {
  const { pool, append, load } = await loadingWorld();
  await append(answerRecord(at(1), answerXml(equityXml("A", { dividend: { amt: "1" } }))));
  const still = await pool.connect();
  await still.query(BEGIN_STORING);
  const { rows } = await still.query("show idle_in_transaction_session_timeout");
  expect(rows).toEqual([{ idle_in_transaction_session_timeout: "1min" }]);

  const ended = once(still, "error");
  // In place of the minute.
  await still.query("set local idle_in_transaction_session_timeout = '1ms'");
  await load();
  const [error] = (await ended) as [unknown];
  still.release(true);

  expect(isRetryable(error)).toBe(true);
  expect(await rowsOfQuery(pool, "select amount from dividends")).toEqual([{ amount: "1" }]);
});
