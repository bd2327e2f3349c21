/** Every recorded document, cut at every byte, sent over sockets in every way a body can end. Takes some minutes. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type CuttingService,
  kindsOfCuts,
  recordedDocuments,
  SENDINGS,
  startCuttingService,
  upTo,
} from "./cutAnswers.ts";

let service: CuttingService;

beforeAll(async () => {
  service = await startCuttingService();
});
afterAll(() => service.close());

describe.each(Object.entries(SENDINGS))("cut anywhere and sent %s", (_how, sending) => {
  test.each(recordedDocuments())("$name is never quotes", async (document) => {
    const kinds = await kindsOfCuts(service, sending, document, upTo(document.whole));

    expect(kinds.filter((kind) => !/^(malformed|SERVICE_UNREACHABLE)$/.test(kind))).toEqual([]);
  });
});
