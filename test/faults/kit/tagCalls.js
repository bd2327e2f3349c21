/**
 * Loaded before the program (`--import`): its calls bear the name that TAG_CALLS says, so that a service that several
 * collectors call knows whose each is.
 */
import { channel } from "node:diagnostics_channel";

channel("undici:request:create").subscribe((message) => {
  const { request } = /** @type {{ request: { addHeader: (name: string, value: string) => void } }} */ (
    message
  );
  request.addHeader("x-collector", process.env["TAG_CALLS"] ?? "");
});
