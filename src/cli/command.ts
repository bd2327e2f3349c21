/** How a command's file adds its arguments and its work to the program. */
import type { Command } from "commander";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges } from "../ground/edges.ts";

/** What a command does to directories that one user owns (ground/oneOwner.ts). Default: the command writes to the data directory. */
export type Touches = {
  /** The command leaves them as they are: then the modes of the files decide who may run it. */
  readsOnly?: boolean;
  /** The command waits by itself for a clock that is right. */
  waitsForClock?: boolean;
  /** The lake that the command writes to; undefined: none. */
  lake?: (config: Config) => string;
};

export type Cli = {
  edges: Edges;
  /** Reads the settings, refuses users who do not own the directories, and runs the work, which returns the exit code. */
  run: (work: (config: Config) => Promise<number>, touches?: Touches) => Promise<void>;
  /** Sets the exit code of work that needs no settings. */
  done: (exitCode: number) => void;
};

export type AddCommand = (command: Command, cli: Cli) => void;

export const EXIT_CODES = "\nExit codes: 0 done, 1 something needs a person, 2 wrong usage or configuration.";
