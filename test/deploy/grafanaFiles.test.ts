/** The files of Grafana's dashboards: what they import, and which data source they open with. */
import { describe, expect, test } from "@jest/globals";
import { fileText, yamlOf } from "./files.ts";
import { boards, DIR, imported, opensWith } from "./grafanaBoards.ts";

const { datasources } = yamlOf<{
  datasources: { name: string; uid: string; type: string; user: string; secureJsonData: object }[];
}>("deploy/grafana/provisioning/datasources/quotekeeper.yaml");

test("there are three dashboards, collection health, market view and metrics, and a provider that reads their directory", () => {
  const { providers } = yamlOf<{ providers: { options: { path: string } }[] }>(
    "deploy/grafana/provisioning/dashboards/quotekeeper.yaml",
  );

  expect(boards.map(({ name }) => name)).toEqual([
    "collection-health.json",
    "market-view.json",
    "metrics.json",
  ]);
  expect(new Set(boards.map(({ dashboard }) => dashboard.uid)).size).toBe(3);
  expect(fileText("docker-compose.yml")).toContain(`./${DIR}:${providers[0]?.options.path}:ro`);
});

test("all show the exchange's times, whatever zone the browser is in", () => {
  for (const { dashboard } of boards) expect(dashboard.timezone).toBe("America/New_York");
});

test("the data source reads as a role that can only read, with a password that stands in no file of ours", () => {
  expect(datasources).toHaveLength(1);
  expect(datasources[0]).toMatchObject({
    user: "quotekeeper_grafana",
    secureJsonData: { password: "$GF_QUOTEKEEPER_DB_PASSWORD" },
  });
  expect(fileText("docker-compose.yml")).toContain("GF_QUOTEKEEPER_DB_PASSWORD__FILE");
  expect(fileText("deploy/timescaledb/initdb/900_roles.sh")).toContain(
    "create role quotekeeper_grafana login password :'password' in role quotekeeper_reader",
  );
});

describe.each(boards)("$name", ({ dashboard }) => {
  const { panels, templating, schemaVersion, __inputs: inputs, __requires: requires } = dashboard;
  const [input] = inputs;

  test("has a schema version that Grafana migrates from, and panels that do not overlap", () => {
    expect(schemaVersion).toBeGreaterThanOrEqual(39);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { gridPos, title } of panels) {
      expect({ title, fits: gridPos.x + gridPos.w <= 24 }).toEqual({ title, fits: true });
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect({ title, place: `${x},${y}`, free: !taken.has(`${x},${y}`) }).toMatchObject({ free: true });
          taken.add(`${x},${y}`);
        }
      }
    }
  });

  test("asks the data source of its variable and no other", () => {
    const asked = [
      ...panels.flatMap((panel) => [panel.datasource, ...panel.targets.map(({ datasource }) => datasource)]),
      ...templating.list.flatMap(({ datasource }) => datasource ?? []),
    ];

    expect(new Set(asked.map(({ type, uid }) => `${type} ${uid}`))).toEqual(
      new Set([`${input?.pluginId} \${datasource}`]),
    );
    expect(templating.list[0]).toMatchObject({ name: "datasource", query: input?.pluginId });
  });

  test("says for its import which data source it needs, and which plugins", () => {
    expect(inputs).toEqual([expect.objectContaining({ type: "datasource", label: expect.any(String) })]);
    expect(input?.description).toMatch(/\.$/);
    expect(new Set(requires.map(({ type, id }) => `${type} ${id}`))).toEqual(
      new Set([
        "grafana grafana",
        `datasource ${input?.pluginId}`,
        ...panels.map(({ type }) => `panel ${type}`),
      ]),
    );
  });

  test("opens with the data source that was chosen at its import, also beside others of its kind", () => {
    const type = input?.pluginId ?? "";
    const present = ["first", "chosen", "quotekeeper"].map((name) => ({ name, uid: `uid-${name}`, type }));

    const here = imported(dashboard, { [input?.name ?? ""]: "uid-chosen" });

    expect(opensWith(here, present)).toBe("uid-chosen");
    expect(JSON.stringify(here)).not.toContain(input?.name);
    expect(here.panels).toEqual(panels);
  });

  test("opens with the provisioned data source of its kind where nobody has chosen one", () => {
    const type = input?.pluginId ?? "";
    const others = [
      { name: "another", uid: "another", type },
      { name: "quotekeeper", uid: "of another kind", type: "loki" },
    ];
    const own = datasources.filter((one) => one.type === type);

    expect(opensWith(dashboard, [...others, ...own])).toBe(own[0]?.uid ?? "another");
    expect(opensWith(dashboard, [])).toBeUndefined();
  });
});
