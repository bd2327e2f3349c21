/**
 * Which test files are run first. jest begins with what took longest, and where it has not seen a run yet, as on a new machine,
 * with the largest files. Three are small and take longest, for they wait for programs that they have started: begun last,
 * they are waited for alone, and begun all at once, the processors wait with them. So two are begun at once, and the other
 * when these are about to end.
 */
import Sequencer from "@jest/test-sequencer";

/** The longest first. */
const WAITING = ["faults/fleet.", "faults/collector.", "collector/beside/collectors."];
const AT_ONCE = 2;

/** How many other files are done by then. */
const MEANWHILE = 16;

// eslint-disable-next-line import-x/no-default-export -- jest takes the default export
export default class WaitingFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const waiting = WAITING.flatMap((name) => sorted.filter(({ path }) => path.includes(`/test/${name}`)));
    const others = sorted.filter((test) => !waiting.includes(test));
    const begun = [...waiting.splice(0, AT_ONCE), ...others.splice(0, MEANWHILE)];
    return [...begun, ...waiting, ...others];
  }
}
