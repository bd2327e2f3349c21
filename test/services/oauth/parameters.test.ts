import { expect, test } from "@jest/globals";
import { parseAuthorization } from "../../../src/services/oauth/protocol.ts";
import { MAX_PARAMETERS, parseQuery } from "../../../src/services/oauth/parameters.ts";

test("a plus is a space wherever it stands, and a percent sign encodes something", () => {
  expect(parseQuery("a=+&+=b&c=%2B&d=1+1")).toEqual([
    ["a", " "],
    [" ", "b"],
    ["c", "+"],
    ["d", "1 1"],
  ]);
  expect(parseQuery("a=%")).toBeNull();
});

test("200 parameters are read, of a query as of a header; 201 are refused", () => {
  const query = (count: number): string =>
    Array.from({ length: count }, (_, place) => `p${place}=1`).join("&");
  const header = (count: number): string =>
    `OAuth ${Array.from({ length: count }, (_, place) => `p${place}="1"`).join(", ")}`;

  expect(parseQuery(query(MAX_PARAMETERS))).toHaveLength(200);
  expect(parseQuery(query(MAX_PARAMETERS + 1))).toBeNull();
  expect(parseAuthorization(header(MAX_PARAMETERS))).toMatchObject({ ok: true });
  expect(parseAuthorization(header(MAX_PARAMETERS + 1))).toMatchObject({ ok: false });
});
