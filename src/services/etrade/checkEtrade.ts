/** The checkup of E*TRADE: what docs/etrade.md says is not known, as far as six calls show it. */
import {
  acceptedFinding,
  type Checkup,
  clockFinding,
  type Finding,
  finding,
  NOT_ASKED,
  type Probe,
  readableFinding,
} from "../checkup.ts";
import {
  ageFinding,
  callsOf,
  chainFindings,
  expirationsFinding,
  greeksFinding,
  itemsOf,
  optionsFinding,
} from "../checkupOptions.ts";
import { formOf, START } from "../plainAnswer.ts";
import { LONGEST_LIST } from "./writeEtrade.ts";

/** The calls by what they are to show, in their order. What may be refused comes last. */
const CALLS = ["one", "options", "expirations", "chain", "long", "unknown"] as const;

export const ETRADE_CHECKUP: Checkup = {
  next: callsOf(CALLS, LONGEST_LIST - 1),
  findings: (probed) => {
    const of = (kind: (typeof CALLS)[number]): Probe | undefined => probed[CALLS.indexOf(kind)];
    const isDelayed = probed.some((one) => itemsOf(one).some(({ delayed }) => delayed === true));
    return [
      acceptedFinding(probed),
      readableFinding("JSON", probed),
      formFinding(probed),
      agreementFinding(probed, isDelayed),
      optionsFinding(of("options")),
      expirationsFinding(of("expirations")),
      ...chainFindings(of("chain")),
      greeksFinding("a whole expiration", of("chain")),
      longFinding(of("long")),
      unknownFinding(of("unknown")),
      ageFinding(probed, isDelayed),
      clockFinding(probed, true),
    ];
  },
};

/** Faults are read in each form, quotes in JSON alone. */
function formFinding(probed: readonly Probe[]): Finding {
  return finding("Every answer comes as JSON, as it is asked for, faults too", () => {
    if (probed.length === 0) return NOT_ASKED;
    const forms = new Map<string, number>();
    for (const { body } of probed) {
      const form = formOf(Buffer.from(body.subarray(0, START)).toString("utf8"));
      forms.set(form, (forms.get(form) ?? 0) + 1);
    }
    const told = [...forms].map(([form, count]) => `${form} in ${count} of ${probed.length} answers`);
    return [forms.get("JSON") === probed.length ? "ok" : "not_so", told.join(", ")];
  });
}

function agreementFinding(probed: readonly Probe[], isDelayed: boolean): Finding {
  return finding("The account has quotes of real time", () => {
    if (!probed.some((one) => itemsOf(one).length > 0)) return NOT_ASKED;
    if (!isDelayed) return ["ok", "no answer says DELAYED"];
    const why = "the agreement on market data is not signed, and rows are stored as delayed";
    return ["not_so", `the answers say DELAYED: ${why}`];
  });
}

function longFinding(one: Probe | undefined): Finding {
  return finding(
    `A list may have ${LONGEST_LIST} symbols`,
    () => {
      if (!one || one.call.form !== "symbols") return NOT_ASKED;
      const what = `${one.call.symbols.length} symbols, HTTP ${one.status}`;
      if (one.answer.outcome !== "quotes") return ["not_so", `${what}, taken as ${one.answer.outcome}`];
      if (one.call.symbols.length < LONGEST_LIST) return ["unknown", `${what}: there were no more contracts`];
      return ["ok", `${what}, ${itemsOf(one).length} answered or told as unknown`];
    },
    true,
  );
}

function unknownFinding(one: Probe | undefined): Finding {
  return finding("An unknown symbol is told beside the quotes of the others", () => {
    if (!one) return NOT_ASKED;
    if (one.answer.outcome !== "quotes") return ["not_so", `HTTP ${one.status} for the whole list`];
    const isNamed = itemsOf(one).some(({ unknownSymbol }) => unknownSymbol);
    return isNamed ? ["ok", "a message names it"] : ["unknown", "the answer does not name it"];
  });
}
