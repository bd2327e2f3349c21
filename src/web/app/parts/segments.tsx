/** A few names of which one is chosen, side by side. @param chosen the one that is pressed */
export function Segments<Name extends string>({
  label,
  names,
  chosen,
  choose,
}: {
  label: string;
  names: readonly { name: Name; label?: string }[];
  chosen: Name | undefined;
  choose: (name: Name) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {names.map(({ name, label: title }) => (
        <button
          key={name}
          type="button"
          title={title}
          aria-pressed={name === chosen}
          onClick={() => choose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
