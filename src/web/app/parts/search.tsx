/** A field that finds an instrument of the archive by its name. */
import { quoteList } from "../lib/store.ts";

/** The field. `choose` is given the instrument's name. */
export function InstrumentSearch({
  label,
  placeholder,
  choose,
}: {
  label: string;
  placeholder: string;
  choose: (name: string) => void;
}) {
  const names = [...new Set((quoteList.value ?? []).map(({ instrument }) => instrument))];
  return (
    <>
      <input
        type="search"
        list="instruments"
        aria-label={label}
        placeholder={placeholder}
        onChange={(event) => {
          const name = event.currentTarget.value.trim();
          if (name !== "") choose(name);
        }}
      />
      <datalist id="instruments">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
