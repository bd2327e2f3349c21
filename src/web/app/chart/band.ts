/** The band between bid and ask. */

/** A place of the band, px; `apart`: the band does not reach it from the place before. */
type BandPlace = { x: number | null; bid: number | null; ask: number | null; apart?: boolean };

/** Draws one shape for each run of places that have both sides: a gap stays a gap. */
export function drawBand(
  context: CanvasRenderingContext2D,
  places: readonly BandPlace[],
  color: string,
): void {
  context.fillStyle = color;
  context.strokeStyle = color;
  context.lineWidth = 1;
  let run: { x: number; bid: number; ask: number }[] = [];
  const flush = (): void => {
    if (run.length > 0) {
      context.beginPath();
      run.forEach(({ x, ask }, index) => (index === 0 ? context.moveTo(x, ask) : context.lineTo(x, ask)));
      [...run].reverse().forEach(({ x, bid }) => context.lineTo(x, bid));
      context.closePath();
      context.fill();
      context.stroke();
    }
    run = [];
  };
  for (const { apart, x, bid, ask } of places) {
    if (apart) flush();
    if (x === null || bid === null || ask === null) flush();
    else run.push({ x, bid, ask });
  }
  flush();
}
