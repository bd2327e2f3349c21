/** What `export --json` prints. */
import { z } from "zod";
import { manifestSchema } from "../../export/manifest.ts";

/** `export --json`: the manifest, and where it lies. */
export const exportJson = z.strictObject({
  out: z.string().describe("The export's directory."),
  ...manifestSchema.shape,
});
