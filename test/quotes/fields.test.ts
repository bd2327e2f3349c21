import { expect, test } from "@jest/globals";
import { EXTENDED_FIELDS, fieldNames, PRICE_FIELDS, withElement } from "../../src/quotes/fields.ts";

/** The specification's tables "quote" and "extendedquote": what is an integer there; all else is a decimal. */
const INTEGERS = ["asksize", "bidsize", "volume", "sessionvolume", "contractsize"];

test("the fields of a type that have an element are those to which the specification gives it", () => {
  const specified = withElement([...PRICE_FIELDS, ...EXTENDED_FIELDS]);
  const namesWhere = (isInteger: boolean): string[] =>
    specified.filter(({ element }) => INTEGERS.includes(element) === isInteger).map(({ name }) => name);
  const namesOf = (type: "integer" | "decimal"): string[] =>
    fieldNames(type).filter((name) => specified.some((field) => field.name === name));

  expect(namesOf("integer")).toEqual(namesWhere(true));
  expect(namesOf("decimal")).toEqual(namesWhere(false));
});
