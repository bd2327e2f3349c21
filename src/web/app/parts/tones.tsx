/** What the colours of a picture's parts mean, with how much there is of each. */

/** The colour of a part, which the style sheet names. */
export const colorOf = (tone: string): string => `var(--tone-${tone}, var(--dim))`;

type ToneLegendProps = {
  tones: readonly { tone: string; name: string; text: string }[];
  choose?: (tone: string) => void;
  chosen?: string;
};

/** What the parts mean, with how much there is of each. @param choose what a click on one does */
export function ToneLegend({ tones, choose, chosen = "" }: ToneLegendProps) {
  return (
    <ul class="tones row small" aria-label="Colours">
      {tones.map(({ tone, name, text }) => {
        const label = (
          <>
            <i style={{ "--tone": colorOf(tone) }} aria-hidden="true" /> {name} <b>{text}</b>
          </>
        );
        return (
          <li key={tone}>
            {choose ? (
              <button class="plain" aria-pressed={tone === chosen} onClick={() => choose(tone)}>
                {label}
              </button>
            ) : (
              label
            )}
          </li>
        );
      })}
    </ul>
  );
}
