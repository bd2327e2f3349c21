/** Whether something grows: the line through samples by least squares. */

/** One sample: seconds since the start, and the value then. */
export type Sample = { seconds: number; value: number };

/**
 * The lowest sample of each stretch of time: what is in use after the garbage has been collected. Between two
 * collections memory goes up and down by more than a leak adds in an hour.
 */
export function floors(samples: readonly Sample[], stretchSeconds: number): Sample[] {
  const lowest = new Map<number, Sample>();
  for (const sample of samples) {
    const stretch = Math.floor(sample.seconds / stretchSeconds);
    if (sample.value < (lowest.get(stretch)?.value ?? Infinity)) lowest.set(stretch, sample);
  }
  return [...lowest.values()];
}

/** The slope per hour; 0 for fewer than two samples. */
export function slopePerHour(samples: readonly Sample[]): number {
  const count = samples.length;
  const meanOf = (pick: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + pick(sample), 0) / Math.max(1, count);
  const [meanSeconds, meanValue] = [meanOf(({ seconds }) => seconds), meanOf(({ value }) => value)];
  const covariance = meanOf(({ seconds, value }) => (seconds - meanSeconds) * (value - meanValue));
  const variance = meanOf(({ seconds }) => (seconds - meanSeconds) ** 2);
  return variance === 0 ? 0 : (3_600 * covariance) / variance;
}
