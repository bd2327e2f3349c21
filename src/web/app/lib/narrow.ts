/** Whether the page is as narrow as a phone's or a small tablet's, where tables have another layout. */
import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 860px)");

/** It follows the window. */
export const narrow = signal(query.matches);

query.addEventListener("change", () => (narrow.value = query.matches));
