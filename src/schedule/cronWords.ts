/** A cron expression in words. */
import cronstrue from "cronstrue";

/** `At 10:00 and 14:00, Monday through Friday`; what has no words, such as `@hourly`, as it is written. */
export function cronWords(expression: string): string {
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true });
  } catch {
    return expression;
  }
}
