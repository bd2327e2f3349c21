/** All that other rooms know of Citus. */
export { commitsSettled, engineOf, oneConnectionEach } from "./citusEngine.ts";
export { moveToCitus, readCitus, settleCitus } from "./move.ts";
export { type NearRows, withNear } from "./near.ts";
