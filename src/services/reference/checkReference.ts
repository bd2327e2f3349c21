/** The checkup of the specification's service: the few assumptions that two calls can show. */
import {
  acceptedFinding,
  asking,
  type Checkup,
  clockFinding,
  countFinding,
  expiryFinding,
  headersFinding,
  KNOWN,
  readableFinding,
} from "../checkup.ts";

const [USED, EXPIRE] = ["x-ratelimit-used", "x-ratelimit-expire"] as const;

export const REFERENCE_CHECKUP: Checkup = {
  next: (probed) =>
    probed.length < 2 && probed.every(({ answer }) => answer.outcome === "quotes") ? asking(KNOWN) : null,
  findings: (probed) => [
    acceptedFinding(probed),
    readableFinding("XML", probed),
    headersFinding([USED, EXPIRE, "x-ratelimit-limit", "x-ratelimit-remaining"], probed),
    expiryFinding(EXPIRE, 1_000, probed),
    countFinding(USED, EXPIRE, probed),
    clockFinding(probed, true),
  ],
};
