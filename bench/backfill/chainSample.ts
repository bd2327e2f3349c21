/** Whole chains of a made-up market as Tradier writes them: 18 expirations of 400 contracts, one after the other. */
import { instantOf } from "../../src/ground/clock.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import type { Random } from "../governor/random.ts";
import { randomBytes } from "./sample.ts";

export const CONTRACTS = 400;

const EXPIRATIONS = Array.from({ length: 18 }, (_, week) =>
  new Date(Date.UTC(2026, 11, 4 + 7 * week)).toISOString().slice(0, 10),
);

export const EXPIRATION_COUNT = EXPIRATIONS.length;

/** Time from one answer to the next: 18 of them every five minutes. */
const STEP_MS = 16_667;

/** The answer at a place of the journal. @param firstMs where it begins, epoch ms */
export function chainAnswer(place: number, random: Random, firstMs: number): ResponseRecord {
  const atMs = firstMs + place * STEP_MS;
  const observedAt = instantOf(BigInt(atMs) * 1_000n + BigInt(place % 997));
  const expiration = EXPIRATIONS[place % EXPIRATIONS.length] ?? "";
  const contracts = Array.from({ length: CONTRACTS }, (_, n) => contract(n, { expiration, atMs, random }));
  return {
    kind: "response",
    service: "tradier",
    requestId: uuidv7(atMs, randomBytes(random, 10)),
    ...{ observedAt, requestedAt: observedAt, slotAt: null, status: 200, jobs: ["bench"] },
    source: { kind: "account", name: "tradier" },
    request: { form: "chain", underlying: "SPY", expiration, delayed: false },
    headers: { date: new Date(observedAt).toUTCString(), "x-ratelimit-expiry": String(atMs + 60_000) },
    body: Buffer.from(`{"options":{"option":[${contracts.join()}]}}`),
  };
}

type Given = { expiration: string; atMs: number; random: Random };

function contract(n: number, { expiration, atMs, random }: Given): string {
  const strike = 300 + 5 * Math.floor(n / 2);
  const isCall = n % 2 === 1;
  const occ = `SPY${expiration.slice(2).replaceAll("-", "")}${isCall ? "C" : "P"}${String(strike * 1_000).padStart(8, "0")}`;
  const cents = 100 + Math.floor(random() * 9_000);
  const price = (off: number): string => ((cents + off) / 100).toFixed(2);
  // An exponent has a capital letter there.
  const greek = (): string => String((random() - 0.5) / 10 ** Math.floor(random() * 6)).toUpperCase();
  const iv = (): string => (0.1 + random() / 2).toFixed(6);
  const ago = (most: number): number => atMs - Math.floor(random() * most);
  return (
    `{"symbol":"${occ}","description":"SPY ${expiration} $${strike}.00 ${isCall ? "Call" : "Put"}","exch":"Z","type":"option","last":${price(1)},"change":${(random() * 2 - 1).toFixed(2)},` +
    `"volume":${Math.floor(random() * 9_000)},"open":${price(-3)},"high":${price(9)},"low":${price(-9)},"close":null,"bid":${price(0)},"ask":${price(2)},"underlying":"SPY","strike":${strike}.0,` +
    `"greeks":{"delta":${greek()},"gamma":${greek()},"theta":${greek()},"vega":${greek()},"rho":${greek()},"phi":${greek()},"bid_iv":${iv()},"mid_iv":${iv()},"ask_iv":${iv()},"smv_vol":${iv()},"updated_at":"${new Date(atMs - (atMs % 3_600_000)).toISOString().slice(0, 19).replace("T", " ")}"},` +
    `"change_percentage":${(random() * 4 - 2).toFixed(2)},"average_volume":0,"last_volume":3,"trade_date":${ago(900_000)},"prevclose":${price(-4)},"week_52_high":0.0,"week_52_low":0.0,` +
    `"bidsize":${Math.floor(random() * 90)},"bidexch":"Q","bid_date":${ago(2_000)},"asksize":${Math.floor(random() * 90)},"askexch":"Z","ask_date":${ago(2_000)},"open_interest":${Math.floor(random() * 9_000)},` +
    `"contract_size":100,"expiration_date":"${expiration}","expiration_type":"weeklys","option_type":"${isCall ? "call" : "put"}","root_symbol":"SPY"}`
  );
}
