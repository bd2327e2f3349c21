/**
 * Which feature each file of `src/` serves, for the lines that `scripts/house.js` prints: the first pattern that fits its path
 * below `src/` counts. A file that serves several stands with the one that would take it along.
 */
const FEATURES = [
  ["dashboard", /^web\/(?!monitoring)|^archive\/ask\/|^collector\/page\/|^collector\/feed/],
  ["metrics and readiness", /^web\/monitoring\/|^collector\/metered/],
  [
    "status and heartbeat",
    /^status\/(?!lakeJob|rightClock|didYouMean)|^collector\/troubles|^ground\/jsonWords|^cli\/status/,
  ],
  ["serve and the simulated market", /^serve\/|^cli\/serve|^collector\/keepKeys/],
  [
    "several collectors",
    /^accounts\/lease\/|^archive\/ledger\/(lease|fleet)|^collector\/(openFleet|operatorsWord)|^collect\/governor\/(handover|unsure)/,
  ],
  ["several accounts", /^accounts\/|^cli\/accounts|^collector\/accountsCalled/],
  ["governor", /^collect\/governor\/|^collect\/callHistory|^collect\/(callLog|rateLimit)/],
  ["plan", /^collect\/(budgetPlan|budgetWalk|dayPlan)|^cli\/plan/],
  [
    "one-off polls",
    /^backfill\/sweep\/|^cli\/backfill\/sweep|^cli\/(poll|callsByHand)|^collect\/(reserve|once)|^collect\/dispatch\/borrowed|^collector\/once/,
  ],
  [
    "ledger and coverage",
    /^collect\/(outcomes|slotBook|dueShares|downtime|earlierRuns|dispatch\/missed)|^ledger\/|^archive\/ledger\/|^archive\/refill\/(fillSlots|listHoles)|^cli\/coverage|^journal\/ledger/,
  ],
  [
    "collecting",
    /^collect\/(?!login)|^collector\/(pipeline|collector|collection|stations)|^schedule\/(followJobs|clockFile)|^status\/rightClock|^cli\/(start|collecting)/,
  ],
  ["schedule, job files, calendar", /^schedule\/|^market\/|^cli\/(jobs|calendar)/],
  [
    "Tradier, E*TRADE, login, doctor",
    /^services\/(tradier|etrade|login)|^cli\/(doctor|login)|^collect\/login/,
  ],
  ["service of the specification", /^services\/|^quotes\//],
  ["journal", /^journal\/|^cli\/journal/],
  [
    "lake",
    /^files\/lake\/|^archive\/export\/(lake|hot)|^archive\/schema\/lateDays|^cli\/lake|^status\/lakeJob/,
  ],
  ["sql", /^files\/sql\/|^cli\/sql|^archive\/export\/duck/],
  ["export", /^files\/(export|tables)\/|^archive\/export\/|^cli\/export/],
  [
    "files of vendors",
    /^files\/maps\/|^backfill\/csv\/|^read\/(cell|formula|plain|splitRows)|^cli\/backfill\/(csv|map)|^archive\/refill\/yaml/,
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
    /^archive\/load\/|^read\/|^archive\/schema\/makeBars|^collector\/journalLoading|^archive\/loadedSegments/,
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
