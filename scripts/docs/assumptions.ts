/**
 * docs/makers/assumptions.md, gathered from the code: every docstring that says `Assumed:`, with the constant or function it
 * stands above. So no assumption can be listed that is not made, or made and not listed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One guess about the service, and where it is made. */
export type Assumption = { file: string; name: string; text: string };

const INTRODUCTION = `# Assumptions

Where a service's specification is silent, the program guesses. Each guess is one named place in the code whose docstring
begins with "Assumed:"; this page is gathered from them.
`;

/** Every assumption below a folder, by file. */
export function readAssumptions(root: string, folder = "src"): Assumption[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .flatMap((name) => assumptionsOf(`${folder}/${name}`, readFileSync(join(root, folder, name), "utf8")));
}

/** The assumptions of one file's text. */
export function assumptionsOf(file: string, source: string): Assumption[] {
  return [...source.matchAll(/\/\*\*((?:(?!\*\/)[^])*?)\*\/\s*([^\n]*)/g)].flatMap(
    ([, comment = "", next = ""]) => {
      const text = comment.replace(/^\s*\* ?/gm, "").replace(/\s+/g, " ");
      const start = text.indexOf("Assumed:");
      if (start < 0) return [];
      const declared =
        /\b(?:const|function|class|type) (\w+)/.exec(next) ?? /^(?:readonly )?(\w+)/.exec(next);
      return [{ file, name: declared?.[1] ?? "", text: sentence(text.slice(start + "Assumed:".length)) }];
    },
  );
}

/** Up to the first tag, with a capital. */
function sentence(text: string): string {
  const plain = text.split(/ @(?:param|returns|throws)\b/)[0]?.trim() ?? "";
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

/** The page. */
export function assumptionsPage(assumptions: readonly Assumption[]): string {
  const files = [...new Set(assumptions.map(({ file }) => file))];
  const sections = files.map((one) =>
    [
      `## ${one}\n`,
      ...assumptions.filter(({ file }) => file === one).map(({ name, text }) => `- \`${name}\`: ${text}`),
      "",
    ].join("\n"),
  );
  return [INTRODUCTION, ...sections].join("\n");
}
