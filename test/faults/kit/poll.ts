/** `quotekeeper poll` within this process, which costs a fraction of one of its own; without jest, as fault runs go. */
import { runProgram } from "../../../src/cli/program.ts";
import { processEdges, type Sink } from "../../../src/ground/edges.ts";

/** Polls an account once, so that its market is known. @throws when it does not bring a quote */
export async function pollOnce(
  env: Readonly<Record<string, string>>,
  { account, directory }: { account: string; directory: string },
): Promise<void> {
  let said = "";
  const sink: Sink = { isTTY: false, columns: 100, write: (text) => void (said += text) };
  const edges = { ...processEdges(), env, directory, stdout: sink, stderr: sink };
  const exitCode = await runProgram(["poll", "--account", account, "--symbols", "IBM"], edges);
  if (exitCode !== 0) throw new Error(`the poll of ${account} ended with ${exitCode}: ${said}`);
}
