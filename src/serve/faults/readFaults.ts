/** Reads faults from a text, `latency=200ms..2s,429=5%,truncate=2%,500=1%,skew=11s,reorder`, or from a YAML file. */
import { existsSync } from "node:fs";
import { parsePlainYaml } from "../../config/yamlFile.ts";
import { QuotekeeperError } from "../../errors.ts";
import { cutText } from "../../outsideText.ts";
import { readTextFileSync } from "../../plainFiles.ts";
import { CHANCE_FAULTS, type ChanceFault, FAULT_TABLE, type FaultConfig } from "./faults.ts";

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

const MAX_LATENCY_MS = 600_000;
const MAX_SKEW_MS = 86_400_000;

function parseFaults(text: string): { ok: true; faults: FaultConfig } | { ok: false; problems: string[] } {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry): [string, string | null] => {
      const divider = entry.indexOf("=");
      return divider < 0 ? [entry, null] : [entry.slice(0, divider).trim(), entry.slice(divider + 1).trim()];
    });
  return faultsOf(entries);
}

function faultsOf(
  entries: readonly (readonly [name: string, value: string | null])[],
): ReturnType<typeof parseFaults> {
  const problems: string[] = [];
  const values = new Map<string, string | null>();
  for (const [name, value] of entries) {
    if (!Object.hasOwn(FAULT_TABLE, name)) problems.push(`there is no fault "${cutText(name, 40)}"`);
    else if (values.has(name)) problems.push(`${name} is given twice`);
    values.set(name, value);
  }
  if (entries.length === 0) problems.push("no fault is named");
  const read = <T>(name: string, none: T, reader: (value: string | null) => T | null): T => {
    const value = values.get(name);
    if (value === undefined) return none;
    const result = reader(value);
    if (result === null) problems.push(`${name} takes ${FAULT_TABLE[name]?.form}, not "${value ?? ""}"`);
    return result ?? none;
  };
  const faults: FaultConfig = {
    latencyMs: read("latency", { from: 0, to: 0 }, readRange),
    shares: Object.fromEntries(CHANCE_FAULTS.map((name) => [name, read(name, 0, readShare)])) as Record<
      ChanceFault,
      number
    >,
    reorder: read("reorder", 0, (value) => (value === null ? 1 : readShare(value))),
    skewMs: read("skew", 0, readSkew),
    headerSkewMs: read("header-skew", 0, readSkew),
  };
  return problems.length === 0 ? { ok: true, faults } : { ok: false, problems };
}

/** `5%` or `0.05`. */
function readShare(value: string | null): number | null {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(value ?? "");
  const share = Number(match?.[1]) / (match?.[2] === "%" ? 100 : 1);
  return match && share <= 1 ? share : null;
}

/** `200ms..2s`, or one duration. */
function readRange(value: string | null): { from: number; to: number } | null {
  const [from = null, to = from, ...more] = (value ?? "").split("..").map(readDuration);
  if (from === null || to === null || more.length > 0 || from > to || to > MAX_LATENCY_MS) return null;
  return { from, to };
}

function readSkew(value: string | null): number | null {
  const sign = value?.startsWith("-") ? -1 : 1;
  const skewMs = readDuration((value ?? "").replace(/^[+-]/, ""));
  return skewMs === null || skewMs > MAX_SKEW_MS ? null : sign * skewMs;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `200ms`, `2s`, `1.5m`, as ms; null for anything else. */
function readDuration(text: string): number | null {
  const match = /^(\d{1,8}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text.trim());
  return match ? Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0) : null;
}
