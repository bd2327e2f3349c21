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
  spot: Name of the source of the same kind that has the prices of its contracts' underlyings; NULL: itself.
  interest: Name of the source of the same kind that has the open interest of its contracts; NULL: itself.
instruments: What is quoted. The symbol of an option is that of its underlying.
  id: Number of the instrument.
  security_type: Kind of security, such as CS (common stock) or OPT (option); never sent: CS for an underlying, else UNKNOWN. Origin: sectyp of instrument.
  symbol: Symbol; of an option that of its underlying. Origin: sym of instrument or underlying.
  exchange: Code of the exchange, such as NSD or CMP, as sent last; NULL: never sent. Origin: exch of instrument or underlying.
  description: Name for people, as sent last; NULL: never sent. Origin: desc of instrument or underlying.
  underlying_id: Of an option: instruments.id of its underlying; NULL: the archive has none.
  expiration: Of an option: the date on which it expires, New York. Origin: matdt of instrument.
  option_type: Of an option: CALL or PUT. Origin: putcall of instrument, 1 is CALL and 0 PUT.
  strike: Of an option: its strike price, in dollars for one share of the underlying. Origin: strkpx of instrument.
  contract_size: Of an option: units of the underlying in one contract, as sent last; NULL: never sent. Origin: contractsize of extendedquote.
  first_seen_at: observed_at of its oldest quote. UTC.
  last_seen_at: observed_at of its newest quote. UTC.
  type_assumed: Whether security_type is assumed, until an answer says it.
  root: Of an option: the root of its OCC symbol where it is not the underlying's, such as SPXW of SPX. Origin: an OCC symbol, sym of instrument beside underlying, or a column of an imported file.
  exchange_at: When exchange was said last, UTC; NULL: at last_seen_at, or never.
  description_at: When description was said last, UTC; NULL: at last_seen_at, or never.
  contract_size_at: When contract_size was said last, UTC; NULL: at last_seen_at, or never.
responses: Each answer of the service, and each piece of an imported file, without its body, which is in the journal.
  observed_at: When the answer had arrived, in microseconds, UTC. It names the answer.
  source_id: Where it comes from: sources.id.
  request_id: A UUIDv7, made before the call was sent.
  requested_at: When the call was sent, by the machine's clock. UTC.
  job: The jobs that the call was for, with commas; once: and a name: a one-off job; NULL: imported. Origin: the job files.
  request: What was asked for, without credentials.
  http_status: HTTP status of the answer, such as 200 or 429. Origin: the answer.
  outcome: What came of the call: quotes, quota_fault, unauthorized, too_long, refused, server_error or malformed.
  response_id: The service's own name for the answer. Origin: attribute id of response.
  server_date: The service's clock when it answered, in whole seconds, UTC. Origin: header Date.
  rate_limit_used: Calls that the service has counted against the limit. Origin: header X-RateLimit-Used.
  rate_limit_remaining: Calls that the limit still allows. Origin: header X-RateLimit-Remaining.
  rate_limit_limit: Calls that the limit allows in all. Origin: header X-RateLimit-Limit.
  rate_limit_expire: Unix time in seconds, as sent; not to be trusted as a time. Origin: header X-RateLimit-Expire.
  body_bytes: Length of the body, in bytes. Origin: the answer.
  journal_segment: The file of the journal that holds the whole answer.
  journal_offset: Where in that file it stands, in bytes from the beginning, uncompressed.
  account_id: The account that made the call: accounts.id.
  has_more: Whether the answer named a further page; NULL: it did not.
quotes: What each answer says of an instrument's prices. A field that could not be read is NULL too, and in dead_letters.
  observed_at: When the answer had arrived, UTC, in microseconds; of an import the file's time.
  instrument_id: What is quoted: instruments.id.
  as responses: source_id
  delayed: Whether the quote is a delayed one; false: real-time. It tells no rows apart. Origin: parameter delayed of the call.
  bid: Bid, in dollars per share; 0: nobody bids, as after hours. Origin: bidprice of quote or undlyquote.
  ask: Ask, in dollars per share; 0: nobody asks, as after hours. Origin: askprice of quote or undlyquote.
  last: Price of the last trade, in dollars per share; 0: no trade. Origin: lastprice of quote or undlyquote.
  change: Change of the price, in dollars per share, in all known answers since previous_close. Origin: change of quote or undlyquote.
  pct_change: Change of the price, in percent: 1.5 is 1.5 %. Origin: pctchange of quote or undlyquote.
  quoted_at: When bid and ask were made, UTC: the later of the two. Origin: bid_date and ask_date of tradier.
  traded_at: When the last trade was made, UTC; NULL also: never. Origin: trade_date of tradier.
extended_quotes: The other fields of the quotes, under the same key; and open interest that comes without a quote.
  as quotes: observed_at instrument_id
  as responses: source_id
  bid_size: Size at the bid, as sent: shares, of an option contracts; of an import what the file says, before 2025-11-03 often lots of 100. Origin: bidsize of extendedquote.
  ask_size: Size at the ask, as bid_size: shares, of an option contracts. Origin: asksize of extendedquote.
  open: Opening price, in dollars per share. Origin: openprice of extendedquote.
  high: Highest price of the session so far, in dollars per share. Origin: highprice of extendedquote.
  low: Lowest price of the session so far, in dollars per share. Origin: lowprice of extendedquote.
  previous_close: Close of the session before, in dollars per share. Origin: prevclose of extendedquote.
  volume: Shares traded, of an option contracts. It is the sum of the day so far. Origin: volume of extendedquote.
  session_volume: Shares traded in the session; the service does not say how that differs from volume. None for options. Origin: sessionvolume of extendedquote.
  earnings_per_share: Earnings per share, in dollars, below 0 for a loss; none for options. Origin: earningspershare of extendedquote.
  pe_ratio: Price by earnings, a ratio; none for options. Origin: priceearningsratio of extendedquote.
  high_52_week: Highest price of 52 weeks, in dollars per share; none for options. Origin: high52price of extendedquote.
  low_52_week: Lowest price of 52 weeks, in dollars per share; none for options. Origin: low52price of extendedquote.
  contract_high: Of an option: its highest price, in dollars per share. Origin: contracthigh of extendedquote.
  contract_low: Of an option: its lowest price, in dollars per share. Origin: contractlow of extendedquote.
  contract_size: Of an option: units of the underlying in one contract. Origin: contractsize of extendedquote.
  delta: Of an option: change of its price in dollars when the underlying rises by 1 dollar. Origin: delta of extendedquote, or of greeks where that is missing.
  open_interest: Of an option: contracts that are open, mostly of the session before. Origin: open_interest of tradier.
  average_volume: Shares traded on an average day, of an option contracts; the service does not say of which days. Origin: average_volume of tradier.
  implied_volatility: Of an option: volatility by the service at the middle of bid and ask, a year's: 0.2 is 20 %. Origin: mid_iv of greeks of tradier.
  bid_iv: Of an option: volatility by the service at the bid, a year's: 0.2 is 20 %. Origin: bid_iv of greeks of tradier.
  ask_iv: Of an option: volatility by the service at the ask, a year's: 0.2 is 20 %. Origin: ask_iv of greeks of tradier.
  gamma: Of an option: change of delta when the underlying rises by 1 dollar, by the service. Origin: gamma of greeks of tradier.
  theta: Of an option: change of its price in dollars in a day, by the service. Origin: theta of greeks of tradier.
  vega: Of an option: change of its price in dollars when the volatility rises by 0.01, by the service. Origin: vega of greeks of tradier.
  rho: Of an option: change of its price in dollars when the interest rate rises by 0.01, by the service. Origin: rho of greeks of tradier.
  greeks_at: When the service reckoned volatilities and greeks, UTC. Origin: updated_at of greeks of tradier.
  open_interest_date: Of an option: date at whose end open_interest was counted, New York; NULL: not said. Origin: open_interest_date of alpaca.
dividends: A row when a dividend is first seen, or differs from the last one.
  as quotes: observed_at instrument_id
  as responses: source_id
  ex_date: First date without the dividend, New York. Origin: exdate of dividenddata.
  amount: Dividend, in dollars per share; 0 beside an old ex_date: no dividend. Origin: amt of dividenddata.
  yield: Dividend yield, as sent, a ratio or in percent; sent as 4.9E-324 (no dividend): NULL. Origin: yield of dividenddata.
dead_letters: What arrived and could not be stored as a row.
  observed_at: observed_at of the answer; of a note of the ledger when that was written. UTC.
  as responses: source_id
  ordinal: Number of the dead letter within its answer, from 0.
  instrument: Name of the instrument, as in misses; NULL: it could not be told.
  reason: malformed: unreadable; not_asked: nobody asked for it; answered_twice: two contradicting values, neither stored; odd_field: one field is NULL; refused_by_database.
  detail: What was wrong, in a sentence.
  fragment: The piece of the answer, cut where it is long; NULL: there is none. Origin: the answer.
accounts: Who polls, by the names in the journal. An account without a name is default. No secrets: these stay on the machines.
  id: Number of the account; 1 is default.
  name: Its name. Origin: accounts.yaml.
  call_limit: Calls in a window of window_ms. Origin: QUOTES_LIMIT, accounts.yaml or the service.
  window_ms: Length of the window in ms. Origin: QUOTES_LIMIT_WINDOW_MS or accounts.yaml.
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
  source_id: Which market was polled: sources.id; 1 is an account's.
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
sessions: The exchange's calendar. A date that is not here has no session.
  date: Date of the session, New York.
  kind: regular, or early: it closes before 16:00 in New York.
  pre_at: When trading before the open begins. UTC.
  open_at: When the exchange opens. UTC.
  close_at: When it closes. UTC.
  post_at: When trading after the close ends. UTC.
  reason: Why it opens late or closes early; NULL: an ordinary day.
calendar_days: Days that jobs/calendar.yaml changes; sessions follow.
  date: The exchange's date, New York. Origin: calendar.yaml.
  kind: closed: no session; early: one that ends at close; regular: 09:30 to 16:00. Origin: calendar.yaml.
  close: When an early session ends, HH:MM in New York; NULL: 13:00. Origin: calendar.yaml.
  reason: Why, in the operator's words. Origin: calendar.yaml.
session_bars: One bar for each exchange date, made a few seconds after its quotes. After statements of your own on quotes call recompute_session_bars(from, to). Prices are those of last above 0.
  as quotes: instrument_id
  as responses: source_id
  delayed: Whether it is of delayed quotes; false: of real-time ones. Origin: quotes.delayed.
  date: The exchange's date, New York.
  first_at: observed_at of its first quote. UTC. Origin: quotes.observed_at.
  last_at: observed_at of its last quote. UTC. Origin: quotes.observed_at.
  open: First price above 0, in dollars per share. Origin: quotes.last.
  high: Highest price above 0, in dollars per share. Origin: quotes.last.
  low: Lowest price above 0, in dollars per share. Origin: quotes.last.
  close: Last price above 0, in dollars per share. Origin: quotes.last.
  open_at: observed_at of the quote with that first price; UTC. Origin: quotes.observed_at.
  close_at: observed_at of the quote with that last price; UTC. Origin: quotes.observed_at.
  spread_sum: Sum of ask less bid, in dollars per share, where both are above 0. Origin: quotes.ask and quotes.bid.
  spread_count: How many quotes have a bid and an ask above 0.
  quote_count: How many quotes it is made of.
  volume: Shares traded, of an option contracts: the last number of that date; NULL while extended_quotes has it. Origin: extended_quotes.volume.
  quotes_dropped: Retention has dropped quotes of it: it stays until as many rows are there again.
  made_to: Later rows came since it was made; -infinity: it is to be made again; NULL: it has all rows. UTC.
  bars_to: intraday_bars has the bars that end by then; infinity: all; -infinity: none, because they would take as much room as their quotes. UTC.
intraday_bars: Bars that end by session_bars.bars_to; newer ones, and those of a contract's dates with two quotes in five minutes or fewer, are read from the rows.
  bar_at: When the bar begins. UTC.
  as session_bars: date delayed spread_count quote_count open high low close spread_sum
  as quotes: instrument_id
  as responses: source_id
  minutes: Minutes of the bar: 5 or 60.
  session: Part of the session: pre, regular, post, or closed; of the simulated market regular. Origin: sessions.
  volume: Shares traded on the date, of an option contracts: the last number shown in the bar. Origin: extended_quotes.volume.
  volume_before: The last number shown earlier on that date, else the first of the bar. Shares, of an option contracts. Origin: extended_quotes.volume.
  log_return: Of five minutes: natural logarithm of close by the close before it in the session, a number without unit. Origin: quotes.last.
derived_closes: The close of a session of which the archive holds no quote near its end, derived from previous_close of the next session.
  instrument_id: Whose close: instruments.id.
  date: Date of the session that has no quote near its end, New York.
  source_id: Where the later quote comes from: sources.id.
  close: The close, in dollars per share. Origin: extended_quotes.previous_close of the next session.
  derived_from: observed_at of the quote that said previous_close. UTC.
  derived_at: When it was derived. UTC.
clock_steps: The collector's clock was set, its machine slept, or the program could not run.
  moved_at: The clock when it was noticed, within seconds; before the step it said moved_at - step_ms. UTC.
  step_ms: By how many ms the clock was set, below 0: back; or how many it slept or stood still.
  kind: set_back or set_forward: the clock was set; slept: the machine was asleep; stopped: the program could not run.
collectors: Every collector that has ever joined, until an operator forgets it. It tells of itself every 2 seconds.
  id: Stands in the data directory: a collector is the same after a restart.
  number: The rest of its receive times, in microseconds, by 256: no two collectors share one.
  name: Its name, which no other collector has.
  run: The run of its process, by a name of chance.
  pid: Number of its process. Origin: the operating system.
  host: Name of its machine. Origin: the operating system.
  version: Version of the program.
  started_at: When its run began. UTC.
  seen_at: When it told of itself last. UTC.
  beat: Counts what it has told.
  stopped: Whether it has said that it ends.
  jobs_digest: A digest of its job files and accounts: all collectors have the same.
  files: The digests of these one by one, to say what differs. No secrets.
  knows: What it wants in the next epoch: accounts that the service refuses, and prices that chains hang on.
  journal_lag: Bytes of its journal that the archive has not loaded; NULL: not known.
  clock_offset_ms: How far its clock is ahead of the database's, in ms.
leases: Which collector calls an account. It is renewed every 2 seconds, and taken by another after 7 without.
  account_id: The account: accounts.id.
  fence: Counts the holders: who renews with an older number has lost it.
  holder: The collector that calls it: collectors.id.
  run: The run of that collector's process. Origin: collectors.run.
  beat: Counts the renewals.
  granted_at: When the holder took it. UTC.
  renewed_at: When the holder renewed it last. UTC.
  expires_at: Until when it holds if nobody renews it. UTC.
  released: Whether the holder has given it back.
  governor: What the holder knows of the account's budget, for whoever comes after it.
lease_history: Who took each account when, and from whom.
  as leases: account_id
  fence: Number of the holder among all that the account has had. Origin: leases.fence.
  taken_at: When it was taken. UTC.
  holder: Who took it: collectors.id.
  collector: The name of who took it. Origin: collectors.name.
  how: new, released, restarted (the run before on the data directory was dead) or expired.
  previous: The name of who had it before; NULL: nobody, or a collector that is forgotten. Origin: collectors.name.
epochs: What all collectors go by, from the first slot at from_at on.
  number: Number of the epoch. Of those that have begun the highest is in force.
  from_at: Slots from this time on go by it. UTC.
  jobs_digest: Digest of the job files and accounts it was made with. Origin: collectors.jobs_digest.
  accounts: The accounts that share the jobs, by name.
  prices: The prices that chains were expanded by: {"date": exchange date, "of": {symbol: price}}.
  proposed_by: The collector that wrote it.
backfills: One row for each backfill.
  id: Number of the backfill.
  kind: journal, xml, csv, parquet or sweep.
  asked: What was asked for, without secrets. Origin: the command's flags.
  digest: SHA-256 of kind and asked: what makes two runs the same backfill.
  began_empty: Whether the ledger held no slot when it began: then it restores, and fills nothing.
  started_at: When it began. UTC.
  finished_at: When it ended; NULL: not yet. UTC.
  report: What it has done so far, in counts.
backfill_positions: How far a backfill under way has read each segment of a journal.
  backfill_id: The backfill: backfills.id.
  segment: Name of the journal's file.
  read_to: All before this place is read, in bytes from the beginning of the file, uncompressed.
archive_identity: One row: the archive's name.
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
  files: The lake's files that have these quotes: table, path, revision, bytes, SHA-256. NULL: dropped by an earlier release.
schema_migrations: The migrations that this database has had.
  version: Number of the migration.
  name: Name of its file in migrations/.
  sha256: SHA-256 of that file.
  applied_at: When it was applied. UTC.
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
  root: As instruments.root: of an option the root of its OCC symbol where it is not the underlying's. Origin: instruments.root.
  as quotes: quoted_at traded_at
  as extended_quotes: open_interest implied_volatility bid_iv ask_iv gamma theta vega rho greeks_at
bars_1m: Bars of 1 minute in exchange time, of the observations of `last`. A condition on date makes it fast.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  as intraday_bars: session bar_at
  mean_spread: Mean of ask less bid, in dollars per share, where both are above 0. Origin: quotes.ask and quotes.bid.
  volume: Shares traded in the bar, of an option contracts: growth of the day's volume since the bar before. Origin: extended_quotes.volume.
bars_5m: Bars of 5 minutes, as bars_1m.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  as intraday_bars: session bar_at
  as bars_1m: mean_spread volume
  log_return: Natural logarithm of close by the close before it in the same session, a number without unit. Origin: quotes.last.
bars_1h: Bars of 1 hour, as bars_1m.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  as intraday_bars: session bar_at
  as bars_1m: mean_spread volume
session_bars_now: Internal, part of bars_1d: session_bars with the rows that their bars do not have yet.
  as session_bars: instrument_id source_id delayed date first_at last_at open high low close close_at spread_sum spread_count quote_count
  volume: Shares traded on the date, of an option contracts: the last number shown. Origin: extended_quotes.volume.
bars_1d: One bar for each exchange date, of all its hours; bars_1d_regular has those of regular hours alone. volume is the last one shown.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date first_at last_at open high low close quote_count
  session: regular, early, or closed: no session; of the simulated market regular. Origin: sessions.kind.
  as bars_1m: mean_spread
  as session_bars_now: volume
  close_session: Part of the session that close is of: pre, regular, post or closed. Origin: sessions.
bars_1d_regular: One bar for each exchange date, of the quotes between open and close alone; bars_1d has those of all hours.
  as quotes: instrument_id
  as instruments: security_type symbol expiration option_type strike
  as latest_quotes: source source_name
  as session_bars: delayed date open high low close quote_count
  bar_at: When its first bar of an hour begins. UTC. Origin: bars_1h.bar_at.
  volume: Shares traded in regular hours, of an option contracts. Origin: extended_quotes.volume.
option_chain_latest: One row per underlying, root, expiration and strike, until the expiration's close: now, or at the instant of the setting quotekeeper.as_of.
  underlying: Symbol of the underlying. Origin: instruments.symbol.
  as instruments: expiration strike
  as latest_quotes: source source_name
  as quotes: delayed
  underlying_id: Of an option: instruments.id of its underlying.
  call_instrument_id: The call: instruments.id; NULL: there is none.
  call_observed_at: Of the call: when the answer had arrived, UTC, in microseconds; of an import the file's time.
  call_bid: Of the call: bid, in dollars per share; 0: nobody bids, as after hours. Origin: bidprice of quote or undlyquote.
  call_ask: Of the call: ask, in dollars per share; 0: nobody asks, as after hours. Origin: askprice of quote or undlyquote.
  call_mid: Middle of bid and ask of the call, in dollars per share. Origin: quotes.bid and quotes.ask.
  call_spread: Ask less bid of the call, in dollars per share. Origin: quotes.ask and quotes.bid.
  call_last: Of the call: price of the last trade, in dollars per share; 0: no trade. Origin: lastprice of quote or undlyquote.
  call_delta: Of the call: change of its price in dollars when the underlying rises by 1 dollar. Origin: delta of extendedquote, or of greeks where that is missing.
  call_volume: Of the call: shares traded, of an option contracts. It is the sum of the day so far. Origin: volume of extendedquote.
  put_instrument_id: The put: instruments.id; NULL: there is none.
  put_observed_at: Of the put: when the answer had arrived, UTC, in microseconds; of an import the file's time.
  put_bid: Of the put: bid, in dollars per share; 0: nobody bids, as after hours. Origin: bidprice of quote or undlyquote.
  put_ask: Of the put: ask, in dollars per share; 0: nobody asks, as after hours. Origin: askprice of quote or undlyquote.
  put_mid: Middle of bid and ask of the put, in dollars per share. Origin: quotes.bid and quotes.ask.
  put_spread: Ask less bid of the put, in dollars per share. Origin: quotes.ask and quotes.bid.
  put_last: Of the put: price of the last trade, in dollars per share; 0: no trade. Origin: lastprice of quote or undlyquote.
  put_delta: Of the put: change of its price in dollars when the underlying rises by 1 dollar. Origin: delta of extendedquote, or of greeks where that is missing.
  put_volume: Of the put: shares traded, of an option contracts. It is the sum of the day so far. Origin: volume of extendedquote.
  underlying_last: Newest last price of the underlying, in dollars per share; 0: no trade. Origin: quotes.last.
  moneyness: underlying_last by strike, a ratio. Origin: quotes.last and instruments.strike.
  root: Root of the contracts' OCC symbols where it is not the underlying's; a strike has a row for each root. Origin: instruments.root.
  call_quoted_at: Of the call: when bid and ask were made, UTC. Origin: quotes.quoted_at.
  call_traded_at: Of the call: when the last trade was made, UTC; NULL also: never. Origin: quotes.traded_at.
  call_open_interest: Of the call: contracts that are open, mostly of the session before. Origin: extended_quotes.open_interest.
  call_implied_volatility: Of the call: volatility by the service at the middle of bid and ask, a year's: 0.2 is 20 %. Origin: extended_quotes.implied_volatility.
  put_quoted_at: Of the put: when bid and ask were made, UTC. Origin: quotes.quoted_at.
  put_traded_at: Of the put: when the last trade was made, UTC; NULL also: never. Origin: quotes.traded_at.
  put_open_interest: Of the put: contracts that are open, mostly of the session before. Origin: extended_quotes.open_interest.
  put_implied_volatility: Of the put: volatility by the service at the middle of bid and ask, a year's: 0.2 is 20 %. Origin: extended_quotes.implied_volatility.
  spot_source: Name of the source that underlying_last is of: source_name, or another feed of the service. Origin: sources.spot.
option_surface: Implied volatilities and greeks of the contracts that have not expired: now, or at the instant of the setting quotekeeper.as_of.
  as quotes: instrument_id delayed observed_at bid ask
  as option_chain_latest: underlying
  as instruments: expiration option_type strike
  as latest_quotes: source source_name
  spot: Price of the underlying at that time, in dollars per share: the middle of bid and ask, else last; none older than a day. Origin: quotes.
  moneyness: spot by strike, a ratio. Origin: quotes and instruments.strike.
  years: From observed_at to the close at which the contract expires, in years of 365 days.
  mid: Middle of bid and ask, in dollars per share. Origin: quotes.bid and quotes.ask.
  iv_bid: Implied volatility per year at the bid: 0.2 is 20 %.
  iv_mid: Implied volatility per year at mid: 0.2 is 20 %.
  iv_ask: Implied volatility per year at the ask: 0.2 is 20 %.
  delta: Change of the value in dollars when the underlying rises by 1 dollar, at iv_mid.
  gamma: Change of delta when the underlying rises by 1 dollar, at iv_mid.
  vega: Change of the value in dollars per share when volatility rises by 1, as from 20 % to 120 %, at iv_mid.
  theta: Change of the value in dollars per share, for each year that passes, at iv_mid.
  rho: Change of the value in dollars per share when the interest rate rises by 1, as from 4 % to 104 %, at iv_mid.
  service_delta: Of an option: change of its price in dollars when the underlying rises by 1 dollar. Origin: delta of extendedquote, or of greeks where that is missing.
  delta_difference: delta less service_delta, in dollars per dollar.
  as quotes: quoted_at traded_at
  as extended_quotes: open_interest greeks_at
  service_iv_bid: Volatility by the service at the bid, a year's: 0.2 is 20 %. Origin: extended_quotes.bid_iv.
  service_iv_mid: Volatility by the service at the middle of bid and ask, a year's: 0.2 is 20 %. Origin: extended_quotes.implied_volatility.
  service_iv_ask: Volatility by the service at the ask, a year's: 0.2 is 20 %. Origin: extended_quotes.ask_iv.
  service_gamma: Change of delta when the underlying rises by 1 dollar, by the service. Origin: extended_quotes.gamma.
  service_theta: Change of the price in dollars in a day, by the service. Origin: extended_quotes.theta.
  service_vega: Change of the price in dollars when volatility rises by 0.01, by the service. Origin: extended_quotes.vega.
  service_rho: Change of the price in dollars when the interest rate rises by 0.01, by the service. Origin: extended_quotes.rho.
  iv_mid_difference: iv_mid less service_iv_mid, a year's as a fraction: 0.2 is 20 %.
  gamma_difference: gamma less service_gamma, per dollar.
  theta_difference: theta of a day less service_theta, in dollars per share.
  vega_difference: vega of a volatility's 0.01 less service_vega, in dollars per share.
  rho_difference: rho of a rate's 0.01 less service_rho, in dollars per share.
  root: Root of the contract's OCC symbol where it is not the underlying's. Origin: instruments.root.
  spot_source: Name of the source that spot is of: source_name, or another feed of the service. Origin: sources.spot.
  as extended_quotes: open_interest_date
sources_beside: Internal, part of chain_at: which source has the prices of a source's underlyings, and which its open interest.
  id: The source: sources.id.
  spot_id: Source of the underlyings' prices: sources.id.
  spot_source: Its name: sources.name.
  is_apart: Whether that is another feed, which may be delayed where this one is not.
  interest_id: Source of open interest that comes without a quote: sources.id; NULL: it comes with quotes.
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
  previous_ex_date: ex_date of the row before, New York. Origin: dividends.ex_date.
  previous_amount: amount of the row before, in dollars per share. Origin: dividends.amount.
  previous_yield: yield of the row before, as sent, a ratio or in percent. Origin: dividends.yield.
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
