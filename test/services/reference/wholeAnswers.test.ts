/** Whole answers, or none: recorded documents cut at every byte, as bytes and over sockets in every way a body can end. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type CuttingService,
  kindsOfCuts,
  otherNumberWithout,
  SENDINGS,
  startCuttingService,
  upTo,
} from "../../fuzz/cutAnswers.ts";
import { kindOf, recordedDocuments } from "../../support/recorded.ts";

const documents = recordedDocuments();

// A hundred thousand documents are refused here, and making a stack for each takes longer than reading it.
Error.stackTraceLimit = 0;

/** The last bytes of each are all cut off one by one. */
const LAST = 5;

/** A short document is cut at every byte, a long one at every seventh; at every one in `npm run test:fuzz`. */
const stepOf = ({ whole }: { whole: number }): number => (whole <= 1_500 ? 1 : 7);

test("there are recorded documents of every kind to cut", () => {
  expect(documents.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["equity", "option-call", "option-put", "reordered", "empty-quotes"]),
  );
});

test.each(documents)("$name cut after any of its bytes is never read as quotes", ({ body, whole }) => {
  const ends = upTo(whole).filter((end) => end % stepOf({ whole }) === 0 || end >= whole - LAST);

  const read = ends.filter((end) => kindOf(body.subarray(0, end)) === "quotes");

  expect(read).toEqual([]);
});

test.each(documents)("$name is read as quotes when only white space behind it is cut", ({ body, whole }) => {
  expect(kindOf(body.subarray(0, whole))).toBe("quotes");
});

test.each(documents)("$name without its beginning is never read as quotes", ({ body }) => {
  const root = body.indexOf("<response");

  const read = upTo(body.length)
    .slice(root + 1)
    .filter((start) => kindOf(body.subarray(start)) === "quotes");

  expect(read).toEqual([]);
});

test.each(documents)(
  "$name with any of its bytes missing never has another number of instruments",
  ({ body }) => {
    const taken = upTo(body.length).filter((at) => at % stepOf({ whole: body.length }) === 0);

    expect(otherNumberWithout(body, taken)).toEqual([]);
  },
);

/**
 * What a socket adds to the cuts above is how a body ends, not where: here each document is cut every so many bytes and at
 * its last ones, in `npm run test:fuzz` at every byte.
 */
const STRIDE = 199;

describe("over a socket, a document cut after its bytes", () => {
  let service: CuttingService;

  beforeAll(async () => {
    service = await startCuttingService();
  });
  afterAll(() => service.close());

  test.each(Object.entries(SENDINGS))("and sent %s is never quotes", async (_how, sending) => {
    for (const document of documents) {
      const { whole } = document;
      const cuts = upTo(whole).filter((end) => end % STRIDE === 0 || end >= whole - LAST);

      const kinds = await kindsOfCuts(service, sending, document, cuts);

      expect(kinds.filter((kind) => !/^(malformed|server_error|SERVICE_CUT_SHORT)$/.test(kind))).toEqual([]);
    }
  });

  test("and sent whole is quotes, unless its last chunk is missing", async () => {
    for (const document of documents)
      for (const [how, sending] of Object.entries(SENDINGS)) {
        const kind = how === "in chunks and then closed" ? "SERVICE_CUT_SHORT" : "quotes";
        expect(await kindsOfCuts(service, sending, document, [document.body.length])).toEqual([kind]);
      }
  });
});
