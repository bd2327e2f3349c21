/** Implementations of OAuth 1.0 by other people, in other languages, as clients of a service of ours. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Where the protocol parameters stand. */
export type Place = "header" | "query" | "body";

/** A key, in the words of `serve --key`. */
export type ClientKey = { consumerKey: string; consumerSecret: string; token: string; tokenSecret: string };

/** A call a client makes; `parameters` of a GET are its query, of a POST its form. */
export type ClientCall = {
  method: "GET" | "POST";
  path: string;
  parameters: (readonly [name: string, value: string])[];
  place: Place;
  /** Parts of the key that differ. */
  key?: Partial<ClientKey>;
};

/** What a client got. */
export type ClientAnswer = { status: number; body: string };

/** A client that can be run. */
export type Client = {
  name: string;
  /** False: it is not installed. */
  isThere: boolean;
  run: (base: string, key: ClientKey, calls: readonly ClientCall[]) => Promise<ClientAnswer[]>;
};

/** A client's script, and what runs it. */
export type Program = {
  name: string;
  /** Interpreters to try, the system's own first: another one may be before it in the path. */
  interpreters: readonly string[];
  probe: readonly string[];
  script: string;
};

const PROGRAMS: readonly Program[] = [
  {
    name: "requests-oauthlib (Python)",
    interpreters: ["/usr/bin/python3", "python3"],
    probe: ["-c", "import requests_oauthlib"],
    script: "python.py",
  },
  {
    name: "Net::OAuth with LWP (Perl)",
    interpreters: ["/usr/bin/perl", "perl"],
    probe: ["-MNet::OAuth", "-MLWP::UserAgent", "-MJSON::PP", "-e", "1"],
    script: "perl.pl",
  },
  {
    name: "ruby-oauth (Ruby)",
    interpreters: ["/usr/bin/ruby", "ruby"],
    probe: ["-e", 'require "oauth"; require "json"'],
    script: "ruby.rb",
  },
  {
    name: "PECL oauth (PHP)",
    interpreters: ["/usr/bin/php", "php"],
    probe: ["-r", 'exit(class_exists("OAuth") ? 0 : 1);'],
    script: "php.php",
  },
];

/** A line that names the clients that are not installed; empty when all are. */
export function leftOut(clients: readonly Client[]): string {
  const missing = clients.filter(({ isThere }) => !isThere).map(({ name }) => name);
  return missing.length === 0 ? "" : `Left out, because not installed: ${missing.join(", ")}.\n`;
}

/** Every client, those that are not installed as well. */
export function findClients(programs: readonly Program[] = PROGRAMS): Client[] {
  return programs.map(({ name, interpreters, probe, script }) => {
    const interpreter = interpreters.find((path) => spawnSync(path, probe, { stdio: "ignore" }).status === 0);
    const path = fileURLToPath(new URL(script, import.meta.url));
    return {
      name,
      isThere: interpreter !== undefined,
      run: async (base, key, calls) => {
        const child = spawn(interpreter ?? "", [path], { stdio: ["pipe", "pipe", "pipe"] });
        const written = { stdout: "", stderr: "" };
        child.stdout.on("data", (chunk: Buffer) => (written.stdout += chunk.toString("latin1")));
        child.stderr.on("data", (chunk: Buffer) => (written.stderr += chunk.toString("latin1")));
        child.stdin.end(JSON.stringify({ base, key, calls }));
        const [code] = (await once(child, "close")) as [number];
        if (code !== 0) throw new Error(`${name} ended with ${code}: ${written.stderr}`);
        return JSON.parse(Buffer.from(written.stdout, "latin1").toString("utf8")) as ClientAnswer[];
      },
    };
  });
}
