import { expect, test } from "@jest/globals";
import {
  answered,
  beginLine,
  broke,
  ended,
  heard,
  type Line,
  look,
  opening,
} from "../../src/web/app/lib/line.ts";

const BEGAN = Date.parse("2026-11-20T15:00:00Z");
const S = 1_000;

/** A page at a clock that the test moves. It looks every second, as the page does. */
function pageAt(beginMs = BEGAN) {
  let line = opening(beginLine(beginMs), beginMs);
  let nowMs = beginMs;
  const opened: number[] = [];
  const lookNow = (woken = false): void => {
    const looked = look(line, nowMs, { woken });
    line = looked.line;
    if (!looked.reopen) return;
    opened.push((nowMs - beginMs) / S);
    line = opening(line, nowMs);
  };
  return {
    /** Seconds after the begin at which a stream was opened again. */
    opened,
    hears: () => void (line = heard(line, nowMs)),
    isAnswered: () => void (line = answered(line, nowMs)),
    breaks: () => void (line = broke(line, nowMs)),
    isEnded: () => void (line = ended(line, nowMs)),
    /** @param atEach what comes each second, before the page looks */
    passes: (seconds: number, atEach: () => void = () => undefined) => {
      for (let second = 0; second < seconds; second++) {
        nowMs += S;
        atEach();
        lookNow();
      }
    },
    /** The clock moves, and the page does not look. */
    jumps: (seconds: number) => void (nowMs += seconds * S),
    looks: lookNow,
    wakes: () => lookNow(true),
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

test("a page that hears an event each second is live, and opens no other stream", () => {
  const page = livePage();

  expect([page.sight, page.opened]).toEqual(["live", []]);
});

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

test("a silent stream is opened again after 5 and 10 s, then every 10 s, until an event arrives", () => {
  const page = livePage();
  page.passes(46);
  const { opened } = page;
  page.hears();
  page.passes(20, page.hears);

  expect(opened).toEqual([15, 20, 30, 40, 50]);
  expect(page.sight).toBe("live");
});

test("a stream that breaks is opened again a second later, and then more and more seldom, every 4 s in the end", () => {
  const page = livePage();
  page.breaks();
  const each = (): void => {
    if (page.opened.length > broken) [broken] = [page.opened.length, page.breaks()];
  };
  let broken = 0;
  page.passes(20, each);

  expect(page.opened.slice(0, 5)).toEqual([11, 13, 16, 21, 26]);
});

test("a server that ended is away 3 s after its stream broke; a stream that is opened again before that says nothing", () => {
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

test("a page that was never answered is old after 5 s and away after 15 s, or 3 s after its stream was refused", () => {
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

test("a server that answers requests is not away, but only an event makes the page live", () => {
  const page = livePage();
  page.breaks();
  page.passes(60, () => page.opened.length % 2 === 0 && page.isAnswered());
  const answering = page.sight;
  page.passes(15);
  const silent = page.sight;
  page.isAnswered();

  expect([answering, silent, page.sight]).toEqual(["stale", "away", "stale"]);
});

test("after a sleep the numbers are old at once, the stream is opened again, and the server is away if it stays silent for 5 s more", () => {
  const page = livePage();
  page.jumps(8 * 3_600);
  page.looks();
  const awake = [page.sight, page.heardAgo];
  page.passes(4);
  const listening = page.sight;
  page.passes(1);

  expect(awake).toEqual(["stale", 8 * 3_600]);
  expect([listening, page.sight]).toEqual(["stale", "away"]);
  expect(page.opened[0]).toBe(10 + 8 * 3_600 + 1);
});

test("after a sleep a server that is there is live with its first event, and was never away", () => {
  const page = livePage();
  page.jumps(8 * 3_600);
  page.looks();
  page.hears();
  page.passes(10, page.hears);

  expect([page.sight, page.opened]).toEqual(["live", []]);
});

test("a page that was hidden for an hour tries a silent line at once when it is shown", () => {
  const page = livePage();
  for (let minute = 0; minute < 60; minute++) {
    page.jumps(60);
    page.looks();
  }
  page.jumps(20);
  page.wakes();

  expect(page.opened).toEqual([10 + 3_620]);
  expect(page.sight).toBe("stale");
});

test("a page whose events arrive while its timers hardly run stays live", () => {
  const page = livePage();
  for (let minute = 0; minute < 60; minute++) {
    page.jumps(60);
    page.hears();
    page.looks();
  }
  page.wakes();

  expect([page.sight, page.opened]).toEqual(["live", []]);
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

test("a page whose stream was ended for others shows old numbers, asks for a stream once a minute, and does not call its server away", () => {
  const page = livePage();
  page.isEnded();
  const sights = new Set<string>();
  let asked = 0;
  page.passes(150, () => {
    if (page.opened.length > asked) [asked] = [page.opened.length, page.isEnded()];
    if (page.opened.length === 0) page.wakes();
    sights.add(page.sight);
  });
  const before = page.opened;
  page.hears();

  expect([...sights]).toEqual(["stale"]);
  expect(before).toEqual([70, 131]);
  expect(page.sight).toBe("live");
});

test("a page whose stream was ended says that its server is away once that answers nothing any more", () => {
  const page = livePage();
  page.isEnded();
  page.passes(80);

  expect(page.sight).toBe("away");
});

test("a page that is shown while its first stream is being opened opens no second one, and tries again once that is late", () => {
  const page = pageAt();
  page.wakes();
  page.passes(1, page.wakes);
  const atOnce = [...page.opened];
  page.passes(4, page.wakes);

  expect(atOnce).toEqual([]);
  expect(page.opened.length).toBeGreaterThan(0);
});
