/** Every generated page: where it lies, and its text. */
import { format } from "prettier";
import { fileURLToPath } from "node:url";
import { accountsPage } from "./accounts.ts";
import { assumptionsPage, readAssumptions } from "./assumptions.ts";
import { commandsPage } from "./commands.ts";
import { configurationPage, environmentExample } from "./configuration.ts";
import { errorsPage } from "./errors.ts";
import { jobsPage } from "./jobs.ts";
import { metricsPage } from "./metrics.ts";
import { jsonPage, jsonSchemaFile } from "./json.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A generated file; the path starts at the top of the checkout. */
export type Page = { path: string; text: string };

/** All of them, as they should be. */
export async function generatePages(): Promise<Page[]> {
  const markdown = async (path: string, text: string): Promise<Page> => ({
    path,
    text: await format(text, { parser: "markdown", printWidth: 110 }),
  });
  return [
    await markdown("docs/configuration.md", configurationPage()),
    { path: ".env.example", text: environmentExample() },
    await markdown("docs/jobs.md", jobsPage()),
    await markdown("docs/accounts.md", accountsPage()),
    await markdown("docs/errors.md", errorsPage()),
    await markdown("docs/cli.md", await commandsPage()),
    await markdown("docs/metrics.md", metricsPage()),
    await markdown("docs/json.md", jsonPage()),
    {
      path: "docs/json.schema.json",
      text: await format(jsonSchemaFile(), { parser: "json", printWidth: 110 }),
    },
    await markdown("docs/assumptions.md", assumptionsPage(readAssumptions(ROOT))),
  ];
}
