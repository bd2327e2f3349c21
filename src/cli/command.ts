/** How a command's file puts its arguments and its work into the program. */
import type { Command } from "commander";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges } from "../run/edges.ts";

/** What a command does to the directories that one user owns (run/oneOwner.ts). Default: it writes to the data directory. */
export type Touches = {
  /** It leaves everything as it is. */
  readsOnly?: boolean;
  /** The same, and its results go where the caller may write: root stays root. */
  asCaller?: boolean;
  /** The lake that it writes to; undefined: none. */
  lake?: (config: Config) => string;
};

/** What its work is given. */
export type Cli = {
  edges: Edges;
  /** Reads the settings, becomes the owner of the directories where root has to, and runs the work, which gives the exit code. */
  run: (work: (config: Config) => Promise<number>, touches?: Touches) => Promise<void>;
  /** Takes the exit code of work that needs no settings. */
  done: (exitCode: number) => void;
  /** The whole program, with all its commands loaded. */
  whole: () => Promise<Command>;
};

/** Adds options, arguments and the action to the command of its name. */
export type AddCommand = (command: Command, cli: Cli) => void;

/** What every help text ends with. */
export const EXIT_CODES = "\nExit codes: 0 done, 1 something needs a person, 2 wrong usage or configuration.";
