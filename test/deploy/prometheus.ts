/** A real Prometheus on loopback, where Debian's package is installed. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stringify } from "yaml";
import { yamlOf } from "./files.ts";

type ScrapeConfig = { job_name: string; static_configs: { targets: string[] }[] };

/** The series of an answer: labels, and each value that it has in the range asked. */
export type Series = { labels: Record<string, string>; values: number[] };

/** Whether it can be started here. */
export const prometheusIsHere = spawnSync("prometheus", ["--version"], { stdio: "ignore" }).status === 0;

/** How often it scrapes, in place of every 15 s: a test waits for it. A busy machine has so long for an answer. */
const SCRAPE_EVERY = "2s";

/** Longer than any test. */
const LOOK_BACK_S = 600;

/**
 * Starts it with the scrape configuration that is shipped, but for target and interval.
 *
 * @param target host and port of a running quotekeeper
 * @param dir an empty directory for its files
 */
export async function startPrometheus(target: string, dir: string) {
  const [shipped] = yamlOf<{ scrape_configs: ScrapeConfig[] }>(
    "deploy/prometheus/prometheus.yml",
  ).scrape_configs;
  const timing = { scrape_interval: SCRAPE_EVERY, scrape_timeout: SCRAPE_EVERY };
  const scrape = { ...shipped, ...timing, static_configs: [{ targets: [target] }] };
  writeFileSync(join(dir, "prometheus.yml"), stringify({ scrape_configs: [scrape] }));
  const child = spawn(
    "prometheus",
    [
      `--config.file=${join(dir, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(dir, "data")}`,
      "--web.listen-address=127.0.0.1:0",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const ended = once(child, "close");
  const address = await addressIn(child.stderr);

  const ask = async (path: string, parameters: Record<string, string>): Promise<unknown> => {
    const response = await fetch(
      `http://${address}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`,
    );
    const answer = (await response.json()) as { status: string; error?: string; data: unknown };
    if (answer.status !== "success")
      throw new Error(`Prometheus refuses ${parameters["query"]}: ${answer.error}`);
    return answer.data;
  };

  return {
    /** What a query gives now. */
    now: async (query: string): Promise<Series[]> => {
      const { result } = (await ask("query", { query })) as Vector;
      return result.map(({ metric, value }) => ({ labels: metric, values: [Number(value[1])] }));
    },
    /** What a query gives for a graph that ends now. */
    graph: async (query: string): Promise<Series[]> => {
      const end = Date.now() / 1_000;
      const range = { start: String(end - LOOK_BACK_S), end: String(end), step: "1" };
      const { result } = (await ask("query_range", { query, ...range })) as Matrix;
      return result.map(({ metric, values }) => ({
        labels: metric,
        values: values.map(([, value]) => Number(value)),
      }));
    },
    /** The values of a label in the series that a selector finds. */
    labelValues: async (selector: string, label: string): Promise<string[]> =>
      (await ask(`label/${label}/values`, { "match[]": selector })) as string[],
    close: async (): Promise<void> => {
      child.kill();
      await ended;
    },
  };
}

/** What its API gives of a query at one moment, and over a range. */
type Vector = { result: { metric: Record<string, string>; value: [number, string] }[] };
type Matrix = { result: { metric: Record<string, string>; values: [number, string][] }[] };

/** Host and port that it has chosen, from its log. */
async function addressIn(log: NodeJS.ReadableStream): Promise<string> {
  const said: string[] = [];
  return new Promise((resolve, reject) => {
    const lines = createInterface(log);
    lines.on("line", (line) => {
      said.push(line);
      const [, address] = /msg="Listening on" address=(\S+)/.exec(line) ?? [];
      if (address) resolve(address);
    });
    lines.on("close", () => reject(new Error(`Prometheus ended:\n${said.join("\n")}`)));
  });
}
