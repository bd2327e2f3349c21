/** A thread that reads answers beside a replay; what it does is in readers.ts. */
import { parentPort } from "node:worker_threads";
import { serveReading } from "./readers.ts";

if (parentPort !== null) serveReading(parentPort);
