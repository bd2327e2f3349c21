/** A chart as a picture: what is drawn, below a line that says of what, and in which colours. */
import type { Caption } from "../lib/drawing.ts";
import type { ChartColors } from "./look.ts";

/** Heights and margins, px of the page. */
const LINE = 22;
const MARGIN = 10;

/** @param canvas the chart, in pixels of the screen */
export function pictureOf(
  canvas: HTMLCanvasElement,
  { title, simulated, lines }: Caption,
  { colors, font, ratio }: { colors: ChartColors; font: string; ratio: number },
): HTMLCanvasElement {
  const picture = document.createElement("canvas");
  const above = (lines.length > 0 ? 2 : 1) * LINE + MARGIN;
  picture.width = canvas.width;
  picture.height = canvas.height + above * ratio;
  const context = picture.getContext("2d");
  if (!context) return canvas;
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(canvas, 0, above * ratio);
  context.scale(ratio, ratio);
  context.textBaseline = "middle";
  const write = (text: string, [x, y]: [number, number], color: keyof ChartColors): number => {
    context.fillStyle = colors[color];
    context.fillText(text, x, y);
    return x + context.measureText(text).width + 2 * MARGIN;
  };
  context.font = `600 13px ${font}`;
  const y = MARGIN + LINE / 2 - 3;
  const behind = simulated ? write("SIMULATED", [MARGIN, y], "sim") : MARGIN;
  write(title, [behind, y], "ink");
  context.font = `12px ${font}`;
  lines.reduce((x, { text, color }) => write(text, [x, y + LINE], color), MARGIN);
  return picture;
}

/** Gives a picture to whoever looks at it, as a file. */
export function download(picture: HTMLCanvasElement, name: string): Promise<void> {
  return new Promise((resolve, reject) =>
    picture.toBlob((blob) => {
      if (!blob) return reject(new Error("the browser makes no picture of this chart"));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      // The browser has taken it over by the next turn.
      setTimeout(() => URL.revokeObjectURL(link.href));
      resolve();
    }),
  );
}
