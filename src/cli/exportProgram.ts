/** The command line of `quotekeeper export`. */
import { type Command, Option } from "commander";
import { EXPORT_TABLES } from "../archive/export/tables.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { parseDate, parseSymbols } from "./arguments.ts";
import type { Edges } from "../run/edges.ts";
import type { ExportRequest } from "./export.ts";

type Run = (work: (config: Config) => Promise<number>) => Promise<void>;

type Options = Pick<ExportRequest, "format" | "out" | "raw" | "replace" | "json"> & {
  from?: string;
  to?: string;
  symbols?: string[];
  tables?: string[];
};

/** Adds the command. */
export function addExport(program: Command, run: Run, edges: Edges): void {
  const named = (wanted: boolean): string =>
    EXPORT_TABLES.filter(({ byDefault }) => byDefault === wanted)
      .map(({ name }) => name)
      .join(", ");
  program
    .command("export")
    .description("the archive as files for other engines, a directory for each exchange date")
    .addOption(
      new Option("--format <format>", "what to write").choices(["parquet", "csv"]).makeOptionMandatory(),
    )
    .requiredOption("--out <directory>", "where to; it appears when all of it is written")
    .addOption(
      new Option("--from <date>", "first exchange date, YYYY-MM-DD; default: the first there is").argParser(
        parseDate,
      ),
    )
    .addOption(
      new Option("--to <date>", "last exchange date, YYYY-MM-DD; default: the last there is").argParser(
        parseDate,
      ),
    )
    .addOption(
      new Option("--symbols <list>", "only these symbols and their options, separated by commas").argParser(
        parseSymbols,
      ),
    )
    .addOption(
      new Option(
        "--tables <list>",
        `tables, separated by commas, or all; default: ${named(true)}; further: ${named(false)}`,
      ).argParser((text: string) => parseSymbols(text)),
    )
    .option(
      "--replace",
      "exchange a finished export that is at --out; anything else there is left alone",
      false,
    )
    .option("--raw", "texts of CSV exactly as they are, those too that a spreadsheet runs as formulas", false)
    .option("--json", "print JSON", false)
    .action(({ from, to, symbols, tables, ...options }: Options, command: Command) => {
      if (from !== undefined && to !== undefined && from > to)
        command.error(`error: --from ${from} is later than --to ${to}`, { exitCode: 2 });
      if (options.raw && options.format !== "csv")
        command.error("error: --raw is for --format csv; Parquet always has the exact texts", {
          exitCode: 2,
        });
      return run(async (config) =>
        (await import("./export.ts")).exportFiles(config, edges, {
          ...options,
          ...{ from: from ?? null, to: to ?? null, symbols: symbols ?? null, tables: tables ?? null },
        }),
      );
    });
}
