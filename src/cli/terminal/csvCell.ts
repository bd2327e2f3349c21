/** A cell of CSV. RFC 4180; NULL is nothing, and an empty text has quotes. */
export function csvCell(text: string | null): string {
  if (text === null) return "";
  return text === "" || /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
