/** Several names of instruments in one parameter, with commas between. Pure. */

/** A comma or a backslash within a name has a backslash before it. */
export function joinNames(names: readonly string[]): string {
  return names.map((name) => name.replace(/[\\,]/g, "\\$&")).join(",");
}

/** The names of such a text, in their order. @returns of the empty text one empty name */
export function splitNames(text: string): string[] {
  // A sign after a backslash stands for itself; a backslash at the end does too.
  const pieces = text.match(/\\[^]|[^]/g) ?? [];
  const names = [""];
  for (const piece of pieces)
    if (piece === ",") names.push("");
    else names.push(`${names.pop() ?? ""}${piece.length > 1 ? piece.slice(1) : piece}`);
  return names;
}
