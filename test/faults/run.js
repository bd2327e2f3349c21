/** npm run test:faults; the flags are in main.ts. */
import { allowTypescript } from "../support/postgres/typescript.js";

allowTypescript();
await import("./main.ts");
