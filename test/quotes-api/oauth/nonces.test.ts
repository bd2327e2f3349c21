import { expect, test } from "@jest/globals";
import { NonceMemory } from "../../../src/quotes-api/oauth/nonces.ts";

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

test("token and nonce cannot be shifted into one another", () => {
  const nonces = memory();
  nonces.use('a","b', 1000, "c", 1000);

  expect(nonces.use("a", 1000, 'b","c', 1000)).toBe("fresh");
});
