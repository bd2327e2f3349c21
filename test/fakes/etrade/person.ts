/** A person with a browser: opens the address of a login, says yes, and reads the letters. */

/**
 * @param url the printed address
 * @returns the five letters of the page
 * @throws Error when a page is none that a person can act on
 */
export async function acceptAsPerson(url: string): Promise<string> {
  const opened = await fetch(url);
  const page = await opened.text();
  const action = /<form method="post" action="([^"]+)"/.exec(page)?.[1];
  if (!opened.ok || action === undefined) throw new Error(`no form, but ${opened.status}: ${page}`);
  const fields = new URLSearchParams(
    [...page.matchAll(/<(?:input|button) type="(?:hidden|submit)" name="([^"]+)" value="([^"]+)"/g)].map(
      ([, name = "", value = ""]) => [name, unescaped(value)],
    ),
  );
  const accepted = await fetch(new URL(action, url), { method: "POST", body: fields });
  const answer = await accepted.text();
  const verifier = /id="oauth_verifier" value="(\w{5})"/.exec(answer)?.[1];
  if (verifier === undefined) throw new Error(`no letters, but ${accepted.status}: ${answer}`);
  return verifier;
}

function unescaped(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
