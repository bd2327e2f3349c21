/** The dashboard's page, as HTML text. */
import type { QuoteLine } from "../archive/queries.ts";

/** How often the page loads itself anew, in seconds. */
export const REFRESH_SECONDS = 5;

const COLUMNS = ["Instrument", "Source", "Last", "Change", "Bid", "Ask", "Volume", "Age", "Description"];

const TEXT_COLUMNS = new Set(["Source", "Description"]);

/** The latest quotes as a table; simulated ones wear a mark. */
export function quotesPage(quotes: readonly QuoteLine[], now: Date): string {
  const simulated = quotes.some(({ source }) => source === "simulated");
  const heading = `<h1>quotekeeper: latest quotes${simulated ? ' <span class="simulated">SIMULATED</span>' : ""}</h1>`;
  if (quotes.length === 0) {
    return page(
      `${heading}<p>No quotes yet. The first ones arrive within seconds of a job's first slot.</p>`,
    );
  }
  const rows = quotes.map((quote) => row(quote, now)).join("\n");
  return page(`${heading}
<div class="wide"><table>
<caption>${quotes.length} instruments, loaded anew every ${REFRESH_SECONDS} s</caption>
<thead><tr>${COLUMNS.map(columnHeading).join("")}</tr></thead>
<tbody>
${rows}
</tbody>
</table></div>`);
}

/** What is shown while the archive cannot be read. */
export function errorPage(): string {
  return page(`<h1>quotekeeper</h1>
<p role="alert">The archive cannot be read at the moment. Collection goes on into the journal; the log says what is wrong.</p>`);
}

function columnHeading(name: string): string {
  return `<th scope="col"${TEXT_COLUMNS.has(name) ? ' class="text"' : ""}>${name}</th>`;
}

function row(quote: QuoteLine, now: Date): string {
  const mark =
    quote.source === "simulated" ? '<span class="simulated">SIMULATED</span>' : escapeHtml(quote.source);
  const cells = [
    `<td>${escapeHtml(quote.instrument)}${quote.delayed ? " (delayed)" : ""}</td>`,
    `<td class="text">${mark}</td>`,
    `<td>${cell(quote.last)}</td>`,
    `<td class="${direction(quote.change)}">${cell(quote.change)}</td>`,
    `<td>${cell(quote.bid)}</td>`,
    `<td>${cell(quote.ask)}</td>`,
    `<td>${cell(quote.volume)}</td>`,
    `<td>${age(quote.observedAt, now)}</td>`,
    `<td class="text">${cell(quote.description)}</td>`,
  ];
  return `<tr>${cells.join("")}</tr>`;
}

function page(body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<title>quotekeeper</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
</head>
<body>
${body}
</body>
</html>
`;
}

/** Which way a change goes; empty for none and for one that was not sent. */
function direction(change: string | null): "up" | "down" | "" {
  if (change === null || !/[1-9]/.test(change)) return "";
  return change.startsWith("-") ? "down" : "up";
}

function cell(text: string | null): string {
  return text === null ? "" : escapeHtml(text);
}

function age(observedAt: string, now: Date): string {
  const seconds = Math.max(0, Math.round((now.getTime() - Date.parse(observedAt)) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** Text safe between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
