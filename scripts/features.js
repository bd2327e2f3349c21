/**
 * Which feature each file of `src/` serves, for the lines that `scripts/house.js` prints: the first pattern that fits its path
 * below `src/` counts. A file that serves several stands with the one that would take it along.
 */
const FEATURES = [
  ["dashboard", /^web\/(?!monitoring)|^archive\/ask\/|^run\/(openWeb|jobsView|planView|planThread|feed)/],
  ["metrics and readiness", /^web\/monitoring\/|^run\/metered/],
  [
    "status and heartbeat",
    /^run\/(status|heartbeat|goesOn|journalHealth|collectorStatus|quotesStatus|waitingAnswers|serviceWords|ledgerStatus|fleetStatus|loginStatus|accountsStatus|goneJournal|troubles|loaderState|jsonWords)|^cli\/status/,
  ],
  ["serve and the simulated market", /^serve\/|^cli\/serve|^run\/(serve|keepKeys)/],
  [
    "several collectors",
    /^accounts\/lease\/|^archive\/ledger\/(lease|fleet)|^run\/(openFleet|operatorsWord)|^collect\/governor\/(handover|unsure)/,
  ],
  ["several accounts", /^accounts\/|^cli\/accounts|^run\/accounts/],
  ["governor", /^collect\/governor\/|^run\/callHistory|^collect\/(callLog|rateLimit)/],
  ["plan", /^collect\/(budgetPlan|budgetWalk|dayPlan)|^cli\/plan/],
  [
    "one-off polls",
    /^backfill\/sweep\/|^cli\/backfill\/sweep|^cli\/(poll|callsByHand)|^collect\/(reserve|once)|^collect\/dispatch\/borrowed|^run\/(beside\/permits|once)/,
  ],
  [
    "ledger and coverage",
    /^collect\/(outcomes|slotBook|dueShares|downtime|earlierRuns|dispatch\/missed)|^run\/(ledgerNotes|settleDowntime|pastSlotNotes|interruptions|runMarker)|^archive\/ledger\/|^archive\/refill\/(fillSlots|listHoles)|^cli\/coverage|^journal\/ledger/,
  ],
  [
    "collecting",
    /^collect\/|^run\/(pipeline|collection|stations|followJobs|accountSession|rightClock|clockFile|edges)|^cli\/(start|collecting)/,
  ],
  ["schedule, job files, calendar", /^schedule\/|^market\/|^cli\/(jobs|calendar)|^run\/exampleJobs/],
  [
    "Tradier, E*TRADE, login, doctor",
    /^services\/(tradier|etrade|login)|^cli\/(doctor|login)|^run\/(login|personLogin)/,
  ],
  ["service of the specification", /^services\/|^quotes\//],
  ["journal", /^journal\/|^cli\/journal/],
  [
    "lake",
    /^lake\/(?!sql\/)|^archive\/export\/(lake|hot)|^archive\/schema\/lateDays|^cli\/lake|^run\/lakeJob/,
  ],
  ["sql", /^lake\/sql\/|^cli\/sql|^archive\/export\/duck/],
  ["export", /^export\/|^archive\/export\/|^cli\/export/],
  [
    "files of vendors",
    /^files\/|^backfill\/csv\/|^read\/(cell|formula|plain|splitRows)|^cli\/backfill\/(csv|map)|^archive\/refill\/yaml/,
  ],
  [
    "saved answers, exports, gaps",
    /^backfill\/(xml|exported|files)\/|^read\/(export|timePattern|wallTime)|^archive\/refill\/(derive|known)/,
  ],
  ["backfill of the journal", /^backfill\/|^archive\/refill\/|^cli\/backfill\//],
  ["Citus", /^archive\/tiers\/citus\//],
  ["embedded PostgreSQL", /^archive\/embedded\//],
  [
    "loader and bars",
    /^archive\/load\/|^read\/|^archive\/schema\/makeBars|^run\/(journalLoading|loadedSegments)/,
  ],
  ["schema, connection, tiers", /^archive\/|^cli\/migrate/],
  ["init", /^cli\/init\//],
  ["frame: commands, settings, errors, lock", /./],
];

/** @param {string} path below `src/`, with `/` @returns {string} */
export function featureOf(path) {
  return FEATURES.find(([, pattern]) => pattern.test(path))?.[0] ?? "";
}

/** @returns {string[]} patterns that fit no file, of the features' names */
export function emptyFeatures(paths) {
  const served = new Set(paths.map(featureOf));
  return FEATURES.map(([name]) => name).filter((name) => !served.has(name));
}
