/** The users of this machine, by /etc/passwd. A user of a directory service alone is known by number. */
import { readFileSync, type Stats, statSync } from "node:fs";

type User = { name: string; uid: number; gid: number };

export function userNamed(name: string): User | null {
  return users().find((user) => user.name === name) ?? null;
}

/** A user's name, or `#1000` for one without: `sudo -u` and people understand both. */
export function nameOf(uid: number): string {
  return users().find((user) => user.uid === uid)?.name ?? `#${uid}`;
}

function users(): User[] {
  let text = "";
  try {
    text = readFileSync("/etc/passwd", "utf8");
  } catch {
    // Windows has none.
  }
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = "", gid = ""] = line.split(":");
    return /^\d+$/.test(uid) && /^\d+$/.test(gid) ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/**
 * What to add to an error about a path: whose file it is, and how to give it back.
 *
 * @returns empty where that is not what is wrong
 */
export function ownerNote(path: string, cause: unknown): string {
  const { code = "" } = Object(cause) as NodeJS.ErrnoException;
  const own = process.geteuid?.();
  const found = ["EACCES", "EPERM"].includes(code) ? lookedAt(path) : null;
  if (own === undefined || found === null || found.uid === own) return "";
  const chown = found.isDirectory() ? ["chown", "-R"] : ["chown"];
  const command = ["sudo", ...chown, nameOf(own), path].map(shellWord).join(" ");
  return `, it belongs to ${nameOf(found.uid)}: \`${command}\` gives it back`;
}

function lookedAt(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/** A word of a command, quoted for a POSIX shell where it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
