import { expect, test } from "@jest/globals";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  addKey,
  type KeyPlace,
  listKeys,
  type NewKey,
  openKeys,
  revokeKey,
} from "../../../src/serve/keys/keyStore.ts";
import { followKeys } from "../../../src/serve/keys/followKeys.ts";
import { createTestClock } from "../../support/clock.ts";
import { tempDir } from "../../support/tempDir.ts";

const place = (changes: Partial<KeyPlace> = {}): KeyPlace => ({
  dir: join(tempDir(), "serve"),
  clock: createTestClock(),
  ...changes,
});

const asked = (changes: Partial<NewKey> = {}): NewKey => ({
  label: null,
  access: "real-time",
  quoteLimit: null,
  ...changes,
});

const OWN = {
  consumerKey: "ck",
  token: "tk",
  secrets: { consumerSecret: "canary-consumer-secret", accessTokenSecret: "canary-token-secret" },
};

const fileOf = ({ dir }: KeyPlace) => join(dir, "keys.json");
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("an added key has names and secrets of its own, and opens to what was shown", async () => {
  const where = place();

  const { credentials } = await addKey(where, asked({ access: "delayed", quoteLimit: 5 }));

  expect(new Set(Object.values(credentials)).size).toBe(4);
  expect(openKeys(where)).toEqual([{ ...credentials, access: "delayed", quoteLimit: 5 }]);
});

test("an added key has no name that a command line takes for an option", async () => {
  const clock = createTestClock();
  // 62, the dash of base64url, in the first six bits.
  const dashed = (length: number) => Uint8Array.from(clock.random(length)).fill(0xf8, 0, 1);
  const where = place({ clock: { ...clock, random: dashed } });

  const { credentials } = await addKey(where, asked());

  for (const word of Object.values(credentials)) expect(word).toMatch(/^_[\w-]{23}$/);
});

test("an added key may be another token of a known consumer, whose secret stays", async () => {
  const where = place();
  await addKey(where, asked(OWN));

  const { credentials } = await addKey(where, asked({ consumerKey: "ck" }));

  expect(credentials.consumerSecret).toBe(OWN.secrets.consumerSecret);
  expect(credentials.accessToken).not.toBe("tk");
  expect(openKeys(where)).toHaveLength(2);
});

test.each<[string, Partial<NewKey>, RegExp]>([
  ["a token", { token: "tk" }, /that token already/],
  ["a label", { label: "mine" }, /the label mine already/],
  [
    "a consumer key with another secret",
    { ...OWN, token: "new", secrets: { consumerSecret: "x", accessTokenSecret: "y" } },
    /another secret/,
  ],
])("a key that is added is refused when %s is taken, and nothing changes", async (_what, second, message) => {
  const where = place();
  await addKey(where, asked({ ...OWN, label: "mine" }));
  const before = readFileSync(fileOf(where), "utf8");

  const outcome = addKey(where, asked(second));

  await expect(outcome).rejects.toMatchObject({ code: "USAGE", message: expect.stringMatching(message) });
  expect(readFileSync(fileOf(where), "utf8")).toBe(before);
});

test("no key is lost when several are added at once", async () => {
  const where = place({ clock: { ...createTestClock(), sleep: () => new Promise(setImmediate) } });

  await Promise.all(["a", "b", "c", "d"].map((label) => addKey(where, asked({ label }))));

  expect(
    listKeys(where)
      .map(({ label }) => label)
      .sort(),
  ).toEqual(["a", "b", "c", "d"]);
  expect(readdirSync(where.dir).sort()).toEqual(["keys.json"]);
});

test("the file of keys is open to its owner alone", async () => {
  const where = place();

  await addKey(where, asked(OWN));

  expect([mode(fileOf(where)), mode(where.dir)]).toEqual(["600", "700"]);
  expect(readdirSync(where.dir)).toEqual(["keys.json"]);
});

test("the data directory, when it is made for them, stays open to the user of the embedded database", async () => {
  const where = place({ dir: join(tempDir(), "data", "serve") });

  await addKey(where, asked());

  expect(mode(join(where.dir, ".."))).not.toBe("700");
});

test("a file of keys that others can read is refused, with its mode", async () => {
  const where = place();
  await addKey(where, asked(OWN));
  chmodSync(fileOf(where), 0o644);

  expect(() => openKeys(where)).toThrow(/keys\.json is open to other users \(mode 644, not 600\).*chmod 600/);
  await expect(addKey(where, asked())).rejects.toMatchObject({ code: "KEYS_UNREADABLE" });
});

test("a file of sealed keys is refused by its name, and the error says to add the keys again", async () => {
  const where = place();
  await addKey(where, asked(OWN));
  writeFileSync(fileOf(where), JSON.stringify({ version: 1, salt: "c2FsdA", keys: [] }));

  expect(() => openKeys(where)).toThrow(
    /keys\.json holds sealed keys of an earlier version.*remove it and add the keys again/,
  );
});

test("a running service follows added and revoked keys at its next call, and keeps those of the run", async () => {
  const where = place();
  const ofRun = { consumerKey: "r", consumerSecret: "r", accessToken: "run", accessTokenSecret: "r" };
  const keys = followKeys(where, [ofRun], () => undefined);
  const tokens = () => keys().map(({ accessToken }) => accessToken);

  const seen = [tokens()];
  await addKey(where, asked({ token: "one", label: "first" }));
  seen.push(tokens());
  await addKey(where, asked({ token: "two" }));
  seen.push(tokens());
  await revokeKey(where, "first");
  seen.push(tokens());
  await revokeKey(where, "two");
  seen.push(tokens());

  expect(seen).toEqual([["run"], ["one", "run"], ["one", "two", "run"], ["two", "run"], ["run"]]);
});

test("a running service keeps its keys when the file is damaged, and says so once", async () => {
  const where = place();
  await addKey(where, asked(OWN));
  const problems: unknown[] = [];
  const keys = followKeys(where, [], (error) => problems.push(error));
  writeFileSync(fileOf(where), "{");

  expect([keys().length, keys().length]).toEqual([1, 1]);
  expect(problems).toMatchObject([{ code: "KEYS_UNREADABLE" }]);
});

test("a key that is not there cannot be revoked, and what was given is not repeated", async () => {
  const where = place();
  await addKey(where, asked(OWN));

  const outcome = revokeKey(where, "canary-unknown");

  await expect(outcome).rejects.toMatchObject({
    code: "USAGE",
    message: expect.not.stringContaining("canary"),
  });
  expect(listKeys(where)).toHaveLength(1);
});

test("what a killed command left of a file of keys is gone after the next change", async () => {
  const where = place();
  await addKey(where, asked(OWN));
  writeFileSync(`${fileOf(where)}.new`, "half of it");

  await addKey(where, asked());

  expect(listKeys(where)).toHaveLength(2);
  expect(readdirSync(where.dir).sort()).toEqual(["keys.json"]);
});

test("a lock that a killed command left behind is named with what to do", async () => {
  const where = place();
  await addKey(where, asked(OWN));
  writeFileSync(join(where.dir, "keys.lock"), "");

  const outcome = addKey(where, asked());

  await expect(outcome).rejects.toMatchObject({
    code: "KEYS_BUSY",
    message: expect.stringMatching(/keys\.lock is there.*left that file behind: remove it/s),
  });
});
