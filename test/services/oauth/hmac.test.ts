import { createHmac } from "node:crypto";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { hmacSha1 } from "../../../src/services/oauth/hmac.ts";
import { anyCharacter } from "../../support/anyCharacter.ts";

test("a signature is the HMAC-SHA1 of the platform, whatever the key's length and however often it is used", () => {
  const key = fc.string({ unit: "binary-ascii", maxLength: 200 });
  const texts = fc.array(fc.string({ unit: anyCharacter }), { minLength: 1, maxLength: 4 });

  fc.assert(
    fc.property(key, texts, (secret, list) => {
      const hmac = hmacSha1(secret);

      expect(list.map(hmac)).toEqual(
        list.map((text) => createHmac("sha1", secret).update(text).digest("base64")),
      );
    }),
  );
});

test("two keys in turn do not disturb each other, at the length of a block and around it", () => {
  const keys = [0, 1, 63, 64, 65].map((length) => "k".repeat(length));
  const hmacs = keys.map(hmacSha1);

  for (const text of ["a", "b"]) {
    expect(hmacs.map((hmac) => hmac(text))).toEqual(
      keys.map((key) => createHmac("sha1", key).update(text).digest("base64")),
    );
  }
});
