/** The recorded answers that are read as quotes. */
import { readdirSync, readFileSync } from "node:fs";
import { classifyAnswer } from "../../src/services/reference/classifyAnswer.ts";

const RECORDED = new URL("../recorded/", import.meta.url);

/** A recorded document that is read as quotes. */
export type RecordedDocument = {
  name: string;
  body: Buffer;
  /** Where it is whole: after its root element. */
  whole: number;
};

/** Every recorded document that is read as quotes. */
export function recordedDocuments(): RecordedDocument[] {
  return readdirSync(RECORDED)
    .sort()
    .map((name) => ({ name, body: readFileSync(new URL(`${name}/response.xml`, RECORDED)) }))
    .filter(({ body }) => kindOf(body) === "quotes")
    .map((found) => ({ ...found, whole: found.body.lastIndexOf("</response>") + "</response>".length }));
}

/** The kind of a 200 with this body. */
export function kindOf(body: Uint8Array): string {
  return classifyAnswer({ status: 200, headers: {}, body }).outcome;
}
