import { describe, expect, test } from "@jest/globals";
import { classifyAnswer } from "../../src/quotes-api/answer.ts";
import { answerXml, equityXml } from "../support/xml.ts";

const classify = (status: number, body = "", headers: Record<string, string> = {}) =>
  classifyAnswer({ status, headers, body: Buffer.from(body) });
const quotes = answerXml(equityXml("A"));
const QUOTA = "API calls quota exceeded! maximum admitted 60 per Minute.";

describe("the status comes first", () => {
  test.each([
    [429, "quota_fault"],
    [401, "unauthorized"],
    [403, "unauthorized"],
    [414, "too_long"],
    [400, "refused"],
    [404, "refused"],
    [302, "refused"],
    [500, "server_error"],
    [503, "server_error"],
  ])("%d is %s, even with a quotes document", (status, outcome) => {
    expect(classify(status, quotes).outcome).toBe(outcome);
  });

  test("a refusal says what its document says", () => {
    expect(classify(400, "<response><error>strike is missing</error></response>")).toMatchObject({
      detail: 'HTTP 400, "strike is missing"',
    });
  });
});

describe("a 200", () => {
  test("with a whole quotes document is quotes, even with no calls remaining", () => {
    expect(classify(200, quotes, { "x-ratelimit-remaining": "0" }).outcome).toBe("quotes");
  });

  test.each([
    ["the words of the fault", QUOTA, {}],
    ["the words of the fault in an element", `<string>${QUOTA}</string>`, {}],
    ["the words of the fault as its error", `<response><error>${QUOTA}</error></response>`, {}],
    ["something else and no calls remaining", "try later", { "x-ratelimit-remaining": "0" }],
    ["something else and 0.0 calls remaining", "try later", { "x-ratelimit-remaining": " 0.0 " }],
  ])("with %s is the quota fault", (_what, body, headers) => {
    expect(classify(200, body, headers).outcome).toBe("quota_fault");
  });

  test("cut short is malformed and not the fault, even with no calls remaining", () => {
    const cut = quotes.slice(0, quotes.length / 2);

    expect(classify(200, cut, { "x-ratelimit-remaining": "0" }).outcome).toBe("malformed");
  });

  test("that is not authorized is unauthorized, with the id of the answer", () => {
    const body = '<response id="x:1"><error>Not authorized</error></response>';

    expect(classify(200, body)).toMatchObject({ outcome: "unauthorized", responseId: "x:1" });
  });

  test("with another error is refused, and the error is quoted by its beginning", () => {
    const answer = classify(200, `<response><error>${"no ".repeat(200)}</error></response>`);

    expect(answer.outcome).toBe("refused");
    expect(JSON.stringify(answer).length).toBeLessThan(320);
  });

  test.each(["<html><body>hello</body></html>", "<!doctype HTML><p>", "  <HTML lang='en'>"])(
    "with an HTML page is malformed and says so: %s",
    (page) => {
      expect(classify(200, page)).toMatchObject({
        outcome: "malformed",
        detail: "an HTML page in place of XML",
      });
    },
  );

  test("with nothing is malformed", () => {
    expect(classify(200).outcome).toBe("malformed");
  });
});
