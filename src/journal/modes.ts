import { sep } from "node:path";

/**
 * The bits of a file's mode that let others in.
 *
 * @param bits those that are asked about, such as 0o022: who may write besides the owner
 * @param separator of the system's paths; default: this one's
 * @returns 0 on Windows, which has no such modes and shows every file as open to everybody
 */
export function openToOthers(mode: number, bits: number, separator: string = sep): number {
  return separator === "/" ? mode & bits & 0o077 : 0;
}
