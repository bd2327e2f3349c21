/** What something is chosen with: a list, names side by side, a field for a date. */
import { useEffect, useRef } from "preact/hooks";
import { parameter, setParameters } from "../lib/router.ts";

type SelectProps = {
  label: string;
  value: string;
  options: readonly { value: string; name: string }[];
  choose: (value: string) => void;
};

export function Select({ label, value, options, choose }: SelectProps) {
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

type SegmentsProps<Name extends string> = {
  label: string;
  names: readonly { name: Name; label?: string }[];
  chosen: Name | undefined;
  choose: (name: Name) => void;
};

/** A few names of which one is chosen, side by side. @param chosen the one that is pressed */
export function Segments<Name extends string>({ label, names, chosen, choose }: SegmentsProps<Name>) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {names.map(({ name, label: title }) => (
        <button key={name} title={title} aria-pressed={name === chosen} onClick={() => choose(name)}>
          {name}
        </button>
      ))}
    </div>
  );
}

const DATE_FORM = {
  placeholder: "YYYY-MM-DD",
  title: "YYYY-MM-DD",
  pattern: "\\d{4}-\\d\\d-\\d\\d",
  size: 10,
};

type DateFieldProps = { label: string; value: string; choose: (typed: string) => boolean };

/**
 * A field for a date as all dates are written here: a browser's own field has its language's form.
 *
 * @param value `2026-11-20`, or the empty text
 * @param choose is given what was typed; false: there is no such date, and the field says so
 */
export function DateField({ label, value, choose }: DateFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  // A range that moves with the clock leaves alone what somebody types.
  useEffect(() => {
    if (field.current && field.current !== document.activeElement) field.current.value = value;
  }, [value]);
  return (
    <label class="date row small dim">
      {label}
      <input
        type="text"
        inputmode="numeric"
        autocomplete="off"
        defaultValue={value}
        ref={field}
        {...DATE_FORM}
        maxLength={DATE_FORM.size}
        onInput={({ currentTarget }) => currentTarget.setCustomValidity("")}
        onChange={({ currentTarget }) => {
          const isDate = currentTarget.validity.valid && choose(currentTarget.value.trim());
          currentTarget.setCustomValidity(isDate ? "" : `Expected ${DATE_FORM.placeholder}.`);
          if (!isDate) currentTarget.reportValidity();
        }}
      />
    </label>
  );
}

/** Searches the instruments of a view; the address holds what for. */
export function SearchField({ placeholder }: { placeholder: string }) {
  return (
    <input
      type="search"
      aria-label="Search instruments"
      placeholder={placeholder}
      value={parameter("search")}
      onInput={(event) => setParameters({ search: event.currentTarget.value }, { step: false })}
    />
  );
}
