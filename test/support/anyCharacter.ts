import fc from "fast-check";

/** The halves of UTF-16 pairs are no characters. */
const [HALVES_FROM, HALVES_COUNT, CHARACTER_COUNT] = [0xd800, 0x800, 0x110000];

/**
 * Any character at all: fast-check's unit "binary", with the same values for the same seed. That one looks places up in
 * a map of the whole million, and each test file that made it took a second for it.
 */
export const anyCharacter = fc
  .nat({ max: CHARACTER_COUNT - HALVES_COUNT - 1 })
  .map((place) => String.fromCodePoint(place < HALVES_FROM ? place : place + HALVES_COUNT), placeOf);

function placeOf(value: unknown): number {
  const [character = "", ...rest] = typeof value === "string" ? value : "";
  const codePoint = character.codePointAt(0) ?? HALVES_FROM;
  const isHalf = codePoint >= HALVES_FROM && codePoint < HALVES_FROM + HALVES_COUNT;
  if (rest.length > 0 || isHalf) throw new Error("not one character");
  return codePoint < HALVES_FROM ? codePoint : codePoint - HALVES_COUNT;
}
