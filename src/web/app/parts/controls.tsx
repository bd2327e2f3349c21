/** What something is chosen with: a list, names side by side, a field for a date. */
import { useEffect, useRef } from "preact/hooks";
import { parameter, setParameters } from "../lib/router.ts";

type SelectProps = {
  label?: string;
  value: string;
  options: readonly { value: string; name: string }[];
  choose: (value: string) => void;
};

/** A list of which one is chosen. */
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

const FORMS = {
  date: { placeholder: "YYYY-MM-DD", pattern: "\\d{4}-\\d\\d-\\d\\d", size: 10 },
  moment: { placeholder: "YYYY-MM-DD HH:MM", pattern: "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d", size: 16 },
} as const;

type DateFieldProps = {
  label: string;
  form: keyof typeof FORMS;
  value: string;
  choose: (typed: string) => boolean;
};

/**
 * A field for a date, or a day and time, as all dates are written here: a browser's own field has its language's form.
 *
 * @param value what stands in the field: `2026-11-20`, `2026-11-20 09:31`, or the empty text
 * @param choose is given what was typed; false: there is no such time, and the field says so
 */
export function DateField({ label, form, value, choose }: DateFieldProps) {
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
        {...FORMS[form]}
        maxLength={FORMS[form].size}
        title={FORMS[form].placeholder}
        onInput={({ currentTarget }) => currentTarget.setCustomValidity("")}
        onChange={({ currentTarget }) => {
          const isTime = currentTarget.validity.valid && choose(currentTarget.value.trim());
          currentTarget.setCustomValidity(isTime ? "" : `Expected ${FORMS[form].placeholder}.`);
          if (!isTime) currentTarget.reportValidity();
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
