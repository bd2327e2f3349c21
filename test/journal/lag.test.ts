import { appendFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { journalLag } from "../../src/journal/lag.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { answer, freshDir, handClock, HOUR, open, upTo } from "./world.ts";

/** Six answers, in two segments. */
async function twoHours() {
  const dir = freshDir();
  const clock = handClock();
  const journal = await open(dir, { clock });
  const first = await Promise.all(upTo(3).map((n) => journal.append(answer(n))));
  clock.advance(HOUR);
  const second = await Promise.all(upTo(3).map((n) => journal.append(answer(3 + n))));
  await journal.close();
  return { dir, first, second };
}

test("the lag of a reader that has read everything is nothing", async () => {
  const { dir } = await twoHours();
  const readTo = new Map((await listSegments(dir)).map(({ name, bytes }) => [name, bytes ?? 0]));

  expect(await journalLag(dir, readTo)).toEqual({ bytes: 0, oldestAt: null });
});

test("a reader's lag is the bytes behind its positions, and the time of the oldest answer there", async () => {
  const { dir, first, second } = await twoHours();
  const [one, two] = [first[0], second[2]];
  const all = (second[2]?.end ?? 0) + (first[2]?.end ?? 0);

  const lag = await journalLag(dir, new Map([[one?.segment ?? "", one?.end ?? 0]]));
  const nearly = await journalLag(
    dir,
    new Map([...first, ...second.slice(0, 2)].map((p) => [p.segment, p.end])),
  );

  expect(lag).toEqual({ bytes: all - (one?.end ?? 0), oldestAt: answer(1).observedAt });
  expect(nearly).toEqual({ bytes: (two?.end ?? 0) - (two?.offset ?? 0), oldestAt: answer(5).observedAt });
});

test("the lag does not count a segment that its writer has taken back since it was listed", async () => {
  const { dir } = await twoHours();
  const [first, second] = await listSegments(dir);
  const files = (await readdir(dir)).filter((file) => file.startsWith(first?.name ?? "?"));
  for (const file of files) await rm(join(dir, file));

  const lag = await journalLag(dir, new Map([[second?.name ?? "", second?.bytes ?? 0]]), {
    segments: [first, second].filter((segment) => segment !== undefined),
  });

  expect(files).not.toEqual([]);
  expect(lag).toEqual({ bytes: 0, oldestAt: null });
});

test("the lag does not count the torn end that a killed writer left", async () => {
  const { dir, first, second } = await twoHours();
  const [segment] = (await listSegments(dir)).slice(-1);
  await appendFile(join(dir, segment?.path.split("/").at(-1) ?? ""), Buffer.alloc(100, 1));

  const lag = await journalLag(dir, new Map([...first, ...second].map((p) => [p.segment, p.end])));

  expect(lag).toEqual({ bytes: 0, oldestAt: null });
});
