/** npm run bench:memory; what it does is in main.ts. */
import { allowTypescript } from "../../test/support/postgres/typescript.js";

allowTypescript();
await import("./main.ts");
