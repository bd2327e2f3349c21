-- What each relation and column says, for people and their tools. `relation: comment`, then a line for each column; a column without
-- an origin has its value from the program. `as relation: columns` copies the comments of that relation's columns of the same names.
do $do$
declare
  line text;
  relation text;
  said jsonb := '{}';
  name text;
begin
  foreach line in array string_to_array($comments$sources: Where rows come from. Simulated and real rows can never be mistaken for one another.
  id: Number of the source: 1 is the service, 2 the simulated market; imports count from 100.
  name: Which service, simulated market or import it is, in words.
  kind: account: an account at the service; simulated: made up; import: from a file.
instruments: What is quoted. The symbol of an option is that of its underlying.
  id: Number of the instrument.
  security_type: Kind of security, such as CS (common stock) or OPT (option). Where it was never sent: CS for an underlying, else UNKNOWN. Origin: sectyp of instrument.
  symbol: Symbol; of an option that of its underlying. Origin: sym of instrument or underlying.
  exchange: Code of the exchange, such as NSD or CMP, as sent last; NULL: never sent. Origin: exch of instrument or underlying.
  description: Name for people, as sent last; NULL: never sent. Origin: desc of instrument or underlying.
  underlying_id: Of an option: instruments.id of its underlying, whichever of the two was there first; NULL: the archive has none. Else NULL.
  expiration: Of an option: the date on which it expires, New York; else NULL. Origin: matdt of instrument.
  option_type: Of an option: CALL or PUT; else NULL. Origin: putcall of instrument, 1 is CALL and 0 PUT.
  strike: Of an option: its strike price, in dollars for one share of the underlying; else NULL. Origin: strkpx of instrument.
  contract_size: Of an option: units of the underlying in one contract, as sent last; NULL: never sent. Origin: contractsize of extendedquote.
  first_seen_at: observed_at of its oldest quote. UTC.
  last_seen_at: observed_at of its newest quote. UTC.
  type_assumed: Whether security_type is only assumed: of an underlying that came with its options, of a file without types. The first answer that says the type sets it.
  root: Of an option: the root of its OCC symbol where that is another than the underlying's, such as SPXW of SPX; else NULL. Origin: an OCC symbol, sym of instrument beside underlying, or a column of an imported file.
  exchange_at: When exchange was said last, UTC; NULL: at last_seen_at, or never.
  description_at: When description was said last, UTC; NULL: at last_seen_at, or never.
  contract_size_at: When contract_size was said last, UTC; NULL: at last_seen_at, or never.
responses: Each answer of the service, and each piece of an imported file, without its body, which is in the journal.
  observed_at: When the answer had arrived, in microseconds. It names the answer: no two of a collector have the same. UTC.
  source_id: Where it comes from: sources.id.
  request_id: A UUIDv7, made before the call was sent.
  requested_at: When the call was sent, by the machine's clock. UTC.
  job: The jobs that the call was for, with commas between them; once: and a name: a job that is polled once; NULL: it was imported. Origin: the job files.
  request: What was asked for, without credentials.
  http_status: HTTP status of the answer, such as 200 or 429. Origin: the answer.
  outcome: What came of the call: quotes, quota_fault, unauthorized, too_long, refused, server_error or malformed.
  response_id: The service's own name for the answer; NULL: not sent. Origin: attribute id of response.
  server_date: The service's clock when it answered, in whole seconds, UTC; NULL: not sent. Origin: header Date.
  rate_limit_used: Calls that the service has counted against the limit; NULL: not sent. Origin: header X-RateLimit-Used.
  rate_limit_remaining: Calls that the limit still allows; NULL: not sent. Origin: header X-RateLimit-Remaining.
  rate_limit_limit: Calls that the limit allows in all; NULL: not sent. Origin: header X-RateLimit-Limit.
  rate_limit_expire: Unix time in seconds, as sent; not to be trusted as a time. NULL: not sent. Origin: header X-RateLimit-Expire.
  body_bytes: Length of the body, in bytes. Origin: the answer.
  journal_segment: The file of the journal that holds the whole answer.
  journal_offset: Where in that file it stands, in bytes from the beginning, uncompressed.
  account_id: The account that made the call: accounts.id.
quotes: What each answer says of an instrument's prices. A field that could not be read is NULL too, and in dead_letters.
  observed_at: When the answer with the quote had arrived, UTC, in microseconds; of an import the time that the file gives. The service sends no time of a quote.
  instrument_id: What is quoted: instruments.id.
  as responses: source_id
  delayed: Whether delayed quotes were asked for; false: real-time ones. It tells no rows apart: an instrument has one row of a source at an instant. Origin: parameter delayed of the call.
  bid: Bid, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody bids. Origin: bidprice of quote or undlyquote.
  ask: Ask, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody asks. Origin: askprice of quote or undlyquote.
  last: Price of the last trade, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, and no trade. Origin: lastprice of quote or undlyquote.
  change: By how much the price has changed, in dollars per share; below 0 when it fell; NULL: not sent. The service does not say since when; in all known answers since previous_close. Origin: change of quote or undlyquote.
  pct_change: By how much the price has changed, in percent: 1.5 is 1.5 %; below 0 when it fell; NULL: not sent. Origin: pctchange of quote or undlyquote.
  quoted_at: When bid and ask were made, as the service says it, UTC: the later of the two; NULL: not said, as by the specification's service. Origin: bid_date and ask_date of tradier.
  traded_at: When the last trade was made, as the service says it, UTC; NULL: not said, or never. Origin: trade_date of tradier.
extended_quotes: The other fields of the quotes, under the same key.
  as quotes: observed_at instrument_id
  as responses: source_id
  bid_size: Size at the bid, as sent: shares, of an option contracts; imported rows have what their file says, which before 2025-11-03 was often lots of 100. NULL: not sent. Origin: bidsize of extendedquote.
  ask_size: Size at the ask, as sent: shares, of an option contracts; imported rows have what their file says, which before 2025-11-03 was often lots of 100. NULL: not sent. Origin: asksize of extendedquote.
  open: Opening price, in dollars per share; NULL: not sent. Origin: openprice of extendedquote.
  high: Highest price of the session so far, in dollars per share; NULL: not sent. Origin: highprice of extendedquote.
  low: Lowest price of the session so far, in dollars per share; NULL: not sent. Origin: lowprice of extendedquote.
  previous_close: Close of the session before, in dollars per share; NULL: not sent. Origin: prevclose of extendedquote.
  volume: Shares traded, of an option contracts; NULL: not sent. The bars take it for the sum of the day so far. Origin: volume of extendedquote.
  session_volume: Shares traded in the session; the service does not say how that differs from volume. NULL: not sent, as for options. Origin: sessionvolume of extendedquote.
  earnings_per_share: Earnings per share, in dollars, below 0 for a loss; NULL: not sent, as for options. Origin: earningspershare of extendedquote.
  pe_ratio: Price by earnings, a ratio; NULL: not sent, as for options. Origin: priceearningsratio of extendedquote.
  high_52_week: Highest price of 52 weeks, in dollars per share; NULL: not sent, as for options. Origin: high52price of extendedquote.
  low_52_week: Lowest price of 52 weeks, in dollars per share; NULL: not sent, as for options. Origin: low52price of extendedquote.
  contract_high: Of an option: its highest price, in dollars per share; the service does not say since when. Else NULL. Origin: contracthigh of extendedquote.
  contract_low: Of an option: its lowest price, in dollars per share; the service does not say since when. Else NULL. Origin: contractlow of extendedquote.
  contract_size: Of an option: units of the underlying in one contract; else NULL. Origin: contractsize of extendedquote.
  delta: Of an option: change of its price in dollars when the underlying rises by 1 dollar; else NULL. Origin: delta of extendedquote, or of greeks where that is missing.
  open_interest: Of an option: contracts that are open, mostly of the session before; NULL: not said. Origin: open_interest of tradier.
  average_volume: Shares traded on an average day, of an option contracts; the service does not say of which days. NULL: not said. Origin: average_volume of tradier.
  implied_volatility: Of an option: volatility that the service reckons from the middle of bid and ask, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: mid_iv of greeks of tradier.
  bid_iv: Of an option: volatility that the service reckons from the bid, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: bid_iv of greeks of tradier.
  ask_iv: Of an option: volatility that the service reckons from the ask, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: ask_iv of greeks of tradier.
  gamma: Of an option: change of delta when the underlying rises by 1 dollar, as the service reckons it; NULL: not said. Origin: gamma of greeks of tradier.
  theta: Of an option: change of its price in dollars in a day, as the service reckons it; NULL: not said. Origin: theta of greeks of tradier.
  vega: Of an option: change of its price in dollars when the volatility rises by 0.01, as the service reckons it; NULL: not said. Origin: vega of greeks of tradier.
  rho: Of an option: change of its price in dollars when the interest rate rises by 0.01, as the service reckons it; NULL: not said. Origin: rho of greeks of tradier.
  greeks_at: When the service reckoned volatilities and greeks, UTC; NULL: not said. Origin: updated_at of greeks of tradier.
dividends: A row when a dividend is first seen, or differs from the last one.
  as quotes: observed_at instrument_id
  as responses: source_id
  ex_date: First date on which the share trades without the dividend, New York; NULL: not sent. Origin: exdate of dividenddata.
  amount: Dividend, in dollars per share; NULL: not sent; 0 beside an old ex_date: no dividend. Origin: amt of dividenddata.
  yield: Dividend yield, as sent; the service does not say whether it is a ratio or in percent. NULL: not sent, or sent as 4.9E-324, which means "no dividend". Origin: yield of dividenddata.
dead_letters: What arrived and could not be stored as a row. The whole answer is in the journal.
  observed_at: observed_at of the answer; of a note of the ledger when that was written. UTC.
  as responses: source_id
  ordinal: Number of the dead letter within its answer, from 0.
  instrument: Name of the instrument, as in misses; NULL: it could not be told.
  reason: malformed: not to be read; not_asked: of an instrument nobody asked for; answered_twice: its answer or file has other values of it, and neither is stored; odd_field: one field could not be read and is NULL; refused_by_database: the database did not take it.
  detail: What was wrong, in a sentence.
  fragment: The piece of the answer, cut where it is long; NULL: there is none. Origin: the answer.
accounts: Who polls, by the names in the journal. An account without a name is default. No secrets: these stay on the machines.
  id: Number of the account; 1 is default.
  name: Its name. Origin: accounts.yaml.
  call_limit: Calls in a window of window_ms; NULL: no collector has said it. Origin: QUOTES_LIMIT, accounts.yaml or the service.
  window_ms: Length of the window in ms; NULL: no collector has said it. Origin: QUOTES_LIMIT_WINDOW_MS or accounts.yaml.
  wanted: What the operator has said last: active or drained; NULL: nothing. Origin: quotekeeper accounts resume and drain.
  state: What is so, as its collector has said last; NULL: none has.
journal_positions: How far each file of the journal is loaded. Moves in the transaction that stores the rows.
  segment: Name of the file.
  loaded_to: All before this place is loaded, in bytes from the beginning of the file, uncompressed.
  loaded_at: When this was written. UTC.
due_sets: What a job polls changes seldom: each set of instruments is kept once.
  id: Number of the set.
  digest: SHA-256 of the sorted names, one a line.
  instruments: Names of the instruments: AAPL, AAPL:2026-12-18:CALL:150, chain SPX:2026-12-18, or watchlist and its name. Origin: the job files.
slots: What came of each slot of each job: due = stored + missed, always.
  job: Name of the job. Origin: the job file.
  slot_at: When the job was due. UTC. Origin: schedule of the job.
  source_id: Which market was polled: sources.id; 1 is an account's, whatever service it is of.
  due: How many instruments were to be polled.
  stored: How many of them have a quote.
  missed: How many of them have none; misses says which and why.
  due_set_id: Which instruments were due: due_sets.id.
  account_id: The account whose share it is: accounts.id. slots has a row for the share of each account: add them up.
open_slots: Slots that have begun and are not settled yet.
  as slots: job slot_at source_id due_set_id account_id
  ends_at: When the slot is over; NULL: no other one comes. UTC. Origin: schedule of the job.
  run: The run of the collector that opened it.
misses: Each instrument that was due at a slot and has no quote of it.
  as slots: job slot_at source_id account_id
  instrument: AAPL, AAPL:2026-12-18:CALL:150, or * for all that was due (long downtime).
  reason: Why: closed, budget, overrun, refused, unknown_symbol, absent_from_answer, malformed, transport, unauthorized, login or down; the glossary explains them.
fills: Slots that were missed, and whose quote came to the archive later. What was in misses is here then.
  as slots: job slot_at source_id account_id
  instrument: AAPL, or AAPL:2026-12-18:CALL:150.
  reason: Why it was missed before. Origin: misses.reason.
  observed_at: The quote that fills it. UTC. Origin: quotes.observed_at.
  fill_source_id: Where that quote comes from: sources.id.
  filled_by: The kind of backfill: journal, xml, csv, parquet, sweep or gaps.
  filled_at: When the slot was filled. UTC.
sessions: The exchange's calendar, written by the program at each migration. A date that is not here has no session.
  date: Date of the session, New York.
  kind: regular, or early: it closes before 16:00 in New York.
  pre_at: When trading before the open begins. UTC.
  open_at: When the exchange opens. UTC.
  close_at: When it closes. UTC.
  post_at: When trading after the close ends. UTC.
  reason: Why it opens late or closes early; NULL: an ordinary day.
calendar_days: Days on which the exchange differs from the program's rules, as jobs/calendar.yaml said when a command read it last. sessions follow.
  date: The exchange's date, New York. Origin: calendar.yaml.
  kind: closed: no session; early: one that ends at close; regular: 09:30 to 16:00. Origin: calendar.yaml.
  close: When an early session ends, HH:MM in New York; NULL: 13:00. Origin: calendar.yaml.
  reason: Why, in the operator's words; NULL: not said. Origin: calendar.yaml.
session_bars: Made from quotes a few seconds after they are stored; bars_1d adds the rows that a bar lacks. After statements of your own on quotes call recompute_session_bars(from, to). Prices are those of last above 0: 0 is no trade.
  as quotes: instrument_id
  as responses: source_id
  delayed: Whether it is of delayed quotes; false: of real-time ones. Origin: quotes.delayed.
  date: The exchange's date, New York.
  first_at: observed_at of its first quote. UTC. Origin: quotes.observed_at.
  last_at: observed_at of its last quote. UTC. Origin: quotes.observed_at.
  open: First price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.
  high: Highest price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.
  low: Lowest price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.
  close: Last price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.
  open_at: observed_at of the quote with that first price; NULL: no trade was seen. UTC. Origin: quotes.observed_at.
  close_at: observed_at of the quote with that last price; NULL: no trade was seen. UTC. Origin: quotes.observed_at.
  spread_sum: Sum of ask less bid, in dollars per share, of the quotes in which both are above 0. Origin: quotes.ask and quotes.bid.
  spread_count: How many quotes have a bid and an ask above 0.
  quote_count: How many quotes it is made of.
  volume: Shares traded, of an option contracts: the last number shown on that date. NULL while extended_quotes has it; written down before retention drops those rows. Origin: extended_quotes.volume.
  quotes_dropped: Retention has dropped quotes of it: the bar knows more than the rows, and stays until as many rows are there again.
  made_to: Rows later than this have come since the bar was made; -infinity: all of it is to be made again, and intraday_bars has none of its bars; NULL: it has all rows. UTC.
  bars_to: intraday_bars has the bars that end by then: all of a date that is not its series' last (infinity), others up to the last quarter of an hour; -infinity: it has none, because they would take as much room as their quotes. UTC.
intraday_bars: Bars that end by session_bars.bars_to. What is newer, a quarter of an hour at most, is read from the rows; so are all bars of a contract on dates with two quotes in five minutes or fewer.
  bar_at: When the bar begins. UTC.
  as session_bars: date delayed spread_count quote_count open high low close spread_sum
  as quotes: instrument_id
  as responses: source_id
  minutes: Length of the bar in minutes: 5 or 60.
  session: Part of the session: pre, regular, post, or closed for all other time; of the simulated market always regular. Origin: sessions.
  volume: Shares traded on the date, of an option contracts: the last number shown in the bar; NULL: none. Origin: extended_quotes.volume.
  volume_before: The last number shown earlier on that date, or the first one of the bar where there is none; NULL: none. Shares, of an option contracts. Origin: extended_quotes.volume.
  log_return: Of five minutes: natural logarithm of close by the close before it on that date, a number without unit, to 12 places; NULL where that is of another session. Origin: quotes.last.
derived_closes: The close of a session of which the archive holds no quote near its end, derived from previous_close of the next session.
  instrument_id: Whose close: instruments.id.
  date: Date of the session that has no quote near its end, New York.
  source_id: Where the later quote comes from: sources.id.
  close: The close, in dollars per share. Origin: extended_quotes.previous_close of the next session.
  derived_from: observed_at of the quote that said previous_close. UTC.
  derived_at: When it was derived. UTC.
clock_steps: What was amiss with the clock of the machine that collects: it was set back or set forward, the machine slept, or the program could not run (stopped).
  moved_at: What the clock said when it was noticed, within seconds after the step; before the step it said moved_at - step_ms. UTC.
  step_ms: By how many ms the clock was set, below 0: back; or for how long the machine slept, or the program could not run.
  kind: set_back or set_forward: the clock was set; slept: the machine was asleep; stopped: the program could not run.
collectors: Every collector that has ever joined, until an operator forgets it. It tells of itself every 2 seconds.
  id: Stands in the data directory: a collector is the same after a restart.
  number: What its receive times, in microseconds, leave as the rest by 256: so no two collectors give an answer the same one.
  name: Its name, which no other collector has.
  run: The run of its process, by a name of chance.
  pid: Number of its process. Origin: the operating system.
  host: Name of its machine. Origin: the operating system.
  version: Version of the program.
  started_at: When its run began, by the database's clock. UTC.
  seen_at: When it told of itself last, by the database's clock. UTC.
  beat: Counts what it has told. Whoever waits for it to die looks at this, on a clock of its own.
  stopped: Whether it has said that it ends.
  jobs_digest: A digest of its job files and accounts: all collectors have the same.
  files: The digests of these one by one, to say what differs. No secrets.
  knows: What it wants in the next epoch: accounts that the service refuses, and prices that chains hang on.
  journal_lag: Bytes of its journal that the archive has not loaded; NULL: not known.
  clock_offset_ms: How far its clock is ahead of the database's, in ms.
leases: Which collector calls an account. It renews this every 2 seconds; what was not renewed for 7 seconds another one takes.
  account_id: The account: accounts.id.
  fence: Counts the holders: who renews with an older number has lost it.
  holder: The collector that calls it: collectors.id.
  run: The run of that collector's process. Origin: collectors.run.
  beat: Counts the renewals. A jump of the database's clock takes nothing from a holder whose beat goes on.
  granted_at: When the holder took it, by the database's clock. UTC.
  renewed_at: When the holder renewed it last, by the database's clock. UTC.
  expires_at: Until when it holds if nobody renews it, by the database's clock. UTC.
  released: Whether the holder has given it back.
  governor: What the holder knows of the account's budget, for whoever comes after it.
lease_history: Who took each account when, and from whom.
  as leases: account_id
  fence: Number of the holder among all that the account has had. Origin: leases.fence.
  taken_at: When it was taken, by the database's clock. UTC.
  holder: Who took it: collectors.id.
  collector: The name of who took it. Origin: collectors.name.
  how: new: nobody had it; released: it was given back; restarted: the run before on the same data directory was dead; expired: its holder was not heard of.
  previous: The name of who had it before; NULL: nobody, or a collector that is forgotten. Origin: collectors.name.
epochs: What all collectors go by, from the first slot at from_at or later on: else an instrument would be two accounts' or none's.
  number: Number of the epoch. Of those that have begun the highest is in force.
  from_at: Slots from this time on go by it. UTC.
  jobs_digest: Digest of the job files and accounts it was made with. Origin: collectors.jobs_digest.
  accounts: The accounts that share the jobs, by name.
  prices: The prices that chains were expanded by: {"date": exchange date, "of": {symbol: price}}.
  proposed_by: The collector that wrote it.
backfills: One row for each backfill. One that was ended in its midst goes on when the same is asked again.
  id: Number of the backfill.
  kind: journal, xml, csv, parquet or sweep.
  asked: What was asked for, without secrets. Origin: the command's flags.
  digest: SHA-256 of kind and asked: what makes two runs the same backfill.
  began_empty: Whether the ledger held no slot when it began: then it restores, and fills nothing.
  started_at: When it began. UTC.
  finished_at: When it ended; NULL: it has not, or was ended in its midst. UTC.
  report: What it has done so far, in counts.
backfill_positions: How far a backfill under way has read each segment of a journal.
  backfill_id: The backfill: backfills.id.
  segment: Name of the journal's file.
  read_to: All before this place is read, in bytes from the beginning of the file, uncompressed.
archive_identity: One row: a name of chance, which tells this archive from others. A lake is of one archive.
  id: A UUID by chance.
archive_lake: One row: the lake of this archive. None: no lake was begun.
  id: The lake's id, as its file lake.json has it: a UUID by chance.
  set_at: Since when this is the archive's lake. UTC.
late_days: Exchange dates of which rows came or were changed after the date was over.
  date: The date, New York.
  changed_by: The last transaction that did so: a snapshot tells whether it has seen it.
  changed_at: When that was. UTC.
dropped_days: Exchange dates of which quotes and extended quotes were dropped: the lake has all of them.
  as late_days: date
  dropped_at: When the quotes were dropped. UTC.
  files: The lake's files that have these quotes: for each the table, the path in the lake, the revision, the bytes and the SHA-256. NULL: dropped by a release that did not say; the next `quotekeeper lake` does.
schema_migrations: The migrations that this database has had.
  version: Number of the migration.
  name: Name of its file in migrations/.
  sha256: SHA-256 of that file.
  applied_at: When it was applied, by the database's clock. UTC.
schema_texts: The texts of functions, views and comments in force.
  name: Name of the file in migrations/repeat/.
  sha256: Its SHA-256 in hex.
  applied_at: When it was applied. UTC.
latest_quotes: The newest quote of each instrument: one row per source, real-time and delayed apart.
  as quotes: instrument_id delayed observed_at bid ask last change pct_change
  as instruments: security_type symbol expiration option_type strike description
  source: Kind of source: account, simulated or import. Origin: sources.kind.
  as extended_quotes: bid_size ask_size volume delta
  source_name: Name of the source. Origin: sources.name.
  root: As instruments.root: of an option the root of its OCC symbol where that is another than the underlying's; else NULL. Origin: instruments.root.
  as quotes: quoted_at traded_at
  as extended_quotes: open_interest implied_volatility bid_iv ask_iv gamma theta vega rho greeks_at
bars_1m: Bars of 1 minute in exchange time, of the observations of `last`. Name date in the where clause: it is what makes it fast.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  as intraday_bars: session bar_at
  mean_spread: Mean of ask less bid, in dollars per share, of the quotes in which both are above 0; NULL: none. Origin: quotes.ask and quotes.bid.
  volume: Shares traded in the bar, of an option contracts: what volume has grown since the bar before, in a date's first bar since the first number shown; NULL: none was shown. Origin: extended_quotes.volume.
bars_5m: Bars of 5 minutes in exchange time, of the observations of `last`. Name date in the where clause: it is what makes it fast.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  as intraday_bars: session bar_at
  as bars_1m: mean_spread volume
  log_return: Natural logarithm of close by the close before it in the same session, a number without unit, to 12 places; NULL where there is none. Origin: quotes.last.
bars_1h: Bars of 1 hour in exchange time, of the observations of `last`. Name date in the where clause: it is what makes it fast.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  as intraday_bars: session bar_at
  as bars_1m: mean_spread volume
session_bars_now: Internal, part of bars_1d: session_bars with the rows that their bars do not have yet.
  as session_bars: instrument_id source_id delayed date first_at last_at open high low close close_at spread_sum spread_count quote_count
  volume: Shares traded on the date, of an option contracts: the last number shown; NULL: none. Origin: extended_quotes.volume.
bars_1d: One bar for each exchange date, of all its hours; bars_1d_regular has those of regular hours alone. volume is the last one shown.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date first_at last_at open high low close quote_count
  session: regular, early, or closed: no session on that date; of the simulated market always regular. Origin: sessions.kind.
  as bars_1m: mean_spread
  as session_bars_now: volume
  close_session: Part of the session that close is of: pre, regular, post, or closed for all other time; NULL: no close. Origin: sessions.
bars_1d_regular: One bar for each exchange date, of the quotes between open and close alone; bars_1d has those of all hours.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  bar_at: When its first bar of an hour begins. UTC. Origin: bars_1h.bar_at.
  volume: Shares traded in regular hours, of an option contracts: the sum of the bars of an hour; NULL: none was shown. Origin: extended_quotes.volume.
option_chain_latest: One row per underlying, root, expiration and strike, until the expiration's close: now, or at the instant of the setting quotekeeper.as_of. moneyness is the underlying's last over the strike.
  underlying: Symbol of the underlying. Origin: instruments.symbol.
  as instruments: expiration strike
  as latest_quotes: source source_name
  as quotes: delayed
  underlying_id: Of an option: instruments.id of its underlying; else NULL.
  call_instrument_id: The call: instruments.id; NULL: there is none, and so is all of call_.
  call_observed_at: Of the call: when the answer with the quote had arrived, UTC, in microseconds; of an import the time that the file gives. The service sends no time of a quote.
  call_bid: Of the call: bid, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody bids. Origin: bidprice of quote or undlyquote.
  call_ask: Of the call: ask, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody asks. Origin: askprice of quote or undlyquote.
  call_mid: Middle of bid and ask of the call, in dollars per share; NULL: no ask. Origin: quotes.bid and quotes.ask.
  call_spread: Ask less bid of the call, in dollars per share; NULL: no ask. Origin: quotes.ask and quotes.bid.
  call_last: Of the call: price of the last trade, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, and no trade. Origin: lastprice of quote or undlyquote.
  call_delta: Of the call: change of its price in dollars when the underlying rises by 1 dollar; else NULL. Origin: delta of extendedquote, or of greeks where that is missing.
  call_volume: Of the call: shares traded, of an option contracts; NULL: not sent. The bars take it for the sum of the day so far. Origin: volume of extendedquote.
  put_instrument_id: The put: instruments.id; NULL: there is none, and so is all of put_.
  put_observed_at: Of the put: when the answer with the quote had arrived, UTC, in microseconds; of an import the time that the file gives. The service sends no time of a quote.
  put_bid: Of the put: bid, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody bids. Origin: bidprice of quote or undlyquote.
  put_ask: Of the put: ask, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody asks. Origin: askprice of quote or undlyquote.
  put_mid: Middle of bid and ask of the put, in dollars per share; NULL: no ask. Origin: quotes.bid and quotes.ask.
  put_spread: Ask less bid of the put, in dollars per share; NULL: no ask. Origin: quotes.ask and quotes.bid.
  put_last: Of the put: price of the last trade, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, and no trade. Origin: lastprice of quote or undlyquote.
  put_delta: Of the put: change of its price in dollars when the underlying rises by 1 dollar; else NULL. Origin: delta of extendedquote, or of greeks where that is missing.
  put_volume: Of the put: shares traded, of an option contracts; NULL: not sent. The bars take it for the sum of the day so far. Origin: volume of extendedquote.
  underlying_last: Newest last price of the underlying, in dollars per share; NULL: not known; 0: sent so, and no trade. Origin: quotes.last.
  moneyness: underlying_last by strike, a ratio; NULL: no price. Origin: quotes.last and instruments.strike.
  root: Root of the contracts' OCC symbols where that is another than the underlying's; else NULL: a strike has a row for each root. Origin: instruments.root.
  call_quoted_at: Of the call: when bid and ask were made, as the service says it, UTC; NULL: not said. Origin: quotes.quoted_at.
  call_traded_at: Of the call: when the last trade was made, as the service says it, UTC; NULL: not said, or never. Origin: quotes.traded_at.
  call_open_interest: Of the call: contracts that are open, mostly of the session before; NULL: not said. Origin: extended_quotes.open_interest.
  call_implied_volatility: Of the call: volatility that the service reckons from the middle of bid and ask, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: extended_quotes.implied_volatility.
  put_quoted_at: Of the put: when bid and ask were made, as the service says it, UTC; NULL: not said. Origin: quotes.quoted_at.
  put_traded_at: Of the put: when the last trade was made, as the service says it, UTC; NULL: not said, or never. Origin: quotes.traded_at.
  put_open_interest: Of the put: contracts that are open, mostly of the session before; NULL: not said. Origin: extended_quotes.open_interest.
  put_implied_volatility: Of the put: volatility that the service reckons from the middle of bid and ask, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: extended_quotes.implied_volatility.
option_surface: Implied volatilities and greeks of the contracts that have not expired: now, or at the instant of the setting quotekeeper.as_of.
  as quotes: instrument_id delayed observed_at bid ask
  as option_chain_latest: underlying
  as instruments: expiration option_type strike
  as latest_quotes: source source_name
  spot: Price of the underlying when the contract was quoted, in dollars per share: the middle of its bid and ask, or last where one of them is missing; NULL: none within a day. Origin: quotes.
  moneyness: spot by strike, a ratio; NULL: no spot. Origin: quotes and instruments.strike.
  years: From observed_at to the close at which the contract expires, in years of 365 days.
  mid: Middle of bid and ask, in dollars per share; NULL: no ask. Origin: quotes.bid and quotes.ask.
  iv_bid: Implied volatility per year at the bid: 0.2 is 20 %; NULL: no bid, or none gives this price.
  iv_mid: Implied volatility per year at mid: 0.2 is 20 %; NULL: no bid, or none gives this price.
  iv_ask: Implied volatility per year at the ask: 0.2 is 20 %; NULL: no ask, or none gives this price.
  delta: Change of the value in dollars when the underlying rises by 1 dollar, at iv_mid; NULL without it.
  gamma: Change of delta when the underlying rises by 1 dollar, at iv_mid; NULL without it.
  vega: Change of the value in dollars per share when volatility rises by 1, as from 20 % to 120 %, at iv_mid; NULL without it.
  theta: Change of the value in dollars per share, for each year that passes, at iv_mid; NULL without it.
  rho: Change of the value in dollars per share when the interest rate rises by 1, as from 4 % to 104 %, at iv_mid; NULL without it.
  service_delta: Of an option: change of its price in dollars when the underlying rises by 1 dollar; else NULL. Origin: delta of extendedquote, or of greeks where that is missing.
  delta_difference: delta less service_delta, in dollars per dollar; NULL where one is missing.
  as quotes: quoted_at traded_at
  as extended_quotes: open_interest greeks_at
  service_iv_bid: Volatility that the service reckons from the bid, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: extended_quotes.bid_iv.
  service_iv_mid: Volatility that the service reckons from the middle of bid and ask, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: extended_quotes.implied_volatility.
  service_iv_ask: Volatility that the service reckons from the ask, a year's as a fraction: 0.2 is 20 %; NULL: not said. Origin: extended_quotes.ask_iv.
  service_gamma: Change of delta when the underlying rises by 1 dollar, as the service reckons it; NULL: not said. Origin: extended_quotes.gamma.
  service_theta: Change of the price in dollars in a day, as the service reckons it; NULL: not said. Origin: extended_quotes.theta.
  service_vega: Change of the price in dollars when volatility rises by 0.01, as the service reckons it; NULL: not said. Origin: extended_quotes.vega.
  service_rho: Change of the price in dollars when the interest rate rises by 0.01, as the service reckons it; NULL: not said. Origin: extended_quotes.rho.
  iv_mid_difference: iv_mid less service_iv_mid, a year's as a fraction: 0.2 is 20 %; NULL where one is missing.
  gamma_difference: gamma less service_gamma, per dollar; NULL where one is missing.
  theta_difference: theta of a day less service_theta, in dollars per share; NULL where one is missing.
  vega_difference: vega of a volatility's 0.01 less service_vega, in dollars per share; NULL where one is missing.
  rho_difference: rho of a rate's 0.01 less service_rho, in dollars per share; NULL where one is missing.
  root: Root of the contract's OCC symbol where that is another than the underlying's; else NULL. Origin: instruments.root.
coverage_daily: date is the exchange's, America/New_York.
  date: Date of the slots, New York. Origin: slots.slot_at.
  as latest_quotes: source
  instrument: Name of the instrument: AAPL, AAPL:2026-12-18:CALL:150, chain SPX:2026-12-18, or watchlist and its name. Origin: due_sets.instruments.
  expected: How many times it was due. Origin: slots and due_sets.
  stored: How many of them have a quote. Origin: slots and misses.
  missed: How many of them have none. Origin: misses.
  reasons: How many were missed for each reason, such as {"budget": 2}. Origin: misses.reason.
dividend_calendar: is_ahead: what is announced and to come. change: what differs from what was said before.
  as quotes: instrument_id observed_at
  as instruments: security_type symbol
  as latest_quotes: source source_name
  as dividends: ex_date amount yield
  previous_ex_date: ex_date of the row before, New York; NULL: there is none, or it was not sent. Origin: dividends.ex_date.
  previous_amount: amount of the row before, in dollars per share; NULL: there is none, or it was not sent. Origin: dividends.amount.
  previous_yield: yield of the row before, as sent, a ratio or in percent; NULL: there is none, or it was not sent. Origin: dividends.yield.
  change: What differs from the row before: ex_date, amount or yield; first: there is none.
  is_newest: Whether no later row of the instrument and source is there.
  is_ahead: Whether it is the newest, and its ex_date is today in New York or later.$comments$, E'\n') loop
    if line !~ '^ ' then
      relation := split_part(line, ':', 1);
      execute format('comment on %s %I is %L', case when (select relkind from pg_class where oid = relation::regclass) = 'v' then 'view' else 'table' end,
        relation, nullif(substr(line, length(relation) + 3), ''));
      continue;
    end if;
    foreach name in array case when line ~ '^  as ' then string_to_array(split_part(line, ': ', 2), ' ')
      else array[trim(split_part(line, ':', 1))] end loop
      said := said || jsonb_build_object(relation || '.' || name, case
        when line ~ '^  as ' then said ->> (split_part(trim(split_part(line, ':', 1)), ' ', 2) || '.' || name)
        when line ~ 'Origin: ' then substr(line, length(name) + 5)
        else substr(line, length(name) + 5) || ' Origin: the program.'
      end);
      execute format('comment on column %I.%I is %L', relation, name, said ->> (relation || '.' || name));
    end loop;
  end loop;
end
$do$;
