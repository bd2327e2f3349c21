/** What a request costs that nobody has signed for, in processor time of the service, whatever it holds. */
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { median } from "./load.ts";
import type { Server } from "./server.ts";

/** No such request may cost more, ms. */
const MOST_MS = 5;

/** Processor time is told in steps of 10 ms, so a round is many requests. */
const REQUESTS = 40;
const ROUNDS = 5;

const ORDERS = "/v1/account/1/orders.xml";
const FORM = "Content-Type: application/x-www-form-urlencoded";

/** Many short parameters that have to be sorted, from the last to the first. */
function parameters(bytes: number, between: string, value = ""): string {
  let text = "";
  for (let number = 0xfffff; text.length + 12 < bytes; number--)
    text += `${number.toString(16)}${value}${between}`;
  return text.slice(0, -1);
}

/** A header that is well-formed, of an unknown key, with a signature that has to be computed to be refused. */
function unknownKey(more = ""): string {
  const timestamp = Math.floor(Date.now() / 1_000);
  return `Authorization: OAuth oauth_consumer_key="k",oauth_token="t",oauth_nonce="n",oauth_timestamp="${timestamp}",oauth_signature_method="HMAC-SHA1",oauth_signature="AAAAAAAAAAAAAAAAAAAAAAAAAAA%3D"${more}`;
}

function request(target: string, headers: readonly string[], body: string | Buffer = ""): Buffer {
  const length = body.length === 0 ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`POST ${target} HTTP/1.1`, "Host: x", "Connection: close", ...headers, ...length, "", ""];
  return Buffer.concat([Buffer.from(head.join("\r\n"), "latin1"), Buffer.from(body)]);
}

const KINDS: Readonly<Record<string, () => Buffer>> = {
  "nothing but a request line": () => request(ORDERS, []),
  "a wrong signature": () => request(ORDERS, [unknownKey()]),
  "a form of 1 MB, many parameters": () => request(ORDERS, [FORM, unknownKey()], parameters(1_000_000, "&")),
  "a form of 16 kB, many parameters": () => request(ORDERS, [FORM, unknownKey()], parameters(16_384, "&")),
  "a form of 16 kB, one parameter to encode": () => request(ORDERS, [FORM, unknownKey()], "!".repeat(16_384)),
  "a form of 16 kB, 200 parameters to encode": () =>
    request(ORDERS, [FORM, unknownKey()], `${"!".repeat(80)}&`.repeat(200).slice(0, -1)),
  "a form that is compressed": () =>
    request(ORDERS, [FORM, "Content-Encoding: gzip", unknownKey()], gzipSync(parameters(1_000_000, "&"))),
  "another body of 1 MB": () =>
    request(ORDERS, ["Content-Type: text/xml", unknownKey()], "x".repeat(1_000_000)),
  "a target of 30 kB, many parameters": () => request(`${ORDERS}?${parameters(30_000, "&")}`, [unknownKey()]),
  "a target of 30 kB, one parameter to encode": () =>
    request(`${ORDERS}?${"!".repeat(30_000)}`, [unknownKey()]),
  "a target and a form, as long as may be": () =>
    request(`${ORDERS}?${"!".repeat(30_000)}`, [FORM, unknownKey()], "!".repeat(16_384)),
  "a path of 30 kB": () => request(`/v1/${"%41/".repeat(7_500)}`, [unknownKey()]),
  "a signature header of 30 kB, many parameters": () =>
    request(ORDERS, [unknownKey(`,${parameters(29_000, ",", '=""')}`)]),
  "a signature header of 30 kB, one parameter": () =>
    request(ORDERS, [unknownKey(`,x="${"!".repeat(29_000)}"`)]),
  "2,000 headers": () => request(ORDERS, [unknownKey(), ...Array<string>(2_000).fill("X: abc")]),
  "500 headers of one name": () => request(ORDERS, [unknownKey(), ...Array<string>(500).fill("Accept: abc")]),
  "60 kB of header": () => request(ORDERS, [`X: ${"a".repeat(60_000)}`]),
  "no HTTP": () => Buffer.alloc(16_384, 0xff),
};

/** Prints what each kind costs. @returns whether none costs more than it may */
export async function hostileRequests(service: Server): Promise<boolean> {
  const { port } = new URL(service.baseUrl);
  const costs = new Map<string, number[]>(Object.keys(KINDS).map((kind) => [kind, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [kind, make] of Object.entries(KINDS)) {
      const before = service.cpuMs();
      for (let sent = 0; sent < REQUESTS; sent++) await exchange(Number(port), make());
      // The first round warms the service up.
      if (round > 0) costs.get(kind)?.push((service.cpuMs() - before) / REQUESTS);
    }
  }
  let dearest = 0;
  for (const [kind, ms] of costs) {
    dearest = Math.max(dearest, median(ms));
    console.log(`${kind.padEnd(46)}${median(ms).toFixed(2).padStart(8)} ms`);
  }
  console.log(`dearest ${dearest.toFixed(2)} ms (target < ${MOST_MS} ms)`);
  return dearest < MOST_MS;
}

/** Sends a request on a connection of its own and waits for its end. */
function exchange(port: number, text: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    socket.resume();
    socket.write(text);
  });
}
