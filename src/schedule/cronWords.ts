import cronstrue from "cronstrue";

/** `At 10:00 and 14:00, Monday through Friday`; an expression without words, such as `@hourly`, stays as it is. */
export function cronWords(expression: string): string {
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true });
  } catch {
    return expression;
  }
}
