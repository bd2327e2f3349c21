/** Every recorded document, cut at every byte, sent over sockets in every way a body can end. Takes some minutes. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type CuttingService,
  kindsOfCuts,
  otherNumberWithout,
  SENDINGS,
  startCuttingService,
  upTo,
} from "./cutAnswers.ts";
import { kindOf, recordedDocuments } from "../support/recorded.ts";

let service: CuttingService;

beforeAll(async () => {
  service = await startCuttingService();
});
afterAll(() => service.close());

describe.each(Object.entries(SENDINGS))("cut anywhere and sent %s", (_how, sending) => {
  test.each(recordedDocuments())("$name is never quotes", async (document) => {
    const kinds = await kindsOfCuts(service, sending, document, upTo(document.whole));

    expect(kinds.filter((kind) => !/^(malformed|SERVICE_CUT_SHORT)$/.test(kind))).toEqual([]);
  });
});

describe("in memory", () => {
  test.each(recordedDocuments())("$name is quotes at no cut", ({ body, whole }) => {
    expect(upTo(whole).filter((end) => kindOf(body.subarray(0, end)) === "quotes")).toEqual([]);
  });

  test.each(recordedDocuments())(
    "$name with any of its bytes missing is never another number of instruments",
    ({ body }) => {
      expect(otherNumberWithout(body, upTo(body.length))).toEqual([]);
    },
  );
});
