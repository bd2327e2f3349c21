/** A field for a date, or a day and time, as all dates are written here: a browser's own field has its language's form. */
import { useEffect, useRef } from "preact/hooks";

const FORMS = {
  date: { placeholder: "YYYY-MM-DD", pattern: "\\d{4}-\\d\\d-\\d\\d", size: 10 },
  moment: { placeholder: "YYYY-MM-DD HH:MM", pattern: "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d", size: 16 },
} as const;

/**
 * @param value what stands in the field: `2026-11-20`, `2026-11-20 09:31`, or the empty text
 * @param choose is given what was typed; false: there is no such time, and the field says so
 */
export function DateField({
  label,
  form,
  value,
  choose,
}: {
  label: string;
  form: keyof typeof FORMS;
  value: string;
  choose: (typed: string) => boolean;
}) {
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
