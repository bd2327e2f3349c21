/** A self-signed certificate of one's own, for `localhost` and 127.0.0.1 if not for another name, made when a test runs: no key lies in the tree. */
import { generateKeyPairSync, sign } from "node:crypto";

/** A key and its certificate, PEM. */
export type KeyPair = { key: string; cert: string };

/** The pieces of DER, X.690: a tag, a length, a content. */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...contents: Uint8Array[]): Buffer => der(0x30, ...contents);
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const time = (text: string): Buffer => der(0x17, Buffer.from(text));

/**
 * RFC 5280 section 4.1, with the fewest fields.
 *
 * @param host the only name it is good for; default: `localhost`, and 127.0.0.1
 */
export function selfSigned(host?: string): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(objectId("2a8648ce3d040302"));
  const name = sequence(
    der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from("localhost")))), // commonName
  );
  const names = sequence(
    der(0x82, Buffer.from(host ?? "localhost")),
    ...(host === undefined ? [der(0x87, Buffer.from([127, 0, 0, 1]))] : []),
  );
  const subjectAltName = sequence(objectId("551d11"), der(0x04, names));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.from([1])), // serial number
    ecdsaWithSha256,
    name,
    sequence(time("200101000000Z"), time("491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(subjectAltName)),
  );
  const signature = sign("sha256", toBeSigned, privateKey);
  const certificate = sequence(toBeSigned, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}
