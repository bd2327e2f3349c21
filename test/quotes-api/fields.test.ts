import { expect, test } from "@jest/globals";
import { EXTENDED_FIELDS, fieldNames, PRICE_FIELDS } from "../../src/quotes-api/fields.ts";

/** The specification's tables "quote" and "extendedquote": what is an integer there; all else is a decimal. */
const INTEGERS = ["asksize", "bidsize", "volume", "sessionvolume", "contractsize"];

test("the fields of a type are those to which the specification gives it", () => {
  const namesWhere = (isInteger: boolean): string[] =>
    [...PRICE_FIELDS, ...EXTENDED_FIELDS]
      .filter(({ element }) => INTEGERS.includes(element) === isInteger)
      .map(({ name }) => name);

  expect(fieldNames("integer")).toEqual(namesWhere(true));
  expect(fieldNames("decimal")).toEqual(namesWhere(false));
});
