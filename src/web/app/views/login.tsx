/** The token is asked for. */
import { useState } from "preact/hooks";
import type { Problem } from "../../api/types.ts";
import { ProblemNote } from "../parts/notes.tsx";
import { ApiProblem, logIn } from "../lib/api.ts";
import { startFeed } from "../lib/newest.ts";

export function LoginView() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await logIn(token);
      startFeed();
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error.problem);
    }
  };
  return (
    <main class="login" id="main">
      <h1 tabIndex={-1}>quotekeeper</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token of this dashboard</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit">Log in</button>
      </form>
      {problem && <ProblemNote problem={problem} />}
      <p class="dim">It is the value of QUOTEKEEPER_WEB_TOKEN.</p>
    </main>
  );
}
