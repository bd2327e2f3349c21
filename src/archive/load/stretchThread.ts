/** The thread that reads the journal beside a replay; what it does is in readStretches.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { sendStretches, type StretchRequest } from "./readStretches.ts";

if (parentPort !== null) await sendStretches(workerData as StretchRequest, parentPort);
