import { expect, test } from "@jest/globals";
import { uuidBytes, uuidv7 } from "../../src/journal/uuid.ts";

test("a UUIDv7 carries its time, version and variant, as in the example of RFC 9562", () => {
  // Appendix A.6: 2022-02-22T19:22:22Z, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F.
  const random = Buffer.from("0cc318c4dc0c0c07398f", "hex");

  expect(uuidv7(0x017f22e279b0, random)).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
});

test("UUIDv7s sort by the millisecond they were made in", () => {
  const random = new Uint8Array(10).fill(255);

  expect(uuidv7(1_000, random) < uuidv7(1_001, new Uint8Array(10))).toBe(true);
  expect(uuidBytes(uuidv7(1_000, random)).readUIntBE(0, 6)).toBe(1_000);
});
