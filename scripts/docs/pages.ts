/** The generated pages: where each lies, and its text. */
import type pg from "pg";
import { format } from "prettier";
import { fileURLToPath } from "node:url";
import { accountsPage } from "./accounts.ts";
import { assumptionsPage, readAssumptions } from "./assumptions.ts";
import { columnsPage, readRelations } from "./columns.ts";
import { commandsPage } from "./commands.ts";
import { configurationPage, environmentExample } from "./configuration.ts";
import { errorsPage } from "./errors.ts";
import { jobsPage } from "./jobs.ts";
import { metricsPage } from "./metrics.ts";
import { jsonPage, jsonSchemaFile } from "./json.ts";
import { proofsPage, readProofs } from "./proofs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A generated file; the path starts at the top of the checkout. */
export type Page = { path: string; text: string };

/** All that are made from the code alone, as they should be. */
export async function generatePages(): Promise<Page[]> {
  return [
    await markdown("docs/configuration.md", configurationPage()),
    { path: ".env.example", text: environmentExample() },
    await markdown("docs/jobs.md", jobsPage()),
    await markdown("docs/accounts.md", accountsPage()),
    await markdown("docs/errors.md", errorsPage()),
    await markdown("docs/cli.md", await commandsPage()),
    await markdown("docs/metrics.md", metricsPage()),
    await markdown("docs/json.md", await jsonPage()),
    {
      path: "docs/json.schema.json",
      text: await format(await jsonSchemaFile(), { parser: "json", printWidth: 110 }),
    },
    await markdown("docs/makers/assumptions.md", assumptionsPage(readAssumptions(ROOT))),
    await markdown("test/proofs.md", proofsPage(readProofs(ROOT))),
  ];
}

/**
 * The page that a database says itself.
 *
 * @param pool of a migrated one
 */
export async function databasePage(pool: pg.Pool): Promise<Page> {
  return markdown("docs/columns.md", columnsPage(await readRelations(pool)));
}

async function markdown(path: string, text: string): Promise<Page> {
  return { path, text: await format(text, { parser: "markdown", printWidth: 110 }) };
}
