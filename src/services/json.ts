/**
 * JSON (RFC 8259) whose numbers keep the digits that were sent: a price that passes through a double is another price. What
 * `JSON.parse` refuses is refused, and so are a key that stands in an object twice with different values, and nesting beyond
 * `MAX_DEPTH`.
 */
import { isLosslessNumber, type LosslessNumber, parse, stringify } from "lossless-json";
import { cutText } from "../ground/outsideText.ts";
import { refused } from "../quotes/document.ts";
import { decodeBody } from "./bodyText.ts";

export type Json = string | boolean | null | LosslessNumber | readonly Json[] | JsonObject;

/** Asked by `valueAt` alone: `object["constructor"]` is no value of an answer. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Assumed: no answer of quotes nests deeper. */
const MAX_DEPTH = 16;

const CODE = { quote: 0x22, backslash: 0x5c, open: 0x7b, close: 0x7d } as const;

/** `[` and `{`, and so `]` and `}`, differ by this bit. */
const BRACKET = 0x20;

/**
 * @param body UTF-8, with or without a byte order mark
 * @throws QuotekeeperError DOCUMENT_REFUSED
 */
export function parseJson(body: Uint8Array): Json {
  const text = decodeBody(body);
  refuseDepth(text);
  try {
    return parse(text) as Json;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw refused(cutText(error.message, 200), error);
  }
}

/** Before it is parsed: the parser calls itself for each level. */
function refuseDepth(text: string): void {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === CODE.quote) isInString = !isInString;
    else if (isInString) at += code === CODE.backslash ? 1 : 0;
    else if ((code | BRACKET) === CODE.close) depth -= 1;
    else if ((code | BRACKET) === CODE.open && ++depth > MAX_DEPTH)
      throw refused(`it nests deeper than ${MAX_DEPTH}`);
  }
}

/** A value as JSON: its digits as they were sent, without the white space. */
export function writtenAgain(json: Json): string {
  return stringify(json) ?? "";
}

export function isObject(json: Json | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json) && !isLosslessNumber(json);
}

/** @returns undefined: the object has no such key */
export function valueAt(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A string, or the digits of a number; null: it is neither. */
export function textOf(json: Json | undefined): string | null {
  if (typeof json === "string") return json;
  return isLosslessNumber(json) ? json.value : null;
}
