/** Accounts as accounts.yaml has them. */

/** The four credentials of an account. */
export const CREDENTIALS = ["consumerKey", "consumerSecret", "accessToken", "accessTokenSecret"] as const;

/** An account that is right, each secret of it in a variable of its name: `MAIN_CONSUMERKEY`. */
export function accountYaml(name: string, more: Record<string, string | null> = {}): string {
  const options: Record<string, string | null> = { name, baseUrl: "https://api.broker.example" };
  for (const what of CREDENTIALS) options[`${what}Variable`] = variableOf(name, what);
  const lines = Object.entries({ ...options, ...more }).filter(([, value]) => value !== null);
  return lines.map(([key, value], place) => `  ${place === 0 ? "-" : " "} ${key}: ${value}\n`).join("");
}

/** The variable of a credential. */
export function variableOf(name: string, what: string): string {
  return `${name}_${what}`.toUpperCase();
}

/** The variables of accounts of these names. */
export function accountVariables(...names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => CREDENTIALS.map((what) => [variableOf(name, what), `${name}'s ${what}`])),
  );
}
