/** How E*TRADE writes answers: XML, and JSON with the same names where a call asks for it. */
import type { FaultAnswer } from "../faultRules.ts";
import { type Document, escaped, number, type Value, writeJson, writeXml } from "../wire.ts";

/** JSON where `.json` stands behind the path or `Accept` names it (apisb.etrade.com, market). */
export type Form = "xml" | "json";

/** Assumed: the character sets. */
const JSON_TYPE = "application/json;charset=UTF-8";
const XML_TYPE = "application/xml;charset=UTF-8";
export const HTML_TYPE = "text/html;charset=UTF-8";

/** A recorded answer of 2018 begins so. */
const XML_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';

/** @param status default: 200 */
export function answerOf(document: Document, form: Form, status = 200): FaultAnswer {
  return form === "json"
    ? { status, type: JSON_TYPE, body: writeJson(document) }
    : { status, type: XML_TYPE, body: `${XML_HEAD}${writeXml(document)}` };
}

/** What is wrong with a call, in place of an answer. */
export class Problem {
  readonly status: number;
  /** Of the stored table of errors; null: none. */
  readonly code: number | null;
  readonly message: string;
  constructor(status: number, code: number | null, message: string) {
    this.status = status;
    this.code = code;
    this.message = message;
  }
}

/** Shape: clients' issues and tests, JSON alone. Assumed: XML has the same names. */
export function problemAnswer({ status, code, message }: Problem, form: Form): FaultAnswer {
  return answerOf({ Error: { code: code === null ? undefined : number(code), message } }, form, status);
}

/** The page of the application server, in our words; pyetrade's issues show such pages. */
export function tomcatPage(status: number, message: string): FaultAnswer {
  const title = `HTTP Status ${status} - ${escaped(message)}`;
  return {
    status,
    type: HTML_TYPE,
    body: `<html><head><title>Error report</title></head><body><h1>${title}</h1><p><b>message</b> <u>${escaped(message)}</u></p></body></html>\n`,
  };
}

/** JSON for a client of JSON, a page of the application server for any other. */
export function refusal(status: number, message: string, form: Form): FaultAnswer {
  return form === "json"
    ? problemAnswer(new Problem(status, null, message), form)
    : tomcatPage(status, message);
}

/** A price or ratio; an absent one is 0.0, in all recorded answers. */
export function price(text: string | null): Value {
  return number(text ?? "0.0");
}

/** A number with so many decimals, such as `0.004900`. */
export function fixed(value: number, places: number): Value {
  return number(value.toFixed(places));
}
