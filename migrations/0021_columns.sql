-- What every column means, in which unit and zone, and where it comes from: `\d+` and docs/columns.md show it.

-- "Origin:" names an element of the service's answer, a column, or a file; a comment ends with it. What is said of a column once is
-- copied to others that hold the same. sources come first: loaders lock that table first too.

comment on column sources.id is 'Number of the source: 1 is the service, 2 the simulated market; imports count from 100.';
comment on column sources.name is 'Which service, simulated market or import it is, in words.';
comment on column sources.kind is 'account: an account at the service; simulated: made up; import: from a file.';

comment on column instruments.id is 'Number of the instrument.';
comment on column instruments.security_type is
  'Kind of security, such as CS (common stock) or OPT (option). Where it was never sent: CS for an underlying, else UNKNOWN. Origin: sectyp of instrument.';
comment on column instruments.symbol is 'Symbol; of an option that of its underlying. Origin: sym of instrument or underlying.';
comment on column instruments.exchange is
  'Code of the exchange, such as NSD or CMP, as sent last; NULL: never sent. Origin: exch of instrument or underlying.';
comment on column instruments.description is 'Name for people, as sent last; NULL: never sent. Origin: desc of instrument or underlying.';
comment on column instruments.underlying_id is 'Of an option: instruments.id of its underlying; else NULL.';
comment on column instruments.expiration is
  'Of an option: the date on which it expires, New York; else NULL. Origin: matdt of instrument.';
comment on column instruments.option_type is 'Of an option: CALL or PUT; else NULL. Origin: putcall of instrument, 1 is CALL and 0 PUT.';
comment on column instruments.strike is
  'Of an option: its strike price, in dollars for one share of the underlying; else NULL. Origin: strkpx of instrument.';
comment on column instruments.contract_size is
  'Of an option: units of the underlying in one contract, as sent last; NULL: never sent. Origin: contractsize of extendedquote.';
comment on column instruments.first_seen_at is 'observed_at of its oldest quote.';
comment on column instruments.last_seen_at is 'observed_at of its newest quote.';

comment on table responses is 'Each answer of the service, and each piece of an imported file, without its body, which is in the journal.';
comment on column responses.observed_at is
  'When the answer had arrived, in microseconds. It names the answer: no two of a collector have the same.';
comment on column responses.source_id is 'Where it comes from: sources.id.';
comment on column responses.request_id is 'A UUIDv7, made before the call was sent.';
comment on column responses.requested_at is 'When the call was sent, by the machine''s clock.';
comment on column responses.job is 'The jobs that the call was for, with commas between them; NULL: it was made by hand. Origin: the job files.';
comment on column responses.request is 'What was asked for, without credentials.';
comment on column responses.http_status is 'HTTP status of the answer, such as 200 or 429. Origin: the answer.';
comment on column responses.outcome is
  'What came of the call: quotes, quota_fault, unauthorized, too_long, refused, server_error or malformed.';
comment on column responses.response_id is 'The service''s own name for the answer; NULL: not sent. Origin: attribute id of response.';
comment on column responses.server_date is
  'The service''s clock when it answered, in whole seconds, UTC; NULL: not sent. Origin: header Date.';
comment on column responses.rate_limit_used is
  'Calls that the service has counted against the limit; NULL: not sent. Origin: header X-RateLimit-Used.';
comment on column responses.rate_limit_remaining is 'Calls that the limit still allows; NULL: not sent. Origin: header X-RateLimit-Remaining.';
comment on column responses.rate_limit_limit is 'Calls that the limit allows in all; NULL: not sent. Origin: header X-RateLimit-Limit.';
comment on column responses.rate_limit_expire is
  'Unix time in seconds, as sent; not to be trusted as a time. NULL: not sent. Origin: header X-RateLimit-Expire.';
comment on column responses.body_bytes is 'Length of the body, in bytes. Origin: the answer.';
comment on column responses.journal_segment is 'The file of the journal that holds the whole answer.';
comment on column responses.journal_offset is 'Where in that file it stands, in bytes from the beginning, uncompressed.';
comment on column responses.account_id is 'The account that made the call: accounts.id.';

comment on table quotes is 'What each answer says of an instrument''s prices. A field that could not be read is NULL too, and in dead_letters.';
comment on column quotes.observed_at is
  'When the answer with the quote had arrived, UTC, in microseconds; of an import the time that the file gives. The service sends no time of a quote.';
comment on column quotes.instrument_id is 'What is quoted: instruments.id.';
comment on column quotes.source_id is 'Where it comes from: sources.id.';
comment on column quotes.delayed is 'Whether delayed quotes were asked for; false: real-time ones. Origin: parameter delayed of the call.';
comment on column quotes.bid is
  'Bid, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody bids. Origin: bidprice of quote or undlyquote.';
comment on column quotes.ask is
  'Ask, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, as after hours, and means that nobody asks. Origin: askprice of quote or undlyquote.';
comment on column quotes.last is
  'Price of the last trade, in dollars per share, of an option per share of its underlying; NULL: not sent; 0: sent so, and no trade. Origin: lastprice of quote or undlyquote.';
comment on column quotes.change is
  'By how much the price has changed, in dollars per share; below 0 when it fell; NULL: not sent. The service does not say since when; in all known answers since previous_close. Origin: change of quote or undlyquote.';
comment on column quotes.pct_change is 'By how much the price has changed, in percent: 1.5 is 1.5 %; below 0 when it fell; NULL: not sent. Origin: pctchange of quote or undlyquote.';

comment on table extended_quotes is 'The other fields of the quotes, under the same key.';
comment on column extended_quotes.bid_size is
  'Size at the bid, as sent: shares, of an option contracts; the service does not say whether in lots. NULL: not sent. Origin: bidsize of extendedquote.';
comment on column extended_quotes.ask_size is
  'Size at the ask, as sent: shares, of an option contracts; the service does not say whether in lots. NULL: not sent. Origin: asksize of extendedquote.';
comment on column extended_quotes.open is 'Opening price, in dollars per share; NULL: not sent. Origin: openprice of extendedquote.';
comment on column extended_quotes.high is 'Highest price of the session so far, in dollars per share; NULL: not sent. Origin: highprice of extendedquote.';
comment on column extended_quotes.low is 'Lowest price of the session so far, in dollars per share; NULL: not sent. Origin: lowprice of extendedquote.';
comment on column extended_quotes.previous_close is
  'Close of the session before, in dollars per share; NULL: not sent. Origin: prevclose of extendedquote.';
comment on column extended_quotes.volume is
  'Shares traded, of an option contracts; NULL: not sent. The bars take it for the sum of the day so far. Origin: volume of extendedquote.';
comment on column extended_quotes.session_volume is
  'Shares traded in the session; the service does not say how that differs from volume. NULL: not sent, as for options. Origin: sessionvolume of extendedquote.';
comment on column extended_quotes.earnings_per_share is
  'Earnings per share, in dollars, below 0 for a loss; NULL: not sent, as for options. Origin: earningspershare of extendedquote.';
comment on column extended_quotes.pe_ratio is
  'Price by earnings, a ratio; NULL: not sent, as for options. Origin: priceearningsratio of extendedquote.';
comment on column extended_quotes.high_52_week is
  'Highest price of 52 weeks, in dollars per share; NULL: not sent, as for options. Origin: high52price of extendedquote.';
comment on column extended_quotes.low_52_week is
  'Lowest price of 52 weeks, in dollars per share; NULL: not sent, as for options. Origin: low52price of extendedquote.';
comment on column extended_quotes.contract_high is
  'Of an option: its highest price, in dollars per share; the service does not say since when. Else NULL. Origin: contracthigh of extendedquote.';
comment on column extended_quotes.contract_low is
  'Of an option: its lowest price, in dollars per share; the service does not say since when. Else NULL. Origin: contractlow of extendedquote.';
comment on column extended_quotes.contract_size is
  'Of an option: units of the underlying in one contract; else NULL. Origin: contractsize of extendedquote.';
comment on column extended_quotes.delta is
  'Of an option: change of its price in dollars when the underlying rises by 1 dollar; else NULL. Origin: delta of extendedquote, or of greeks where that is missing.';

comment on table dividends is 'A row when a dividend is first seen, or differs from the last one.';
comment on column dividends.ex_date is
  'First date on which the share trades without the dividend, New York; NULL: not sent. Origin: exdate of dividenddata.';
comment on column dividends.amount is
  'Dividend, in dollars per share; NULL: not sent; 0 beside an old ex_date: no dividend. Origin: amt of dividenddata.';
comment on column dividends.yield is
  'Dividend yield, as sent; the service does not say whether it is a ratio or in percent. NULL: not sent, or sent as 4.9E-324, which means "no dividend". Origin: yield of dividenddata.';

comment on table dead_letters is 'What arrived and could not be stored as a row. The whole answer is in the journal.';
comment on column dead_letters.observed_at is 'observed_at of the answer; of a note of the ledger when that was written.';
comment on column dead_letters.ordinal is 'Number of the dead letter within its answer, from 0.';
comment on column dead_letters.instrument is 'Name of the instrument, as in misses; NULL: it could not be told.';
comment on column dead_letters.reason is
  'malformed: not to be read; not_asked: of an instrument nobody asked for; answered_twice: there was another one; odd_field: one field could not be read and is NULL; refused_by_database: the database did not take it.';
comment on column dead_letters.detail is 'What was wrong, in a sentence.';
comment on column dead_letters.fragment is 'The piece of the answer, cut where it is long; NULL: there is none. Origin: the answer.';

comment on table journal_positions is 'How far each file of the journal is loaded. Moves in the transaction that stores the rows.';
comment on column journal_positions.segment is 'Name of the file.';
comment on column journal_positions.loaded_to is 'All before this place is loaded, in bytes from the beginning of the file, uncompressed.';
comment on column journal_positions.loaded_at is 'When this was written.';

comment on table due_sets is 'What a job polls changes seldom: each set of instruments is kept once.';
comment on column due_sets.id is 'Number of the set.';
comment on column due_sets.instruments is
  'Names of the instruments: AAPL, AAPL:2026-12-18:CALL:150, or watchlist and its name. Origin: the job files.';

comment on table slots is 'What came of each slot of each job: due = stored + missed, always.';
comment on column slots.job is 'Name of the job. Origin: the job file.';
comment on column slots.slot_at is 'When the job was due. Origin: schedule of the job.';
comment on column slots.source_id is 'Which market was polled: sources.id.';
comment on column slots.due is 'How many instruments were to be polled.';
comment on column slots.stored is 'How many of them have a quote.';
comment on column slots.missed is 'How many of them have none; misses says which and why.';
comment on column slots.due_set_id is 'Which instruments were due: due_sets.id.';
comment on column slots.account_id is
  'The account whose share it is: accounts.id. slots has a row for the share of each account: add them up.';

comment on table open_slots is 'Slots that have begun and are not settled yet.';
comment on column open_slots.ends_at is 'When the slot is over; NULL: no other one comes. Origin: schedule of the job.';

comment on table misses is 'Each instrument that was due at a slot and has no quote of it.';
comment on column misses.reason is
  'Why: closed, budget, overrun, refused, unknown_symbol, absent_from_answer, malformed, transport, unauthorized or down; the glossary explains them.';

comment on table fills is 'Slots that were missed, and whose quote came to the archive later. What was in misses is here then.';
comment on column fills.instrument is 'AAPL, or AAPL:2026-12-18:CALL:150.';
comment on column fills.reason is 'Why it was missed before. Origin: misses.reason.';
comment on column fills.observed_at is 'The quote that fills it. Origin: quotes.observed_at.';
comment on column fills.fill_source_id is 'Where that quote comes from: sources.id.';
comment on column fills.filled_by is 'The kind of backfill: journal, xml, csv, parquet, sweep or gaps.';
comment on column fills.filled_at is 'When the slot was filled.';

comment on column accounts.id is 'Number of the account; 1 is default.';
comment on column accounts.name is 'Its name. Origin: accounts.yaml.';
comment on column accounts.call_limit is
  'Calls in a window of window_ms; NULL: no collector has said it. Origin: QUOTES_LIMIT, accounts.yaml or the service.';
comment on column accounts.window_ms is
  'Length of the window in ms; NULL: no collector has said it. Origin: QUOTES_LIMIT_WINDOW_MS or accounts.yaml.';
comment on column accounts.wanted is
  'What the operator has said last: active or drained; NULL: nothing. Origin: quotekeeper accounts resume and drain.';

comment on column sessions.date is 'Date of the session, New York.';
comment on column sessions.kind is 'regular, or early: it closes before 16:00 in New York.';
comment on column sessions.pre_at is 'When trading before the open begins.';
comment on column sessions.open_at is 'When the exchange opens.';
comment on column sessions.close_at is 'When it closes.';
comment on column sessions.post_at is 'When trading after the close ends.';
comment on column sessions.reason is 'Why it opens late or closes early; NULL: an ordinary day.';

comment on column clock_steps.kind is
  'set_back or set_forward: the clock was set; slept: the machine was asleep; stopped: the program could not run.';

comment on column backfills.id is 'Number of the backfill.';
comment on column backfills.kind is 'journal, xml, csv, parquet or sweep.';
comment on column backfills.asked is 'What was asked for, without secrets. Origin: the command''s flags.';
comment on column backfills.started_at is 'When it began.';
comment on column backfills.finished_at is 'When it ended; NULL: it has not, or was ended in its midst.';
comment on column backfills.report is 'What it has done so far, in counts.';
comment on column backfill_positions.backfill_id is 'The backfill: backfills.id.';
comment on column backfill_positions.segment is 'Name of the journal''s file.';
comment on column backfill_positions.read_to is 'All before this place is read, in bytes from the beginning of the file, uncompressed.';

comment on column derived_closes.instrument_id is 'Whose close: instruments.id.';
comment on column derived_closes.date is 'Date of the session that has no quote near its end, New York.';
comment on column derived_closes.source_id is 'Where the later quote comes from: sources.id.';
comment on column derived_closes.close is 'The close, in dollars per share. Origin: extended_quotes.previous_close of the next session.';
comment on column derived_closes.derived_at is 'When it was derived.';

comment on column collectors.name is 'Its name, which no other collector has.';
comment on column collectors.pid is 'Number of its process. Origin: the operating system.';
comment on column collectors.host is 'Name of its machine. Origin: the operating system.';
comment on column collectors.version is 'Version of the program.';
comment on column collectors.started_at is 'When its run began, by the database''s clock.';
comment on column collectors.seen_at is 'When it told of itself last, by the database''s clock.';

comment on column leases.account_id is 'The account: accounts.id.';
comment on column leases.holder is 'The collector that calls it: collectors.id.';
comment on column leases.run is 'The run of that collector''s process. Origin: collectors.run.';
comment on column leases.granted_at is 'When the holder took it, by the database''s clock.';
comment on column leases.renewed_at is 'When the holder renewed it last, by the database''s clock.';
comment on column leases.expires_at is 'Until when it holds if nobody renews it, by the database''s clock.';
comment on column leases.released is 'Whether the holder has given it back.';
comment on column lease_history.account_id is 'The account: accounts.id.';
comment on column lease_history.fence is 'Number of the holder among all that the account has had. Origin: leases.fence.';
comment on column lease_history.taken_at is 'When it was taken, by the database''s clock.';
comment on column lease_history.holder is 'Who took it: collectors.id.';
comment on column lease_history.collector is 'The name of who took it. Origin: collectors.name.';
comment on column lease_history.previous is 'The name of who had it before; NULL: nobody, or a collector that is forgotten. Origin: collectors.name.';
comment on column epochs.number is 'Number of the epoch. Of those that have begun the highest is in force.';
comment on column epochs.from_at is 'Slots from this time on go by it.';
comment on column epochs.jobs_digest is 'Digest of the job files and accounts it was made with. Origin: collectors.jobs_digest.';
comment on column epochs.proposed_by is 'The collector that wrote it.';

comment on column archive_identity.id is 'A UUID by chance.';
comment on column late_days.date is 'The date, New York.';
comment on column dropped_days.date is 'The date, New York.';
comment on column dropped_days.dropped_at is 'When the quotes were dropped.';

-- Of this one there is none where migrations are only tried.
do $$
begin
  if to_regclass('schema_migrations') is not null then
    comment on table schema_migrations is 'The migrations that this database has had.';
    comment on column schema_migrations.version is 'Number of the migration. Origin: the program.';
    comment on column schema_migrations.name is 'Name of its file in migrations/. Origin: the program.';
    comment on column schema_migrations.sha256 is 'SHA-256 of that file. Origin: the program.';
    comment on column schema_migrations.applied_at is 'When it was applied, by the database''s clock. UTC. Origin: the program.';
  end if;
end
$$;

comment on column session_bars.delayed is 'Whether it is of delayed quotes; false: of real-time ones. Origin: quotes.delayed.';
comment on column session_bars.date is 'The exchange''s date, New York.';
comment on column session_bars.first_at is 'observed_at of its first quote. Origin: quotes.observed_at.';
comment on column session_bars.last_at is 'observed_at of its last quote. Origin: quotes.observed_at.';
comment on column session_bars.open is 'First price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.';
comment on column session_bars.high is 'Highest price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.';
comment on column session_bars.low is 'Lowest price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.';
comment on column session_bars.close is 'Last price above 0, in dollars per share; NULL: no trade was seen. Origin: quotes.last.';
comment on column session_bars.open_at is 'observed_at of the quote with that first price; NULL: no trade was seen. Origin: quotes.observed_at.';
comment on column session_bars.close_at is 'observed_at of the quote with that last price; NULL: no trade was seen. Origin: quotes.observed_at.';
comment on column session_bars.spread_sum is
  'Sum of ask less bid, in dollars per share, of the quotes in which both are above 0. Origin: quotes.ask and quotes.bid.';
comment on column session_bars.spread_count is 'How many quotes have a bid and an ask above 0.';
comment on column session_bars.quote_count is 'How many quotes it is made of.';
comment on column session_bars.volume is
  'Shares traded, of an option contracts: the last number shown on that date. NULL while extended_quotes has it; written down before retention drops those rows. Origin: extended_quotes.volume.';

comment on column intraday_bars.bar_at is 'When the bar begins.';
comment on column intraday_bars.minutes is 'Length of the bar in minutes: 5 or 60.';
comment on column intraday_bars.session is 'Part of the session: pre, regular, post, or closed for all other time. Origin: sessions.';
comment on column intraday_bars.volume is
  'Shares traded on the date, of an option contracts: the last number shown in the bar; NULL: none. Origin: extended_quotes.volume.';
comment on column intraday_bars.volume_before is
  'The last number shown earlier on that date, or the first one of the bar where there is none; NULL: none. Shares, of an option contracts. Origin: extended_quotes.volume.';
comment on column intraday_bars.log_return is
  'Of five minutes: natural logarithm of close by the close before it on that date, a number without unit, to 12 places; NULL where that is of another session. Origin: quotes.last.';

comment on column bars_1d.session is 'regular, early, or closed: no session on that date. Origin: sessions.kind.';
comment on column bars_1d.mean_spread is
  'Mean of ask less bid, in dollars per share, of the quotes in which both are above 0; NULL: none. Origin: quotes.ask and quotes.bid.';
comment on column bars_1d.volume is
  'Shares traded on the date, of an option contracts: the last number shown; NULL: none. Origin: extended_quotes.volume.';
comment on column bars_5m.volume is
  'Shares traded in the bar, of an option contracts: what volume has grown since the bar before, in a date''s first bar since the first number shown; NULL: none was shown. Origin: extended_quotes.volume.';
comment on column bars_5m.log_return is
  'Natural logarithm of close by the close before it in the same session, a number without unit, to 12 places; NULL where there is none. Origin: quotes.last.';

comment on column latest_quotes.source is 'Kind of source: account, simulated or import. Origin: sources.kind.';
comment on column latest_quotes.source_name is 'Name of the source. Origin: sources.name.';

comment on column option_chain_latest.underlying is 'Symbol of the underlying. Origin: instruments.symbol.';
comment on column option_chain_latest.call_instrument_id is 'The call: instruments.id; NULL: there is none, and so is all of call_.';
comment on column option_chain_latest.put_instrument_id is 'The put: instruments.id; NULL: there is none, and so is all of put_.';
comment on column option_chain_latest.call_mid is
  'Middle of bid and ask of the call, in dollars per share; NULL: no ask. Origin: quotes.bid and quotes.ask.';
comment on column option_chain_latest.call_spread is 'Ask less bid of the call, in dollars per share; NULL: no ask. Origin: quotes.ask and quotes.bid.';
comment on column option_chain_latest.put_mid is
  'Middle of bid and ask of the put, in dollars per share; NULL: no ask. Origin: quotes.bid and quotes.ask.';
comment on column option_chain_latest.put_spread is 'Ask less bid of the put, in dollars per share; NULL: no ask. Origin: quotes.ask and quotes.bid.';
comment on column option_chain_latest.underlying_last is
  'Newest last price of the underlying, in dollars per share; NULL: not known; 0: sent so, and no trade. Origin: quotes.last.';
comment on column option_chain_latest.moneyness is
  'underlying_last by strike, a ratio; NULL: no price. Origin: quotes.last and instruments.strike.';

comment on column dividend_calendar.previous_ex_date is 'ex_date of the row before, New York; NULL: there is none, or it was not sent. Origin: dividends.ex_date.';
comment on column dividend_calendar.previous_amount is
  'amount of the row before, in dollars per share; NULL: there is none, or it was not sent. Origin: dividends.amount.';
comment on column dividend_calendar.previous_yield is
  'yield of the row before, as sent, a ratio or in percent; NULL: there is none, or it was not sent. Origin: dividends.yield.';
comment on column dividend_calendar.change is 'What differs from the row before: ex_date, amount or yield; first: there is none.';
comment on column dividend_calendar.is_newest is 'Whether no later row of the instrument and source is there.';
comment on column dividend_calendar.is_ahead is 'Whether it is the newest, and its ex_date is today in New York or later.';

comment on column coverage_daily.date is 'Date of the slots, New York. Origin: slots.slot_at.';
comment on column coverage_daily.instrument is 'Name of the instrument: AAPL, AAPL:2026-12-18:CALL:150, or watchlist and its name. Origin: due_sets.instruments.';
comment on column coverage_daily.expected is 'How many times it was due. Origin: slots and due_sets.';
comment on column coverage_daily.stored is 'How many of them have a quote. Origin: slots and misses.';
comment on column coverage_daily.missed is 'How many of them have none. Origin: misses.';
comment on column coverage_daily.reasons is 'How many were missed for each reason, such as {"budget": 2}. Origin: misses.reason.';

comment on column option_surface.underlying is 'Symbol of the underlying. Origin: instruments.symbol.';
comment on column option_surface.spot is
  'Price of the underlying when the contract was quoted, in dollars per share: the middle of its bid and ask, or last where one of them is missing; NULL: none within a day. Origin: quotes.';
comment on column option_surface.moneyness is 'spot by strike, a ratio; NULL: no spot. Origin: quotes and instruments.strike.';
comment on column option_surface.years is 'From observed_at to the close at which the contract expires, in years of 365 days.';
comment on column option_surface.mid is 'Middle of bid and ask, in dollars per share; NULL: no ask. Origin: quotes.bid and quotes.ask.';
comment on column option_surface.iv_bid is 'Implied volatility per year at the bid: 0.2 is 20 %; NULL: no bid, or none gives this price.';
comment on column option_surface.iv_mid is 'Implied volatility per year at mid: 0.2 is 20 %; NULL: no bid, or none gives this price.';
comment on column option_surface.iv_ask is 'Implied volatility per year at the ask: 0.2 is 20 %; NULL: no ask, or none gives this price.';
comment on column option_surface.delta is 'Change of the value in dollars when the underlying rises by 1 dollar, at iv_mid; NULL without it.';
comment on column option_surface.gamma is 'Change of delta when the underlying rises by 1 dollar, at iv_mid; NULL without it.';
comment on column option_surface.vega is
  'Change of the value in dollars per share when volatility rises by 1, as from 20 % to 120 %, at iv_mid; NULL without it.';
comment on column option_surface.theta is 'Change of the value in dollars per share, for each year that passes, at iv_mid; NULL without it.';
comment on column option_surface.rho is
  'Change of the value in dollars per share when the interest rate rises by 1, as from 4 % to 104 %, at iv_mid; NULL without it.';
comment on column option_surface.delta_difference is 'delta less service_delta, in dollars per dollar; NULL where one is missing.';

comment on function option_value(text, double precision, double precision, double precision, double precision, double precision, double precision) is
  'Value and greeks of a European CALL or PUT by Black-Scholes-Merton. delta and gamma are per 1 of the spot, vega per 1 of volatility, theta per year, rho per 1 of the rate.';
comment on function log_return(numeric, numeric) is 'Natural logarithm of a close by the close before it, to 12 places.';
comment on function session_of(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) is
  'Part of the views of bars: in which part of a session an instant lies.';
comment on function bar_beginning(timestamptz, interval, timestamptz, timestamptz, timestamptz, timestamptz) is
  'Part of the views of bars: when the bar of an instant begins.';
comment on function quote_bars(
  integer, smallint, boolean, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
) is 'Part of bars_1m: bars from the quotes of one date. Call bars(...) instead.';
comment on function newest_bars(
  integer, smallint, boolean, date, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
) is 'Part of bars_5m and bars_1h: bars that are not kept yet. Call bars(...) instead.';

-- The same column in other places: of which relation, to which ones.
do $$
declare
  copied record;
begin
  for copied in
    select f.relation as given, t.relation as taking, n.name, coalesce(nullif(split_part(n.name, '=', 2), ''), n.name) as as_name
    from (values
      ('responses', '{dead_letters}', '{source_id}'),
      ('quotes', '{extended_quotes,dividends}', '{observed_at,instrument_id,source_id}'),
      ('quotes', '{session_bars,intraday_bars}', '{instrument_id,source_id}'),
      ('session_bars', '{intraday_bars}', '{delayed,date,open,high,low,close,spread_sum,spread_count,quote_count}'),
      ('slots', '{open_slots,misses,fills}', '{job,slot_at,source_id,account_id}'),
      ('slots', '{open_slots}', '{due_set_id}'),
      ('instruments', '{latest_quotes,bars_1m,bars_5m,bars_1h,bars_1d}', '{security_type,symbol,expiration,option_type,strike}'),
      ('instruments', '{latest_quotes}', '{description}'),
      ('instruments', '{dividend_calendar}', '{security_type,symbol}'),
      ('instruments', '{option_chain_latest}', '{expiration,strike,underlying_id}'),
      ('instruments', '{option_surface}', '{expiration,option_type,strike}'),
      ('latest_quotes', '{bars_1m,bars_5m,bars_1h,bars_1d,option_chain_latest,dividend_calendar,option_surface}', '{source,source_name}'),
      ('latest_quotes', '{coverage_daily}', '{source}'),
      ('quotes', '{latest_quotes}', '{instrument_id,delayed,observed_at,bid,ask,last,change,pct_change}'),
      ('extended_quotes', '{latest_quotes}', '{bid_size,ask_size,volume,delta}'),
      ('quotes', '{bars_1m,bars_5m,bars_1h,bars_1d}', '{instrument_id}'),
      ('session_bars', '{bars_1m,bars_5m,bars_1h,bars_1d}', '{delayed,date,open,high,low,close,quote_count}'),
      ('session_bars', '{bars_1d}', '{first_at,last_at}'),
      ('intraday_bars', '{bars_1m,bars_5m,bars_1h}', '{session,bar_at}'),
      ('bars_1d', '{bars_1m,bars_5m,bars_1h}', '{mean_spread}'),
      ('bars_5m', '{bars_1m,bars_1h}', '{volume}'),
      ('quotes', '{option_chain_latest}',
       '{delayed,observed_at=call_observed_at,bid=call_bid,ask=call_ask,last=call_last}'),
      ('quotes', '{option_chain_latest}',
       '{observed_at=put_observed_at,bid=put_bid,ask=put_ask,last=put_last}'),
      ('extended_quotes', '{option_chain_latest}', '{delta=call_delta,volume=call_volume,delta=put_delta,volume=put_volume}'),
      ('quotes', '{dividend_calendar}', '{instrument_id,observed_at}'),
      ('dividends', '{dividend_calendar}', '{ex_date,amount,yield}'),
      ('quotes', '{option_surface}', '{instrument_id,delayed,observed_at,bid,ask}'),
      ('extended_quotes', '{option_surface}', '{delta=service_delta}')
    ) f (relation, relations, names)
    cross join unnest(f.relations::text[]) t (relation)
    cross join unnest(f.names::text[]) n (name)
  loop
    execute format('comment on column %I.%I is %L', copied.taking, copied.as_name, (
      select case split_part(copied.as_name, '_', 1)
               when 'call' then 'Of the call: ' || lower(left(d.said, 1)) || substr(d.said, 2)
               when 'put' then 'Of the put: ' || lower(left(d.said, 1)) || substr(d.said, 2)
               else d.said
             end
      from pg_attribute a
      cross join regexp_replace(
        col_description(a.attrelid, a.attnum), case when copied.as_name ~ '^(call|put)_' then '^Of an option: ' else '^$' end, ''
      ) as d (said)
      where a.attrelid = copied.given::regclass and a.attname = split_part(copied.name, '=', 1)
    ));
  end loop;
end
$$;

-- What holds for all: instants are UTC, dates the exchange's, and what has no other origin is made by the program.
do $$
declare
  said record;
begin
  for said in
    select a.attrelid::regclass as relation, a.attname, col_description(a.attrelid, a.attnum) as comment, a.atttypid
    from pg_attribute a
    where a.attnum > 0 and not a.attisdropped and a.attrelid = any ('{
      accounts,archive_identity,backfill_positions,backfills,bars_1d,bars_1h,bars_1m,bars_5m,clock_steps,collectors,coverage_daily,
      dead_letters,derived_closes,dividend_calendar,dividends,dropped_days,due_sets,epochs,extended_quotes,fills,instruments,
      intraday_bars,journal_positions,late_days,latest_quotes,lease_history,leases,misses,open_slots,option_chain_latest,
      option_surface,quotes,responses,session_bars,sessions,slots,sources
    }'::regclass[])
  loop
    execute format(
      'comment on column %s.%I is %L', said.relation, said.attname,
      regexp_replace(said.comment, ' Origin: .*', '')
      || case when said.atttypid = 'timestamptz'::regtype and said.comment !~ '\mUTC\M' then ' UTC.' else '' end
      || coalesce(substring(said.comment from ' Origin: .*'), ' Origin: the program.')
    );
  end loop;
end
$$;
