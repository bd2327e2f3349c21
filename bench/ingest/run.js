/** What `npm run bench:quick` runs; `npm run bench:ingest` checks the types as well. What it does is in main.ts. */
import { allowTypescript } from "../../test/support/postgres/typescript.js";

allowTypescript();
await import("./main.ts");
