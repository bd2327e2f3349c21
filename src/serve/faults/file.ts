/** The faults of a command line: written there, or in a file. */
import { existsSync } from "node:fs";
import { parsePlainYaml } from "../../schedule/yamlFile.ts";
import { QuotekeeperError } from "../../errors.ts";
import { readTextFileSync } from "../../plainFiles.ts";
import { FAULT_TABLE, type FaultConfig, faultsOf, parseFaults } from "./faults.ts";

/**
 * Reads faults such as `latency=200ms..2s,429=5%,reorder`, or a YAML file with a line for each, `429: 5%`.
 *
 * @throws QuotekeeperError FAULTS_INVALID with every problem, and the faults there are
 */
export function readFaults(textOrFile: string): FaultConfig {
  const isFile = !textOrFile.includes("=") && existsSync(textOrFile);
  const read = isFile ? faultsOf(entriesIn(textOrFile)) : parseFaults(textOrFile);
  if (read.ok) return read.faults;
  const known = Object.entries(FAULT_TABLE).map(([name, { form }]) => `${name} (${form})`);
  throw new QuotekeeperError("FAULTS_INVALID", `${read.problems.join("; ")}. There are: ${known.join(", ")}`);
}

function entriesIn(file: string): [string, string | null][] {
  let content: unknown;
  try {
    content = parsePlainYaml(readTextFileSync(file).text);
  } catch (error) {
    // Without its cause: a parser's own message quotes the file, whatever that is.
    throw new QuotekeeperError(
      "FAULTS_INVALID",
      `${file} cannot be read (${(error as { code: string }).code})`,
    );
  }
  if (typeof content !== "object" || content === null || Array.isArray(content))
    throw new QuotekeeperError("FAULTS_INVALID", `${file} is no YAML map of faults`);
  return Object.entries(content).map(([name, value]) => [name, value === "" ? null : String(value)]);
}
