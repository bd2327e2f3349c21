/** Text of outside is cut between characters and cleaned of what no database holds, in one place. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { cleanText, cutText, inShort, jsonText, quotedText } from "../../src/ground/outsideText.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

/** Any text that JavaScript has: halves of characters and the character 0 among them. */
const anyText = fc.string({
  unit: fc.constantFrom("a", "\\", '"', "u", "0", "\0", "\ud83d", "\ude00", "\u{1f600}", "\n", "\u{fffd}"),
  maxLength: 60,
});

test("a text is cut behind as many units as it may have, or behind one less where a character would be halved", () => {
  expect(cutText("abc", 3)).toBe("abc");
  expect(cutText("abcd", 3)).toBe("abc");
  expect(cutText("ab\u{1f600}d", 3)).toBe("ab");
  expect(cutText("ab\u{1f600}d", 4)).toBe("ab\u{1f600}");
  expect([inShort("abc", 3), inShort("abcd", 3)]).toEqual(["abc", "abc..."]);
});

test("U+FFFD stands for the character 0 and for halves of characters, and a quoted text has its escapes", () => {
  expect(cleanText("a\0b\ud83dc\u{1f600}\ude00")).toBe("a\ufffdb\ufffdc\u{1f600}\ufffd");
  expect(quotedText("A\0B", 9)).toBe('"A\\u0000B"');
  expect(quotedText("ab\u{1f600}", 3)).toBe('"ab..."');
  expect(jsonText({ "a\0": ["\\u0000", "\ud83d"] })).toBe('{"a\ufffd":["\\\\u0000","\ufffd"]}');
});

test("whatever a text holds, PostgreSQL takes its beginning as text and its JSON as jsonb, and gives them back", async () => {
  const { pool } = await freshDatabase({ migrated: false });
  const texts = fc.sample(fc.tuple(anyText, fc.nat({ max: 60 })), 2_000);

  const cut = texts.map(([text, most]) => cutText(text, most));
  const rows = await rowsOfQuery(
    pool,
    "select t, j from unnest($1::text[], $2::jsonb[]) with ordinality as u (t, j, n) order by n",
    [cut, texts.map(([text]) => jsonText({ [text]: [text] }))],
  );

  expect(rows.map(({ t }) => t)).toEqual(cut);
  expect(rows.map(({ j }) => j)).toEqual(texts.map(([text]) => ({ [cleanText(text)]: [cleanText(text)] })));
});

test("no other file cuts a text for a message", () => {
  const CUT = /["(]\$\{[\w.]+\.slice\(0, (?:\d+|[A-Z_]+)\)\}|\$\{[\w.]+\.slice\(0, [^)]*\)\}\.\.\./;
  const src = new URL("../../src/", import.meta.url).pathname;

  const cutting = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && CUT.test(readFileSync(join(src, file), "utf8")),
  );

  expect(cutting).toEqual([]);
});
