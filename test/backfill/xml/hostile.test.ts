/** Archives that want to be unpacked: nothing of them ever reaches the disk but answers, through the journal. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { tempDir } from "../../support/tempDir.ts";
import { run } from "../../cli/edges.ts";
import { backfillWorld } from "../world.ts";
import { directoryOf, lasts, rawTar, rawZip, saved, zipOf } from "./saved.ts";

/** Every file below a directory, with a digest of its content. */
function everything(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(dir, name)).isFile())
    .map(
      (name) =>
        `${name} ${createHash("sha256")
          .update(readFileSync(join(dir, name)))
          .digest("hex")}`,
    )
    .sort();
}

test("names that point elsewhere are names and nothing more, in zip and tar: their answers come in, no file is made", async () => {
  const world = await backfillWorld();
  const place = tempDir();
  const outside = join(place, "20261118T143200Z.xml");
  const zip = await rawZip([
    ["xx/xx/20261118T143000Z.xml", "../../20261118T143000Z.xml", saved({ AAPL: "1" })],
    ["x/20261118T143100Z.xml", "//20261118T143100Z.xml", saved({ AAPL: "2" })],
  ]);
  const tar = rawTar([
    { path: outside, content: saved({ AAPL: "3" }) },
    { path: "../../20261118T143300Z.xml", content: saved({ AAPL: "4" }) },
  ]);

  const { exitCode } = await run(["backfill", "--xml", zip, tar], world.env);

  expect(exitCode).toBe(0);
  expect(await lasts(world.pool)).toEqual([
    "11-18 14:30:00.000000 AAPL 1",
    "11-18 14:31:00.000000 AAPL 2",
    "11-18 14:32:00.000000 AAPL 3",
    "11-18 14:33:00.000000 AAPL 4",
  ]);
  expect(existsSync(outside)).toBe(false);
  expect(everything(join(zip, ".."))).toHaveLength(1);
  expect(everything(join(tar, ".."))).toHaveLength(1);
});

test("links and devices in a tar file are passed over, and what they point to is never read", async () => {
  const world = await backfillWorld();
  const secret = join(directoryOf([["secret.xml", saved({ AAPL: "9" })]]), "secret.xml");
  const tar = rawTar([
    { path: "20261118T143000Z.xml", type: "SymbolicLink", linkpath: secret },
    { path: "20261118T143100Z.xml", type: "Link", linkpath: secret },
    { path: "20261118T143200Z.xml", type: "CharacterDevice" },
    { path: "20261118T143300Z.xml", type: "FIFO" },
    { path: "20261118T143400Z.xml", content: saved({ AAPL: "1" }) },
  ]);

  await run(["backfill", "--xml", tar], world.env);

  expect(await lasts(world.pool)).toEqual(["11-18 14:34:00.000000 AAPL 1"]);
});

test("bombs are given up as soon as no answer is so large, and what stands beside them comes in", async () => {
  const world = await backfillWorld();
  const bomb = Buffer.alloc(60_000_000, " ");
  const zip = await zipOf([
    ["20261118T143000Z.xml", bomb],
    ["20261118T143100Z.xml.gz", gzipSync(bomb)],
    ["20261118T143200Z.xml", saved({ AAPL: "1" })],
  ]);

  const { exitCode, stdout } = await run(["backfill", "--xml", zip, "--json"], world.env);

  expect(exitCode).toBe(1);
  expect(await lasts(world.pool)).toEqual(["11-18 14:32:00.000000 AAPL 1"]);
  const { remarks } = JSON.parse(stdout) as { remarks: string[] };
  expect(remarks).toContainEqual(expect.stringMatching(/^Unread {4}2: .*no answer is larger than 8388608/));
});
