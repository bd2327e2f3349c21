import { expect, test } from "@jest/globals";
import { createTargetMemory } from "../../src/serve/authenticate.ts";

/** What follows from a target, and how often it was worked out. */
function counted() {
  const asked: string[] = [];
  const memory = createTargetMemory<number>();
  const answer = (target: string): number => {
    const known = memory.find(target);
    if (known !== undefined) return known;
    asked.push(target);
    memory.remember(target, target.length);
    return target.length;
  };
  return { asked, answer };
}

test("what follows from a target is worked out once", () => {
  const { asked, answer } = counted();

  expect(["/a?b", "/a?c", "/a?b"].map(answer)).toEqual([4, 4, 4]);
  expect(asked).toEqual(["/a?b", "/a?c"]);
});

test("long targets, and those that are signed in their query, take no room", () => {
  const { asked, answer } = counted();
  const long = `/a?${"b".repeat(3_000)}`;
  const signed = "/a?oauth_nonce=1";

  for (const target of [long, signed, long, signed]) answer(target);

  expect(asked).toEqual([long, signed, long, signed]);
});

test("the memory stays bounded however many targets are made up", () => {
  const { asked, answer } = counted();
  for (let made = 0; made < 1_001; made++) answer(`/${made}`);

  answer("/0");

  expect(asked).toHaveLength(1_002);
});
