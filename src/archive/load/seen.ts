/** What answers say of instruments: of each word of the description the one that was said last. Pure. */
import type { Instant } from "../../ground/clock.ts";
import type { InstrumentRow, QuoteUnit } from "../../read/rowTypes.ts";

export const DESCRIBED = ["exchange", "description", "contractSize"] as const;

type DescribedField = (typeof DESCRIBED)[number];

/** An instrument of a batch: its newest description, and when it was seen first and last. */
export type SeenInstrument = {
  row: InstrumentRow;
  first: Instant;
  last: Instant;
  /** When each word of the description was said last, where that was not `last`. */
  saidAt?: SaidAt | undefined;
};

/** Times by words of the description; without a time: when the instrument was seen last. */
type SaidAt = Partial<Record<DescribedField, Instant | null>>;

export type SeenInstruments = Map<number, SeenInstrument>;

export type Sighting = Pick<QuoteUnit, "instrument" | "observedAt"> & Pick<SeenInstrument, "saidAt">;

export function seenByNumber(seen: readonly SeenInstrument[], ids: readonly number[]): SeenInstruments {
  const byId: SeenInstruments = new Map();
  seen.forEach((entry, place) => addSeen(byId, ids[place] ?? 0, entry));
  return byId;
}

export function addAllSeen(to: SeenInstruments, later: SeenInstruments): void {
  for (const [id, entry] of later) addSeen(to, id, entry);
}

export function addSeen(to: SeenInstruments, id: number, entry: SeenInstrument): void {
  const other = to.get(id);
  to.set(id, other ? merged(other, entry) : entry);
}

/** One entry for each instrument, and for each unit the place of its own. */
type FoundInstruments = { seen: SeenInstrument[]; places: number[] };

export function seenInstruments(units: readonly Sighting[]): FoundInstruments {
  const seen: SeenInstrument[] = [];
  const placeOf = new Map<string, number>();
  const places = units.map(({ instrument, observedAt, saidAt }) => {
    const identity = identityText(instrument);
    const place = placeOf.get(identity) ?? seen.length;
    const entry = seen[place];
    placeOf.set(identity, place);
    const sighting = { row: instrument, first: observedAt, last: observedAt, saidAt };
    if (saidAt === undefined) seen[place] = seenAgain(entry, instrument, observedAt);
    else seen[place] = entry === undefined ? sighting : merged(entry, sighting);
    return place;
  });
  return { seen, places };
}

/** An entry after one more answer: mostly that says what those before it have said. */
function seenAgain(known: SeenInstrument | undefined, row: InstrumentRow, at: Instant): SeenInstrument {
  if (known === undefined) return { row, first: at, last: at };
  if (at < known.last || !isDescribedAlike(row, known.row))
    return merged(known, { row, first: at, last: at });
  known.last = at;
  known.saidAt = undefined;
  return known;
}

const COMPARED = [...DESCRIBED, "underlying", "assumedType", "writtenStrike"] as const;

function isDescribedAlike(a: InstrumentRow, b: InstrumentRow): boolean {
  const isAlike = (field: keyof InstrumentRow): boolean => a[field] === b[field];
  return a === b || COMPARED.every(isAlike);
}

/** Two entries of one instrument, in whatever order they come: of each word of the description the one that was said last. */
function merged(a: SeenInstrument, b: SeenInstrument): SeenInstrument {
  const [sure, other] = b.row.assumedType && !a.row.assumedType ? [a.row, b.row] : [b.row, a.row];
  const row = {
    ...sure,
    underlying: leastOther(a.row, b.row) ?? sure.underlying,
    assumedType: a.row.assumedType && b.row.assumedType,
    writtenStrike: sure.writtenStrike ?? other.writtenStrike,
  };
  const saidAt: SaidAt = {};
  for (const field of DESCRIBED) {
    const said = isNewerWord(field, a, b) ? a : b;
    row[field] = said.row[field];
    saidAt[field] = saidOf(field, said);
  }
  return {
    row,
    saidAt,
    first: a.first < b.first ? a.first : b.first,
    last: a.last > b.last ? a.last : b.last,
  };
}

export function saidOf(field: DescribedField, { row, last, saidAt }: SeenInstrument): Instant | null {
  return row[field] === null ? null : (saidAt?.[field] ?? last);
}

/** Of two words of one time the greater one counts as newer, as the database compares them. */
function isNewerWord(field: DescribedField, a: SeenInstrument, b: SeenInstrument): boolean {
  const [atA, atB] = [saidOf(field, a), saidOf(field, b)];
  if (atA === null || atB === null) return atB === null;
  if (atA !== atB) return atA > atB;
  return Buffer.compare(Buffer.from(a.row[field] ?? ""), Buffer.from(b.row[field] ?? "")) > 0;
}

/** An underlying of another symbol, which an answer brought along, goes before the option's own. */
function leastOther(a: InstrumentRow, b: InstrumentRow): string | undefined {
  return [otherUnderlying(a), otherUnderlying(b)].filter((symbol) => symbol !== null).sort()[0];
}

export function otherUnderlying({ symbol, underlying }: InstrumentRow): string | null {
  return underlying === symbol ? null : underlying;
}

/** With its strike in the digits that it is stored in. */
export function withWrittenStrike(row: InstrumentRow): InstrumentRow {
  return { ...row, strike: row.writtenStrike ?? row.strike };
}

/** A text for each identity, and each its own: lengths tell where the parts end. */
function identityText({ securityType, symbol, root, expiration, optionType, strike }: InstrumentRow): string {
  const security = `${securityType.length} ${securityType}${symbol.length} ${symbol}`;
  return optionType === null ? security : `${security} ${root ?? ""} ${expiration} ${optionType} ${strike}`;
}
