/** npm run test:machines; what it takes is in main.ts. */
import { allowTypescript } from "../support/postgres/typescript.js";

allowTypescript();
await import("./main.ts");
