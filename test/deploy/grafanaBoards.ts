/** The dashboards for Grafana: their files, and what Grafana makes of a file that it imports. */
import { readdirSync } from "node:fs";
import { fileText } from "./files.ts";

type Reference = { type: string; uid: string };
/** A query of a panel: `rawSql` and its format, or PromQL in `expr` with its legend. */
type Target = {
  refId: string;
  datasource: Reference;
  format: string;
  rawSql: string;
  expr: string;
  legendFormat: string;
  instant: boolean;
};
type Panel = {
  id: number;
  type: string;
  title: string;
  datasource: Reference;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: Target[];
};
type Variable = {
  name: string;
  type: string;
  query: string;
  datasource?: Reference;
  current: { text?: string | string[]; value?: string | string[] };
};
type Input = { name: string; type: string; pluginId: string; description: string };

/** A dashboard as its file has it. */
export type Board = {
  __inputs: Input[];
  __requires: { type: string; id: string }[];
  time: { from: string; to: string };
  uid: string;
  title: string;
  timezone: string;
  schemaVersion: number;
  panels: Panel[];
  templating: { list: Variable[] };
};

/** Where they are. */
export const DIR = "deploy/grafana/dashboards";

/** All dashboards, by the names of their files. */
export const boards = readdirSync(new URL(`../../${DIR}`, import.meta.url)).map((name) => ({
  name,
  dashboard: JSON.parse(fileText(`${DIR}/${name}`)) as Board,
}));

/** The dashboards that ask data sources of one kind. */
export const boardsOn = (pluginId: string) =>
  boards.filter(({ dashboard }) => dashboard.__inputs[0]?.pluginId === pluginId);

/**
 * A dashboard as Grafana's import stores it: the data source that somebody has chosen stands wherever `${NAME}` of an input stood.
 * A variable of another name stays (`pkg/services/dashboardimport/utils/dash_template_evaluator.go` in grafana/grafana).
 *
 * @param chosen uids of data sources, by the names of inputs
 */
export function imported(dashboard: Board, chosen: Readonly<Record<string, string>>): Board {
  const { __inputs, __requires, ...kept } = dashboard;
  const text = JSON.stringify(kept).replace(/\$\{(.+?)\}/g, (match, name: string) => chosen[name] ?? match);
  return { __inputs: [], __requires: [], ...(JSON.parse(text) as typeof kept) };
}

/**
 * The uid of the data source that a dashboard opens with: the one with the variable's value as its uid, else the one with its text as
 * its name, else the first (`MultiValueVariable.ts` in grafana/scenes).
 *
 * @param present the data sources that Grafana has
 */
export function opensWith(
  { templating }: Board,
  present: readonly { uid: string; name: string; type: string }[],
): string | undefined {
  const variable = templating.list.find(({ type }) => type === "datasource");
  const offered = present.filter(({ type }) => type === variable?.query);
  return (
    offered.find(({ uid }) => uid === variable?.current.value) ??
    offered.find(({ name }) => name === variable?.current.text) ??
    offered[0]
  )?.uid;
}
