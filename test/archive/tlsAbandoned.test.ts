/** The question whether a server offers TLS, asked again and again while it is away. */
import { getEventListeners } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { settleTls } from "../../src/archive/connect/tls.ts";
import { until } from "../support/until.ts";

const TLS = { mode: "prefer", options: {} } as Parameters<typeof settleTls>[0];

test("a database that is away for long leaves nothing behind at each attempt", async () => {
  const patience = { timeoutMs: 60_000, signal: new AbortController().signal };
  const closed = createServer().listen(0, "127.0.0.1");
  const { port } = await new Promise<AddressInfo>((resolve) =>
    closed.once("listening", () => resolve(closed.address() as AddressInfo)),
  );
  await new Promise((resolve) => closed.close(resolve));

  for (let attempt = 0; attempt < 20; attempt++)
    await expect(settleTls(TLS, { host: "127.0.0.1", port, shown: "it" }, patience)).rejects.toThrow(
      "ECONNREFUSED",
    );

  // The last socket closes a moment after it has said that it failed.
  await until(() => getEventListeners(patience.signal, "abort").length === 0, "no listener");
});

test("an abandoned attempt ends at once, also where the server is silent", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as AddressInfo;
  const abandoned = new AbortController();

  const asking = settleTls(
    TLS,
    { host: "127.0.0.1", port, shown: "it" },
    { timeoutMs: 60_000, signal: abandoned.signal },
  );
  silent.once("connection", () => abandoned.abort());
  await expect(asking).rejects.toThrow(/abort/);
  await new Promise((resolve) => silent.close(resolve));
});
