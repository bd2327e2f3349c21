/** Why something is missing, and what to do about it: the ledger's reasons in words. */

/** A reason in words. `person`: somebody can do something about it. */
type Reason = { title: string; text: string; person: boolean };

const REASONS: Readonly<Record<string, Reason>> = {
  closed: {
    title: "session closed",
    text: "The session had closed before the call could leave. Nothing to do.",
    person: false,
  },
  budget: {
    title: "budget used up",
    text: "All calls of that minute were used before this poll's turn. Poll less often or fewer instruments: `quotekeeper plan` shows what fits.",
    person: true,
  },
  overrun: {
    title: "overrun",
    text: "The calls before it took until the next slot came. It heals by itself when the service is quicker.",
    person: false,
  },
  refused: {
    title: "refused",
    text: "The service refused the call. `quotekeeper status` and the log have its answer.",
    person: true,
  },
  unknown_symbol: {
    title: "unknown symbol",
    text: "The service does not know the instrument. Correct its name in the job file. It is retried less and less often, once a day in the end; each slot counts it as missed.",
    person: true,
  },
  absent_from_answer: {
    title: "absent from the answer",
    text: "The answer was whole and did not hold it. If it stays so, the service may have dropped the instrument.",
    person: false,
  },
  malformed: {
    title: "malformed",
    text: "Its part of the answer could not be read. See the table dead_letters; the answer itself is in the journal.",
    person: true,
  },
  transport: {
    title: "no answer",
    text: "No answer arrived, or only a fault of the service's own. Check the network if it goes on.",
    person: false,
  },
  unauthorized: {
    title: "not authorized",
    text: "The service does not accept the credentials. Check them in the QUOTES_ settings or in accounts.yaml, and the machine's clock.",
    person: true,
  },
  login: {
    title: "no login",
    text: "The service wants a person to log in each day, and nobody had. Run `quotekeeper login`, or log in on the page Accounts.",
    person: true,
  },
  down: {
    title: "not running",
    text: "The collector was not running for a part of the slot, was ended, or could not keep the answer. What was not polled is gone.",
    person: false,
  },
};

export function reasonOf(reason: string): Reason {
  return REASONS[reason] ?? { title: reason, text: "", person: false };
}
