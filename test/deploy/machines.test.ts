import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { METRICS, type MetricName } from "../../src/web/monitoring/definitions.ts";
import { VARIABLE_NAMES } from "../../src/config/environment.ts";
import { tempDir } from "../support/tempDir.ts";
import { fileText, yamlOf } from "./files.ts";

type Rule = {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string };
};

const promtool = (...args: string[]) =>
  spawnSync("promtool", args, { cwd: fileURLToPath(new URL(".", import.meta.url)), encoding: "utf8" });
const whereInstalled = (promtool("--version").status === 0 ? test : test.skip) as typeof test;

describe("the alert rules", () => {
  const { groups } = yamlOf<{ groups: { name: string; rules: Rule[] }[] }>("deploy/prometheus/alerts.yml");
  const rules = groups.flatMap((group) => group.rules);

  test("have names of their own, a severity and a sentence each", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { labels, annotations } of rules) {
      expect(["page", "ticket"]).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(20);
    }
  });

  test("of what is an account's name it, or are of all accounts together", () => {
    const own = rules.filter(({ annotations }) => annotations.summary.includes("$labels.account"));
    const ofAccounts = /quotekeeper_(?:calls|misses|budget|account|slot_lateness|last_quotes)_\w+/;

    expect(own.length).toBeGreaterThanOrEqual(6);
    for (const rule of rules.filter(({ expr }) => ofAccounts.test(expr)))
      expect({
        rule: rule.alert,
        is: own.includes(rule) || /(?:sum|max) by \(instance\)/.test(rule.expr),
      }).toEqual({
        ...{ rule: rule.alert, is: true },
      });
  });

  whereInstalled("say of one account and of several what Prometheus' own tool expects of them", () => {
    const { status, stdout, stderr } = promtool("test", "rules", "alerts.rules-test.yml");

    expect({ status, said: stdout + stderr }).toMatchObject({ status: 0 });
  });

  whereInstalled("and the scrape configuration pass Prometheus' own check as they are shipped", () => {
    const { status, stdout, stderr } = promtool("check", "config", "../../deploy/prometheus/prometheus.yml");

    expect({ status, said: stdout + stderr }).toEqual({
      status: 0,
      said: expect.stringContaining(`SUCCESS: ${rules.length} rules found`),
    });
  });

  test.each(rules.map(({ alert, expr }) => [alert, expr]))(
    "%s asks metrics and labels that there are",
    (_alert, expr = "") => {
      const asked = [...expr.matchAll(/(quotekeeper_\w+)(?:\{([^}]*)\})?/g)];

      for (const [, series = "", selector = ""] of asked) {
        const definition = METRICS[series.replace(/_(bucket|sum|count)$/, "") as MetricName];
        expect({ series, known: definition !== undefined }).toEqual({ series, known: true });
        for (const [, label = "", values = ""] of selector.matchAll(/(\w+)=~?"([^"]*)"/g)) {
          const allowed = (definition.labels as Record<string, readonly string[] | string> | undefined)?.[
            label
          ];
          expect({ series, label, known: allowed !== undefined }).toEqual({ series, label, known: true });
          if (Array.isArray(allowed)) for (const value of values.split("|")) expect(allowed).toContain(value);
        }
      }
      expect([...expr].filter((each) => each === "(").length).toBe(
        [...expr].filter((each) => each === ")").length,
      );
    },
  );
});

test("the systemd unit sets variables that the program knows, each secret from a credential of its own", () => {
  const unit = fileText("deploy/systemd/quotekeeper.service");
  const set = [...unit.matchAll(/^#?Environment=(\w+)=(\S+)$/gm)].map(([, name = "", value = ""]) => ({
    name,
    value,
  }));
  const credentials = [...unit.matchAll(/^#?LoadCredential=(\w+):/gm)].map(([, name]) => name);

  // The others are for Node and for the C library.
  for (const { name, value } of set.filter((one) => !/^(NODE|MALLOC)_/.test(one.name))) {
    expect(VARIABLE_NAMES).toContain(name.replace(/_FILE$/, ""));
    if (name.endsWith("_FILE")) expect(credentials).toContain(value.replace("%d/", ""));
  }
  expect(set.filter(({ name }) => name.endsWith("_FILE"))).toHaveLength(credentials.length);
});

test("the script for commands beside the unit gives them the unit's settings, and each secret as a file", () => {
  const unit = fileText("deploy/systemd/quotekeeper.service");
  const [home, script] = [tempDir(), fileText("deploy/systemd/quotekeeper")];
  mkdirSync(join(home, "secrets"));
  writeFileSync(join(home, "secrets", "database_url"), "");
  writeFileSync(join(home, "env"), 'QUOTES_LIMIT=50\nQUOTEKEEPER_ATTRIBUTION="Quotes by Example"\n');
  const moved = script
    .replaceAll("/etc/quotekeeper/secrets", join(home, "secrets"))
    .replaceAll("/etc/quotekeeper/env", join(home, "env"));
  const program = "/usr/bin/node /opt/quotekeeper/bin/quotekeeper.js";

  expect(unit).toContain(`ExecStart=${program} start`);
  const printed = execFileSync("sh", ["-c", moved.replace(program, "printenv #")], {
    env: {},
    encoding: "utf8",
  });

  const plain = [...unit.matchAll(/^Environment=(?!.*%d)(.+)$/gm)].map(([, line]) => line);
  expect(plain.length).toBeGreaterThan(2);
  for (const line of [
    ...plain,
    `DATABASE_URL_FILE=${join(home, "secrets", "database_url")}`,
    "QUOTES_LIMIT=50",
  ])
    expect(printed.split("\n")).toContain(line);
  expect(printed).toContain("QUOTEKEEPER_ATTRIBUTION=Quotes by Example\n");

  // Without its secrets a command would work on another database.
  chmodSync(join(home, "secrets"), 0o000);
  const stranger = process.geteuid?.() === 0 ? { uid: 64_322 } : {};
  chmodSync(home, 0o755);
  const refused = spawnSync("sh", ["-c", moved, "sh", "status"], { env: {}, encoding: "utf8", ...stranger });
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringContaining("run `sudo -u quotekeeper quotekeeper status`"),
  ]);
});
