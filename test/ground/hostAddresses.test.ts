/** Addresses of hosts by a lookup that a test answers when it likes, in time that it moves. */
import { type AddressInfo, createServer } from "node:net";
import { afterAll, expect, test } from "@jest/globals";
import { createHostAddresses, socketTo } from "../../src/ground/hostAddresses.ts";
import { type Stepped, steppedClock } from "../support/steppedClock.ts";

const [OLD, NEW] = [[{ address: "192.0.2.7", family: 4 }], [{ address: "2001:db8::7", family: 6 }]];
const HOST = "quotes.example";

type Asked = { hostname: string; answer: (addresses: typeof OLD) => void; fail: (error: Error) => void };

function lookingUp(): { addresses: ReturnType<typeof createHostAddresses>; asked: Asked[]; time: Stepped } {
  const time = steppedClock();
  const asked: Asked[] = [];
  const lookup = (hostname: string) =>
    new Promise<typeof OLD>((answer, fail) => void asked.push({ hostname, answer, fail }));
  return { addresses: createHostAddresses(lookup, time.clock), asked, time };
}

/** One whose first lookup was good. */
async function knowing(): Promise<ReturnType<typeof lookingUp>> {
  const made = lookingUp();
  const first = made.addresses(HOST);
  made.asked[0]?.answer(OLD);
  await first;
  return made;
}

test("a host is looked up once at a time for all who ask, and again for who asks later", async () => {
  const { addresses, asked } = lookingUp();

  const [one, two, other] = [addresses(HOST), addresses(HOST), addresses("db.example")];
  expect(asked.map(({ hostname }) => hostname)).toEqual([HOST, "db.example"]);
  asked.forEach(({ answer }) => answer(OLD));
  expect(await Promise.all([one, two, other])).toEqual([OLD, OLD, OLD]);

  const later = addresses(HOST);
  asked[2]?.answer(NEW);
  expect(await later).toEqual(NEW);
});

test("a lookup that takes over two seconds is stood in for by the last good one, until it is answered", async () => {
  const { addresses, asked, time } = await knowing();

  const slow = addresses(HOST);
  time.step();
  expect(await slow).toEqual(OLD);
  expect(time.clock.monotonicMs()).toBe(2_000);
  // It goes on: nobody waits for it twice, and no other is begun.
  expect(await addresses(HOST)).toEqual(OLD);
  expect(asked).toHaveLength(2);
  expect(time.clock.monotonicMs()).toBe(2_000);

  asked[1]?.answer(NEW);
  await new Promise((resolve) => setImmediate(resolve));
  const after = addresses(HOST);
  time.step();
  expect(await after).toEqual(NEW);
});

test("a lookup that fails is stood in for by the last good one, which never stands in for an answer", async () => {
  const { addresses, asked } = await knowing();

  const failed = addresses(HOST);
  asked[1]?.fail(new Error("no name server"));
  expect(await failed).toEqual(OLD);

  const fresh = addresses(HOST);
  asked[2]?.answer(NEW);
  expect(await fresh).toEqual(NEW);
});

test("a host that was never found fails as the lookup does, and after eight seconds without an answer", async () => {
  const { addresses, asked, time } = lookingUp();

  const failed = addresses(HOST);
  asked[0]?.fail(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }));
  await expect(failed).rejects.toMatchObject({ code: "ENOTFOUND" });

  const silent = addresses(HOST);
  time.step();
  await expect(silent).rejects.toMatchObject({ code: "LOOKUP_TIMEOUT" });
  expect(time.clock.monotonicMs()).toBe(8_000);
});

test("an address needs no lookup", async () => {
  const { addresses, asked } = lookingUp();

  expect(await addresses("192.0.2.7")).toEqual(OLD);
  expect(await addresses("2001:db8::7")).toEqual(NEW);
  expect(asked).toEqual([]);
});

const server = createServer((socket) => socket.end());
afterAll(() => void server.close());

test("a socket takes the next address of a host where one does not answer, of either family", async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  // Nobody listens on ::1.
  const socket = socketTo(async () => [
    { address: "::1", family: 6 },
    { address: "127.0.0.1", family: 4 },
  ]);
  const connected = new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.connect(port, HOST);

  await connected;
  expect(socket.remoteAddress).toBe("127.0.0.1");
  socket.destroy();
});
