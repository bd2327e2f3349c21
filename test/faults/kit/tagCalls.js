/**
 * Loaded before the program (`--import`): its calls bear the name that TAG_CALLS says, so that a service that several
 * collectors call knows whose each is.
 */
import { ClientRequest } from "node:http";

const { end } = ClientRequest.prototype;

/** @type {typeof end} */
ClientRequest.prototype.end = function (/** @type {[]} */ ...args) {
  this.setHeader("x-collector", process.env["TAG_CALLS"] ?? "");
  return end.apply(this, args);
};
