import { expect, test } from "@jest/globals";
import { answerError } from "../../../src/quotes/answer.ts";
import { classifyAnswer } from "../../../src/services/reference/classifyAnswer.ts";
import { answerXml, equityXml } from "../../support/xml.ts";

const classify = (status: number, body = "", headers: Record<string, string> = {}) =>
  classifyAnswer({ status, headers, body: Buffer.from(body) });
const quotes = answerXml(equityXml("A"));
const QUOTA = "API calls quota exceeded! maximum admitted 60 per Minute.";

test.each([
  [429, "quota_fault"],
  [401, "unauthorized"],
  [403, "unauthorized"],
  [414, "too_long"],
  [400, "refused"],
  [404, "refused"],
  [100, "refused"],
  [300, "refused"],
  [302, "refused"],
  [500, "server_error"],
  [503, "server_error"],
])("the status %d means %s, even with a quotes document", (status, outcome) => {
  expect(classify(status, quotes).outcome).toBe(outcome);
});

test("a refusal says what its document says", () => {
  expect(classify(400, "<response><error> strike is missing </error></response>")).toMatchObject({
    detail: 'HTTP 400, "strike is missing"',
  });
  expect(classify(400, "Bad Request")).toMatchObject({ detail: "HTTP 400" });
});

test("a 200 with a whole quotes document is quotes, even with no calls remaining", () => {
  expect(classify(200, quotes, { "x-ratelimit-remaining": "0" }).outcome).toBe("quotes");
});

test.each([
  ["the words of the fault", QUOTA, {}],
  ["the words of the fault in an element", `<string>${QUOTA}</string>`, {}],
  ["the words of the fault as its error", `<response><error>${QUOTA}</error></response>`, {}],
  ["something else and no calls remaining", "try later", { "x-ratelimit-remaining": "0" }],
  ["something else and 0.0 calls remaining", "try later", { "x-ratelimit-remaining": " 0.0 " }],
  ["something else and 00.00 calls remaining", "try later", { "x-ratelimit-remaining": "00.00" }],
  ["the words of the fault in less than 4 kB", QUOTA.padEnd(4_095), {}],
  ["the words of the fault in more, and no calls", QUOTA.padEnd(5_000), { "x-ratelimit-remaining": "0" }],
])("a 200 with %s is the quota fault", (_what, body, headers) => {
  expect(classify(200, body, headers).outcome).toBe("quota_fault");
});

test("a 200 that is cut short is malformed and not the quota fault, even with no calls remaining", () => {
  const cut = quotes.slice(0, quotes.length / 2);

  expect(classify(200, cut, { "x-ratelimit-remaining": "0" }).outcome).toBe("malformed");
});

test.each([
  ["10 calls remaining", "try later", { "x-ratelimit-remaining": "10" }],
  ["half a call remaining", "try later", { "x-ratelimit-remaining": "0.5" }],
  ["a page of 4 kB that holds the words of the fault", QUOTA.padEnd(4_096), {}],
])("a 200 with something else and %s is malformed, and not the quota fault", (_what, body, headers) => {
  expect(classify(200, body, headers).outcome).toBe("malformed");
});

test.each(["Not authorized", "not authorised", "Unauthorized", "unauthorised"])(
  "a 200 that says %p is unauthorized, with the id of the answer",
  (error) => {
    const body = `<response id="x:1"><error>${error}</error></response>`;

    expect(classify(200, body)).toMatchObject({ outcome: "unauthorized", responseId: "x:1" });
  },
);

test.each(["", "identity", " Identity "])("a 200 in the encoding %p is read as it is", (encoding) => {
  expect(classify(200, quotes, { "content-encoding": encoding }).outcome).toBe("quotes");
});

test.each(["gzip", "identity, gzip", "gzip, identity", "x".repeat(50)])(
  "a 200 in the encoding %p, which nobody asked for, is malformed and says so",
  (encoding) => {
    expect(classify(200, quotes, { "content-encoding": encoding })).toMatchObject({
      outcome: "malformed",
      detail: `Content-Encoding ${encoding.slice(0, 40)}, and identity was asked for`,
    });
  },
);

test("a 200 with another error is refused, and the error is quoted by its beginning", () => {
  const answer = classify(200, `<response><error>${"no ".repeat(200)}</error></response>`);

  expect(answer.outcome).toBe("refused");
  expect(JSON.stringify(answer).length).toBeLessThan(320);
});

test.each(["<html><body>hello</body></html>", "<!doctype HTML><p>", "  <HTML lang='en'>"])(
  "a 200 with an HTML page is malformed and says so: %s",
  (page) => {
    expect(classify(200, page)).toMatchObject({
      outcome: "malformed",
      detail: "an HTML page in place of XML",
    });
  },
);

test.each(["", " \n", "\ufeff"])(
  "a 200 with nothing in it is a fault of the service, and no answer that there is nothing",
  (body) => {
    expect(classify(200, body)).toEqual({
      outcome: "server_error",
      responseId: null,
      detail: "HTTP 200 with an empty answer",
    });
  },
);

test.each([
  [
    "extended quotes",
    "<response><quotes><quote><ask>1.5</ask></quote></quotes></response>",
    "its quotes hold no <instrumentquote>, but <quote>: it answers another call, or another version of this one",
  ],
  [
    "balances",
    "<response><elapsedtime>0</elapsedtime><accountbalance><account>1</account></accountbalance></response>",
    "it holds neither quotes nor an error, but <elapsedtime>, <accountbalance>: it answers another call, or another version of this one",
  ],
  ["a holding", "<holding/>", "its root element is holding, not response"],
  ["JSON", '\n{"response":{"quotes":{"quote":[]}}}', "JSON in place of XML"],
])("a 200 that belongs to another call is malformed and names what it holds: %s", (_what, body, named) => {
  expect(classify(200, body)).toMatchObject({
    outcome: "malformed",
    detail: expect.stringContaining(named),
  });
});

test("a 200 whose quotes are empty, or hold other elements too, is an answer of quotes", () => {
  const [none, more] = ["<time>0</time>", `<quote><ask>1.5</ask></quote>${equityXml("A")}`];

  expect(classify(200, answerXml(none)).outcome).toBe("quotes");
  expect(classify(200, answerXml(more)).outcome).toBe("quotes");
});

test.each([
  ["quota_fault", "SERVICE_QUOTA"],
  ["unauthorized", "SERVICE_UNAUTHORIZED"],
  ["too_long", "SERVICE_REFUSED"],
  ["refused", "SERVICE_REFUSED"],
  ["server_error", "SERVICE_ERROR"],
  ["malformed", "SERVICE_ANSWER_UNREADABLE"],
] as const)("an answer that is %s stands for the error %s, which quotes it", (outcome, code) => {
  const error = answerError({ outcome, responseId: null, detail: "what it said" }, "its settings");

  expect(error).toMatchObject({ code, message: expect.stringContaining("what it said") });
});
