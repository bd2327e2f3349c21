/** The page begins here. */
import "@fontsource/ibm-plex-sans/latin-400.css";
import "@fontsource/ibm-plex-sans/latin-500.css";
import "@fontsource/ibm-plex-sans/latin-600.css";
import "@fontsource/ibm-plex-mono/latin-400.css";
import "@fontsource/ibm-plex-mono/latin-500.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/parts.css";
import "./style/views.css";
import "./style/operator.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { startClock } from "./lib/pageClock.ts";
import { startRouter } from "./lib/router.ts";
import { startStore } from "./lib/store.ts";
import { startTheme } from "./lib/theme.ts";

startTheme();
startClock();
startRouter();
startStore();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
