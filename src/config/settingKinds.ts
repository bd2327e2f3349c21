/** The kinds of values that settings have, each with the sentence that says what is expected. */
import { isIP } from "node:net";
import { z } from "zod";
import { databaseUrlProblem } from "./databaseUrl.ts";

export const text = z.string().trim().min(1);

export function whole(min: number, max: number) {
  const error = `expected a whole number from ${min} to ${max}`;
  // Digits alone: 0x10 and 1e3 are slips.
  return z.preprocess(
    (text) => (/^\d+$/.test(String(text)) ? Number(text) : text),
    z.number(error).min(min, error).max(max, error).int(error),
  );
}

const NAME = "expected a name of letters, digits, dots, dashes and underscores, at most 64 of them";

export const plainName = z.string(NAME).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, NAME);

const ADDRESS = "expected an http or https address, such as https://api.broker.example";

/** A base address as it is kept: no slash at the end, so that a path can follow. */
export const baseUrl = z
  .string()
  .refine((url) => URL.canParse(url) && /^https?:\/\/[^/]/.test(url), { error: ADDRESS, abort: true })
  .refine((url) => !/[?#]/.test(url), "expected an address without query and fragment")
  .refine((url) => !/@/.test(url), "expected an address without user name and password")
  .transform((url) => url.replace(/\/+$/, ""))
  .refine((url) => !/\/v1$/.test(url), "expected the part before /v1");

export const databaseUrl = text
  .refine((url) => /^postgres(ql)?:\/\//.test(url), {
    error: "expected a postgresql:// address",
    abort: true,
  })
  .superRefine((url, context) => {
    const problem = databaseUrlProblem(url);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });

export const beatUrl = text.refine(
  (url) => URL.canParse(url) && /^https?:\/\/[^/]/i.test(url),
  "expected an http or https address, such as https://monitor.example/ping/1234",
);

export function list(one: z.ZodType<string, string>) {
  return text.transform((all) => all.split(",").map((value) => value.trim())).pipe(z.array(one));
}

export const hostName = z
  .string()
  .toLowerCase()
  .regex(
    /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/,
    "expected names such as quotes.example, without scheme and port",
  );

export const network = z
  .string()
  .refine(isNetwork, "expected IP addresses, or networks such as 10.0.0.0/8, between commas");

function isNetwork(value: string): boolean {
  const [, address = "", bits = "0"] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(value) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Whether an address sends nothing over a network in the clear: everything but http to another machine. */
export function staysPrivate(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:") return true;
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
