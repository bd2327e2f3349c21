/** Times and spans as people say them. Pure. */

/** `45 s`, `12 min`, `17 h` or `3 days`. */
export function roughly(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** `2026-11-20 14:30:05`, in UTC. */
export function shortUtc(at: Date): string {
  return at.toISOString().slice(0, 19).replace("T", " ");
}
