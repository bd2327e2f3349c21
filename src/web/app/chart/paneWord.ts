/** A word in the upper left of a pane, behind what is drawn there. */
import type { IPanePrimitive, IPanePrimitivePaneView, PaneAttachedParameter, Time } from "lightweight-charts";
import { FONT } from "./look.ts";

/** Room to the left of it and above it, px. */
const ROOM = 8;

/** `size`: of its letters, px. */
type Word = { text: string; color: string; size: number };

export class PaneWord implements IPanePrimitive<Time> {
  #word: Word = { text: "", color: "", size: 0 };
  #update: (() => void) | null = null;
  readonly #views: IPanePrimitivePaneView[] = [
    {
      zOrder: () => "bottom",
      renderer: () => ({
        draw: (target) => target.useMediaCoordinateSpace(({ context }) => write(context, this.#word)),
      }),
    },
  ];

  attached({ requestUpdate }: PaneAttachedParameter<Time>): void {
    this.#update = requestUpdate;
  }

  paneViews(): readonly IPanePrimitivePaneView[] {
    return this.#views;
  }

  say(word: Word): void {
    this.#word = word;
    this.#update?.();
  }
}

function write(context: CanvasRenderingContext2D, { text, color, size }: Word): void {
  context.font = `${size}px ${FONT}`;
  context.fillStyle = color;
  context.textBaseline = "top";
  context.fillText(text, ROOM, ROOM);
}
