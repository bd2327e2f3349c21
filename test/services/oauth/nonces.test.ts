import { createHash } from "node:crypto";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { NonceMemory, type UsedNonce } from "../../../src/services/oauth/nonces.ts";

const memory = (maxNonces = 100) => new NonceMemory({ windowSeconds: 10, maxNonces });

test("a nonce is fresh once per timestamp and token", () => {
  const nonces = memory();

  expect(nonces.use("token", 1000, "n", 1000)).toBe("fresh");
  expect(nonces.use("token", 1000, "n", 1000)).toBe("repeated");
  expect(nonces.use("token", 1001, "n", 1000)).toBe("fresh");
  expect(nonces.use("other", 1000, "n", 1000)).toBe("fresh");
});

test("a nonce is remembered as long as its timestamp could be accepted, then forgotten", () => {
  const nonces = memory();
  nonces.use("token", 1010, "n", 1000);

  expect(nonces.use("token", 1010, "n", 1020)).toBe("repeated");
  expect(nonces.use("token", 1021, "n", 1021)).toBe("fresh");
  expect(nonces.size).toBe(1);
});

test("a clock that is set back does not let a forgotten nonce in again", () => {
  const nonces = memory();
  nonces.use("token", 1000, "n", 1000);
  nonces.use("token", 1100, "m", 1100);

  expect(nonces.use("token", 1000, "n", 1000)).toBe("stale");
});

test("a full memory refuses new nonces rather than forget one, and has room again when they lapse", () => {
  const nonces = memory(2);
  nonces.use("token", 1000, "a", 1000);
  nonces.use("token", 1000, "b", 1000);

  expect(nonces.use("token", 1000, "c", 1000)).toBe("full");
  expect(nonces.use("token", 1000, "a", 1000)).toBe("repeated");
  expect(nonces.use("token", 1011, "c", 1011)).toBe("fresh");
});

test("one token cannot use up the room of the others, and has room again when its own lapse", () => {
  const nonces = new NonceMemory({ windowSeconds: 10, maxNonces: 100, maxPerToken: 2 });
  for (const nonce of ["a", "b"]) nonces.use("greedy", 1000, nonce, 1000);

  expect(nonces.use("greedy", 1001, "c", 1001)).toBe("full");
  expect(nonces.use("modest", 1001, "c", 1001)).toBe("fresh");
  expect(nonces.use("greedy", 1011, "c", 1011)).toBe("fresh");
});

test("a memory that begins with what an earlier one had written down knows its nonces, and its horizon", () => {
  const used: UsedNonce[] = [];
  const first = new NonceMemory({ windowSeconds: 10, maxNonces: 9, onFresh: (one) => used.push(one) });
  first.use("token", 1000, "n", 1000);
  first.use("token", 1008, "m", 1008);
  const second = new NonceMemory({ windowSeconds: 60, maxNonces: 9, remembered: used, horizon: 995 });

  expect(second.use("token", 1000, "n", 1009)).toBe("repeated");
  expect(second.use("token", 1008, "m", 1009)).toBe("repeated");
  expect(second.use("token", 990, "x", 1009)).toBe("stale");
  expect(second.use("token", 1009, "n", 1009)).toBe("fresh");
});

test("a nonce that could not be written down is not accepted, and may be tried again", () => {
  let isFull = true;
  const nonces = new NonceMemory({
    windowSeconds: 10,
    maxNonces: 9,
    onFresh: () => {
      if (isFull) throw new Error("no space");
    },
  });

  expect(() => nonces.use("token", 1000, "n", 1000)).toThrow("no space");
  isFull = false;

  expect(nonces.use("token", 1000, "n", 1000)).toBe("fresh");
});

test("all tokens together have no more room than the memory, and nonces that were given back take of it", () => {
  const remembered = [994, 995, 995, 996].map((timestamp) => ({ timestamp, mark: "m".repeat(22) }));
  const nonces = new NonceMemory({ windowSeconds: 10, maxNonces: 4, remembered, horizon: 995 });

  expect(memory().size).toBe(0);
  expect(nonces.size).toBe(2);
  expect(nonces.use("one", 1000, "n", 1000)).toBe("fresh");
  expect(nonces.use("two", 1000, "n", 1000)).toBe("fresh");
  expect(nonces.use("three", 1000, "n", 1000)).toBe("full");
});

test("a token has as much room as nonces of its own have lapsed, and no more", () => {
  const nonces = new NonceMemory({ windowSeconds: 10, maxNonces: 100, maxPerToken: 3 });
  for (const [nonce, timestamp] of [
    ["a", 1000],
    ["b", 1000],
    ["c", 1008],
  ] as const)
    nonces.use("token", timestamp, nonce, 1000);

  expect(["d", "e", "f"].map((nonce) => nonces.use("token", 1011, nonce, 1011))).toEqual([
    ...["fresh", "fresh", "full"],
  ]);
  expect(["g", "h", "i", "j"].map((nonce) => nonces.use("token", 1030, nonce, 1030))).toEqual([
    ...["fresh", "fresh", "fresh", "full"],
  ]);
});

test("who writes a nonce down is told whose it was, when, and what is forgotten", () => {
  const told: unknown[] = [];
  const nonces = new NonceMemory({ windowSeconds: 10, maxNonces: 9, onFresh: (_, of) => told.push(of) });

  nonces.use("token", 1003, "n", 1000);

  expect(told).toEqual([{ token: "token", nowSeconds: 1000, horizon: 990 }]);
});

test("a nonce is kept as the first 128 bits of the SHA-256 of token and nonce", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (token, nonce) => {
      const marks: string[] = [];
      const onFresh = ({ mark }: UsedNonce): void => void marks.push(mark);
      new NonceMemory({ windowSeconds: 10, maxNonces: 1, onFresh }).use(token, 1000, nonce, 1000);

      const digest = createHash("sha256")
        .update(JSON.stringify([token, nonce]))
        .digest();
      expect(marks).toEqual([digest.toString("base64url", 0, 16)]);
    }),
  );
});
