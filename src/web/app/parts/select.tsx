/** A list of which one is chosen. */
export function Select({
  label,
  value,
  options,
  choose,
}: {
  label?: string;
  value: string;
  options: readonly { value: string; name: string }[];
  choose: (value: string) => void;
}) {
  return (
    <select aria-label={label} value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.name}
        </option>
      ))}
    </select>
  );
}
