/**
 * A Market Quotes Service that answers as fast as it is asked, and never twice the same: the number of the answer is
 * in its id and in every price, so that a row tells which answer it came from. It checks no signature.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../../src/ground/clock.ts";
import { parseRequest } from "../../../src/services/reference/parseRequest.ts";
import { answerXml, equityXml, optionXml, type Texts } from "../../support/xml.ts";

/** Answers after which the dividend of every equity changes: its rows then tell the order in which they were loaded. */
const DIVIDEND_LASTS = 40;

/** A call that reached the service: when, epoch ms UTC, and the id that its answer bears. */
export type Arrival = { id: string; atMs: number };

/** A running feed. */
export type Feed = {
  /** Base address, without `/v1`. */
  baseUrl: string;
  /** How many answers have been begun. */
  answered: () => number;
  /** The service's own log; not of every feed. */
  arrivals?: () => readonly Arrival[];
  close: () => Promise<void>;
};

/** Starts one on a free port of loopback. @param options.latencyMs how long an answer takes, at random up to this */
export async function startFeed({ latencyMs = 0 } = {}): Promise<Feed> {
  let count = 0;
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const parsed = parseRequest((request.url ?? "").split("?")[1] ?? "");
    if (!parsed.ok || parsed.request.kind === "watchlist") {
      response.writeHead(400).end();
      return;
    }
    count += 1;
    const document = documentOf(parsed.request, count);
    arrivals.push({ id: `r-${count}`, atMs: systemClock.now().getTime() });
    const answer = (): void =>
      void response.writeHead(200, { "Content-Type": "application/xml; charset=UTF-8" }).end(document);
    if (latencyMs === 0) answer();
    else setTimeout(answer, ((systemClock.random(1)[0] ?? 0) / 255) * latencyMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered: () => count,
    arrivals: () => arrivals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve()).closeAllConnections();
      }),
  };
}

type Asked = Extract<ReturnType<typeof parseRequest>, { ok: true }>["request"];

/** The answers' order is not the request's. */
function documentOf(asked: Asked, number: number): string {
  const texts = (place: number): { quote: Texts; extended: Texts } => ({
    quote: { lastprice: `${number}.${place}`, bidprice: `${number}.10`, askprice: `${number}.20` },
    extended: { volume: String(number) },
  });
  const items =
    asked.kind === "option"
      ? [optionXml(optionForm(asked.contract), { ...texts(0), underlyingQuote: texts(1).quote })]
      : asked.kind === "symbols"
        ? asked.symbols
            .map((symbol, place) => equityXml(symbol, { ...texts(place), dividend: dividendOf(number) }))
            .reverse()
        : [];
  return answerXml(...items).replace('id="r-1"', `id="r-${number}"`);
}

function optionForm(
  contract: Extract<Asked, { kind: "option" }>["contract"],
): Parameters<typeof optionXml>[0] {
  const { underlying, expiration, optionType, strike } = contract;
  return { underlying, expiration, strike, putcall: optionType === "CALL" ? "1" : "0" };
}

function dividendOf(number: number): Texts {
  return {
    amt: `0.${1 + Math.floor(number / DIVIDEND_LASTS)}`,
    exdate: "2026-08-12T00:00:00-04:00",
    yield: "2.02",
  };
}
