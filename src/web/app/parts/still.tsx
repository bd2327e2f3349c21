/** The mark of a quote that stands still while the session runs. */
import { exchangeMoment } from "../lib/format.ts";

/** @param since when bid and ask were made, ISO 8601 */
export function Still({ since }: { since: string }) {
  return (
    <abbr class="tag still" title={stillText(since)}>
      still
    </abbr>
  );
}

export function stillText(since: string): string {
  return `stands still: bid and ask are of ${exchangeMoment(since)}`;
}
