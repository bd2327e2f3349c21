/** The thread that plans for the dashboard; what it does is in planView.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { type PlanRequest, planView } from "./planView.ts";

parentPort?.postMessage(planView(workerData as PlanRequest));
