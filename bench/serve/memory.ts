/** Memory under load over minutes: flat, or growing. */
import { CREDENTIALS, targetsOf } from "./inputs.ts";
import { sendAll, signAll } from "./load.ts";
import type { Server } from "./server.ts";

/** What counts as flat, MB a minute, over the second half. */
const FLAT_MB_PER_MINUTE = 2;

/** Loads the service for so long and prints its memory. @returns whether it is flat */
export async function memoryOverTime(service: Server, minutes: number): Promise<boolean> {
  const begun = Date.now();
  const seen: { minute: number; mb: number }[] = [];
  let requests = 0;
  while (Date.now() - begun < minutes * 60_000) {
    const targets = [...targetsOf(1, 8_000), ...targetsOf(100, 800)];
    await sendAll(service, signAll(service.baseUrl, targets, CREDENTIALS));
    requests += targets.length;
    seen.push({ minute: (Date.now() - begun) / 60_000, mb: service.memoryMb() });
  }
  // Caches and the memory of nonces fill first; what counts is what comes after.
  const settled = seen.filter(({ minute }) => minute > minutes / 2);
  const slope = slopeOf(settled);
  const mbs = settled.map(({ mb }) => mb);
  console.log(
    `${requests} requests in ${minutes} min; second half: ${Math.min(...mbs).toFixed(0)} to ${Math.max(...mbs).toFixed(0)} MB, slope ${slope.toFixed(2)} MB/min (target < ${FLAT_MB_PER_MINUTE})`,
  );
  return slope < FLAT_MB_PER_MINUTE;
}

/** Least squares. */
function slopeOf(points: readonly { minute: number; mb: number }[]): number {
  const mean = (pick: (point: { minute: number; mb: number }) => number): number =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const [minute, mb] = [mean((point) => point.minute), mean((point) => point.mb)];
  const spread = points.reduce((sum, point) => sum + (point.minute - minute) ** 2, 0);
  return points.reduce((sum, point) => sum + (point.minute - minute) * (point.mb - mb), 0) / spread;
}
