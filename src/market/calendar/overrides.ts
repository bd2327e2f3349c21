/**
 * The operator's own word on single days, `jobs/calendar.yaml`. It wins over every rule here, so that a closure
 * announced this morning needs no new release.
 */
import { z } from "zod";
import { isDateText } from "./dates.ts";

/** `HH:MM`, after the opening and not after the regular close. */
const closeTime = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: "expected HH:MM, for example 13:00", abort: true })
  .refine((time) => time > "09:30" && time <= "16:00", "a session can close from 09:31 to 16:00");

const calendarOverrideSchema = z
  .strictObject({
    date: z
      .string()
      .refine(isDateText, "expected a date that exists, YYYY-MM-DD")
      .describe("Exchange date, YYYY-MM-DD."),
    kind: z
      .enum(["closed", "early", "regular"])
      .describe("closed: no session. early: a session that ends at `close`. regular: 09:30 to 16:00."),
    close: closeTime
      .optional()
      .describe("When the session ends, HH:MM in New York; early only; default 13:00."),
    reason: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Why. `quotekeeper calendar` shows it of early closes, `quotekeeper plan --date` of closed days.",
      ),
  })
  .refine(({ kind, close }) => close === undefined || kind === "early", {
    path: ["close"],
    message: "only a day of kind early has a close",
  });

export type CalendarOverride = z.infer<typeof calendarOverrideSchema>;

/** `jobs/calendar.yaml`: each date at most once. */
export const calendarFileSchema = z.strictObject({
  overrides: z
    .array(calendarOverrideSchema)
    .superRefine((overrides, context) => {
      const seen = new Set<string>();
      overrides.forEach(({ date }, index) => {
        if (seen.has(date)) {
          context.addIssue({ code: "custom", path: [index, "date"], message: `${date} is given twice` });
        }
        seen.add(date);
      });
    })
    .default([])
    .describe("Days on which the exchange differs from the rules of this program."),
});
