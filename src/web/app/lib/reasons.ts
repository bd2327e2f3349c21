/** Why something is missing, and what to do about it: the ledger's reasons in words. */

/** A reason in words. `person`: somebody can do something about it. */
type Reason = { title: string; text: string; person: boolean };

const passes = (title: string, text: string): Reason => ({ title, text, person: false });
const lasts = (title: string, text: string): Reason => ({ title, text, person: true });

const REASONS: Readonly<Record<string, Reason>> = {
  closed: passes("session closed", "The session had closed before the call could leave. Nothing to do."),
  budget: lasts(
    "budget used up",
    "All calls of that minute were used before this poll's turn. Poll less often or fewer instruments: `quotekeeper plan` shows what fits.",
  ),
  overrun: passes(
    "overrun",
    "The calls before it took until the next slot came. It heals by itself when the service is quicker.",
  ),
  refused: lasts(
    "refused",
    "The service refused the call. `quotekeeper status` and the log have its answer.",
  ),
  unknown_symbol: lasts(
    "unknown symbol",
    "The service does not know the instrument. Correct its name in the job file. It is retried less and less often, once a day in the end; each slot counts it as missed.",
  ),
  absent_from_answer: passes(
    "absent from the answer",
    "The answer was whole and did not hold it. If it stays so, the service may have dropped the instrument.",
  ),
  malformed: lasts(
    "malformed",
    "Its part of the answer could not be read. See the table dead_letters; the answer itself is in the journal.",
  ),
  transport: passes(
    "no answer",
    "No answer arrived, or only a fault of the service's own. Check the network if it goes on.",
  ),
  unauthorized: lasts(
    "not authorized",
    "The service does not accept the credentials. Check them in the QUOTES_ settings or in accounts.yaml, and the machine's clock.",
  ),
  login: lasts(
    "no login",
    "The service wants a person to log in each day, and nobody had. Run `quotekeeper login`, or log in on the page Now.",
  ),
  down: passes(
    "not running",
    "The collector was not running for a part of the slot, was ended, or could not keep the answer. What was not polled is gone.",
  ),
};

export function reasonOf(reason: string): Reason {
  return REASONS[reason] ?? passes(reason, "");
}
