import "@fontsource/ibm-plex-sans/latin-400.css";
import "@fontsource/ibm-plex-sans/latin-500.css";
import "@fontsource/ibm-plex-sans/latin-600.css";
import "@fontsource/ibm-plex-mono/latin-400.css";
import "@fontsource/ibm-plex-mono/latin-500.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/parts.css";
import "./style/now.css";
import "./style/chart.css";
import "./style/chain.css";
import "./style/coverage.css";
import "./style/find.css";
import "./style/quotes.css";
import { render } from "preact";
import { App } from "./pageFrame.tsx";
import { startFeed } from "./lib/newest.ts";
import { startClock } from "./lib/pageClock.ts";
import { startRouter } from "./lib/router.ts";
import { startSlash } from "./parts/search.tsx";
import { startTheme } from "./lib/pageLook.ts";

startTheme();
startSlash();
startClock();
startRouter();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
startFeed();
