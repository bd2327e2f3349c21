/** A job that is polled once, as it lies in `once/` of the data directory. */
import { z } from "zod";
import { plainName } from "../config/settingKinds.ts";
import { isDateText } from "../market/calendar/dates.ts";
import { isStrike, isSymbol, isWatchlistId, namedSymbol, plainStrike } from "../market/instrument.ts";
import { chainSchema } from "../market/optionChain.ts";
import { MAX_SYMBOLS } from "./jobSchema.ts";

const symbol = z
  .string()
  .refine((text) => isSymbol(text))
  .transform(namedSymbol);
const date = z.string().refine(isDateText);
const strike = z.string().refine(isStrike).transform(plainStrike);

const asked = z.union([
  z.strictObject({ underlying: symbol, expiration: date, strikes: z.literal("all") }),
  z.strictObject({ underlying: symbol, expirations: z.literal("listed") }),
  z.strictObject({
    underlying: symbol,
    root: symbol.optional(),
    expiration: date,
    optionType: z.enum(["CALL", "PUT"]),
    strike,
  }),
]);

export const onceSchema = z.strictObject({
  once: z.literal(true),
  /** Jobs of one name are told apart by their slots. */
  name: plainName,
  delayed: z.boolean(),
  priority: z.int().min(-1000).max(1000),
  /** Whether each call is made once, whatever comes of it: somebody waits for the answer. */
  single: z.boolean(),
  /** The accounts that may be asked, by name and by `accountKey`. */
  accounts: z.array(z.strictObject({ name: plainName, key: z.string().max(64) })).min(1),
  symbols: z.array(symbol).max(MAX_SYMBOLS),
  watchlist: z.string().refine(isWatchlistId).nullable(),
  contracts: z.array(asked),
  chains: z.array(chainSchema),
});

export type OnceJob = z.infer<typeof onceSchema>;
