/** Runs main.ts as it is: compiled into dist/ it would not find the migrations. */
import { allowTypescript } from "../../test/support/postgres/typescript.js";

allowTypescript();
await import("./main.ts");
