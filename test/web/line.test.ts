import { expect, test } from "@jest/globals";
import { answered, beginLine, broke, heard, type Line, look } from "../../src/web/app/lib/line.ts";

const BEGAN = Date.parse("2026-11-20T15:00:00Z");
const S = 1_000;

/** A page at a clock that the test moves. It looks every second, as the page does. */
function pageAt(beginMs = BEGAN) {
  let line = beginLine(beginMs);
  let nowMs = beginMs;
  const looks = (): void => void (line = look(line, nowMs));
  return {
    hears: () => void (line = heard(line, nowMs)),
    isAnswered: () => void (line = answered(line, nowMs)),
    breaks: () => void (line = broke(line, nowMs)),
    /** @param atEach what comes each second, before the page looks */
    passes: (seconds: number, atEach: () => void = () => undefined) => {
      for (let second = 0; second < seconds; second++) {
        nowMs += S;
        atEach();
        looks();
      }
    },
    /** The clock moves, and the page does not look. */
    jumps: (seconds: number) => void (nowMs += seconds * S),
    looks,
    get sight(): Line["sight"] {
      return line.sight;
    },
    get heardAgo(): number | null {
      return line.heardMs === null ? null : (nowMs - line.heardMs) / S;
    },
  };
}

/** A page that has heard its server for ten seconds. */
function livePage(): ReturnType<typeof pageAt> {
  const page = pageAt();
  page.passes(10, page.hears);
  return page;
}

test("a server that falls silent makes the numbers old after 5 s, and is away after 15 s", () => {
  const page = livePage();
  const seen = Array.from({ length: 16 }, () => (page.passes(1), page.sight));

  expect(seen).toEqual([
    ...Array<string>(4).fill("live"),
    ...Array<string>(10).fill("stale"),
    "away",
    "away",
  ]);
  expect(page.heardAgo).toBe(16);
});

test("a server that ended is away 3 s after the first question that could not be sent; one that is heard before that was never away", () => {
  const ended = livePage();
  ended.breaks();
  ended.passes(2);
  const before = ended.sight;
  ended.passes(1);
  const restarted = livePage();
  restarted.breaks();
  restarted.passes(2);
  restarted.hears();
  restarted.passes(5, restarted.hears);

  expect([before, ended.sight, restarted.sight]).toEqual(["live", "away", "live"]);
});

test("a page that was never answered is old after 5 s and away after 15 s, or 3 s after a question could not be sent", () => {
  const silent = pageAt();
  silent.passes(4);
  const seen = [silent.sight];
  silent.passes(1);
  seen.push(silent.sight);
  silent.passes(10);
  const refused = pageAt();
  refused.breaks();
  refused.passes(3);

  expect([...seen, silent.sight, refused.sight]).toEqual(["connecting", "stale", "away", "away"]);
  expect(silent.heardAgo).toBeNull();
});

test("a server that answers other questions is not away, but only the Now view makes the page live", () => {
  const page = livePage();
  page.breaks();
  page.passes(60, page.isAnswered);
  const answering = page.sight;
  page.passes(15);
  const silent = page.sight;
  page.isAnswered();

  expect([answering, silent, page.sight]).toEqual(["stale", "away", "stale"]);
});

test("after a sleep the numbers are old at once, and the server is away if it stays silent for 5 s more", () => {
  const page = livePage();
  page.jumps(8 * 3_600);
  page.looks();
  const awake = [page.sight, page.heardAgo];
  page.passes(4);
  const listening = page.sight;
  page.passes(1);

  expect(awake).toEqual(["stale", 8 * 3_600]);
  expect([listening, page.sight]).toEqual(["stale", "away"]);
});

test("after a sleep a server that is there is live with its first answer, and was never away", () => {
  const page = livePage();
  page.jumps(8 * 3_600);
  page.looks();
  page.hears();
  page.passes(10, page.hears);

  expect(page.sight).toBe("live");
});

test("a page whose answers arrive while its timers hardly run stays live", () => {
  const page = livePage();
  for (let minute = 0; minute < 60; minute++) {
    page.jumps(60);
    page.hears();
    page.looks();
  }

  expect(page.sight).toBe("live");
});

test("a clock that is set back by an hour hides no silence", () => {
  const page = livePage();
  page.passes(3);
  page.jumps(-3_600);
  page.looks();
  page.passes(2);
  const old = page.sight;
  page.passes(10);

  expect([old, page.sight]).toEqual(["stale", "away"]);
});

test("a server that was away stays so through a sleep, until it is heard", () => {
  const page = livePage();
  page.passes(20);
  page.jumps(3_600);
  page.looks();
  const slept = page.sight;
  page.hears();
  page.looks();

  expect([slept, page.sight]).toEqual(["away", "live"]);
});
