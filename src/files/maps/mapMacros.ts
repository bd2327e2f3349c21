/**
 * The SQL that a map may use beside DuckDB's own: macros from a vendor's text to a text that the plain reader takes. What they
 * cannot convert they give back, or a sentence in its place: the reader refuses both, so that nothing is silently NULL. Nothing
 * is computed in floats.
 */
import { UNDERLYING_OF_ROOT } from "../../market/root.ts";

const DAY = String.raw`\d{4}-\d\d-\d\d`;
const TIME = String.raw`[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?`;
const OFFSET = String.raw` ?(?:Z|[+-][01]\d(?::?[0-5]\d)?)`;
/** Not in the text below: a compiler writes them as escapes there, which stay in a raw text. */
const CURRENCIES = "[$€£¥]";
const NUMBER = String.raw`(?:\d+\.?\d*|\.\d+)`;

const ROOTS = [...UNDERLYING_OF_ROOT].map(([root, of]) => `when '${root}' then '${of}'`).join(" ");

/** What stands behind the root of an OCC symbol's name. */
const OF_OCC = String.raw`^(?:O:)?([A-Z0-9]{1,6}) *(\d{6})([CP])(\d{5})(\d{3})$`;

/** Columns of a bar that the row before a day's first bar has as well. */
const NAMING = "'file', 'row', 'instrument', 'delayed', 'exchange', 'description'";

/** Parts of the macros below; maps have no need of them. */
const PARTS = String.raw`
create macro _text(moment) as strftime(timezone('UTC', moment), '%Y-%m-%dT%H:%M:%S.%fZ');
-- With seconds, and six digits of them at most.
create macro _plain(given) as regexp_replace(regexp_replace(given, '^(.{10}).(.{5})( ?[Z+-].*)?$', '\1 \2:00\3'), '(\.\d{6})\d+', '\1');
create macro _moment(given) as case when regexp_full_match(given, '${DAY}${TIME}${OFFSET}')
  then try_cast(regexp_replace(_plain(given), '([+-]\d\d)(\d\d)$', '\1:\2') as timestamptz) end;
create macro _local(given) as case when regexp_full_match(given, '${DAY}(?:${TIME})?')
  then try_cast(_plain(given) as timestamp) end;
create macro _local_of(given, format) as try_cast(try_strptime(given, format) as timestamp);
-- What clocks of New York mean, the later of two; and whether they showed it twice.
create macro _later(shown) as timezone('America/New_York', shown);
create macro _is_twice(shown) as timezone('America/New_York', _later(shown) - interval 1 hour) = shown;
create macro _new_york(shown, given, is_second) as case
  when shown is null then given
  when _is_twice(shown) and not is_second then _text(_later(shown) - interval 1 hour)
  when timezone('America/New_York', _later(shown)) = shown then _text(_later(shown))
  else given || ': clocks of New York never showed it' end;
create macro _twice_so_far(shown, series, number) as list(shown) filter (where _is_twice(shown))
  over (partition by series, shown::date order by number rows unbounded preceding);
create macro _micros(count, fraction, unit) as case unit
  when 's' then count * 1000000 + left(fraction, 6)::bigint
  when 'ms' then count * 1000 + left(fraction, 3)::bigint
  when 'us' then count
  else count // 1000 end;
create macro _digits(number) as regexp_replace(number, '\D', '', 'g');
create macro _scale(number) as length(regexp_extract(number, '\.(\d*)$', 1));
create macro _padded(digits, scale) as lpad(digits, greatest(length(digits), scale + 1)::integer, '0');
create macro _pointed(digits, scale) as case when scale = 0 then digits
  else rtrim(rtrim(left(_padded(digits, scale), -scale::integer) || '.' || right(_padded(digits, scale), scale::integer), '0'), '.') end;
create macro _close(given) as case
  when not regexp_full_match(given, '${DAY}') then given
  when try_cast(given as date) < getvariable('first_day')
    then _text(_later((given || ' 16:00')::timestamp) - interval 1 microsecond)
  else coalesce(getvariable('closes')[try_cast(given as date) - getvariable('first_day') + 1], given || ' is no date of the calendar') end;
create macro _named(root, underlying) as underlying || case when replace(underlying, '.', '') = root then '' else '/' || root end;
create macro _letters(root) as coalesce(nullif(regexp_extract(root, '^[1-9]?([A-Z]+)[1-9]?$', 1), ''), root);
create macro _underlying(root) as case root ${ROOTS} else case _letters(root) ${ROOTS} else _letters(root) end end;
`;

/** Each has an example of what it gives. */
const MACROS = String.raw`
-- utc('2026-11-18 14:30') is 2026-11-18T14:30:00.000000Z, and so is utc('11/18/2026 14:30', '%m/%d/%Y %H:%M')
create macro utc(given) as coalesce(_text(_moment(given)), _text(timezone('UTC', _local(given))), given),
  (given, format) as coalesce(_text(try_cast(try_strptime(given, format) as timestamptz)), given);
-- epoch('1795012200000000999', 'ns') is 2026-11-18T14:30:00.000000Z; units: s, ms, us, ns
create macro epoch(given, unit) as case
  when regexp_full_match(given, '\d{1,19}(\.\d+)?')
    and length(split_part(given, '.', 1)) <= case unit when 's' then 11 when 'ms' then 14 when 'us' then 17 when 'ns' then 19 end
  then coalesce(_text(timezone('UTC', make_timestamp(
    _micros(try_cast(split_part(given, '.', 1) as bigint), rpad(split_part(given, '.', 2), 6, '0'), unit)))), given)
  else given end;
-- excel('46344,5'), days since 1900, is 2026-11-18 12:00:00
create macro excel(given) as coalesce(case when regexp_full_match(given, '\d{2,6}([.,]\d{1,15})?') then (timestamp '1899-12-30'
  + to_milliseconds(round(try_cast(replace(given, ',', '.') as decimal(21, 15)) * 86400000)::bigint))::varchar end, given);
-- new_york('2026-11-18 09:30') is 2026-11-18T14:30:00.000000Z; a time that clocks showed twice is the earlier one
create macro new_york(given) as coalesce(_text(_moment(given)), _new_york(_local(given), given, false)),
  (given, format) as _new_york(_local_of(given, format), given, false);
-- new_york_in_order(time, '%m/%d/%Y %H:%M', ticker, row): the later one as well, once the rows of a series have gone back
create macro new_york_in_order(given, format, series, number) as _new_york(_local_of(given, format), given,
  coalesce(_twice_so_far(_local_of(given, format), series, number) <> list_sort(_twice_so_far(_local_of(given, format), series, number)), false));
-- iso_date('20261118', '%Y%m%d') is 2026-11-18, and so is iso_date('2026-11-18 00:00:00-05:00')
create macro iso_date(given) as case when regexp_full_match(given, '${DAY}(${TIME}(${OFFSET})?)?') and try_cast(left(given, 10) as date) is not null
  then left(given, 10) else given end,
  (given, format) as coalesce(strftime(_local_of(given, format), '%Y-%m-%d'), given);
-- exchange_date('2026-11-19T02:00:00Z') is 2026-11-18
create macro exchange_date(given) as coalesce(strftime(timezone('America/New_York', _moment(given)), '%Y-%m-%d'), given);
-- session_close('2026-11-27') is 2026-11-27T17:59:59.999999Z, the last instant of a session that ends at 13:00
create macro session_close(given) as _close(iso_date(given));
-- at_close('2026-11-27', -15) is 2026-11-27T17:45:00.000000Z
create macro at_close(given, minutes) as coalesce(
  _text(_moment(session_close(given)) + interval 1 microsecond + to_minutes(minutes)), session_close(given));
-- bar_end('2026-11-18T14:30:00Z', interval 1 minute) is 2026-11-18T14:30:59.999999Z
create macro bar_end(given, width) as coalesce(_text(_moment(given) + width - interval 1 microsecond), given);
-- bar_end_by_close('2026-11-18T20:30:00Z', interval 1 hour) is 2026-11-18T20:59:59.999999Z
create macro bar_end_by_close(given, width) as case
  when _moment(given) <= _moment(_close(exchange_date(given)))
    then _text(least(_moment(given) + width - interval 1 microsecond, _moment(_close(exchange_date(given)))))
  else bar_end(given, width) end;
-- occ('O:SPXW261218C05000000') is SPX/SPXW:2026-12-18:CALL:5000; spaces may pad the root
create macro occ(given) as case
  when regexp_full_match(given, '${OF_OCC}')
    and regexp_matches(regexp_extract(given, '${OF_OCC}', 1), '[A-Z]')
    and try_cast('20' || regexp_replace(regexp_extract(given, '${OF_OCC}', 2), '(..)(..)', '\1-\2-') as date) is not null
    and regexp_matches(right(given, 8), '[1-9]')
  then concat_ws(':', _named(regexp_extract(given, '${OF_OCC}', 1), _underlying(regexp_extract(given, '${OF_OCC}', 1))),
    '20' || regexp_replace(regexp_extract(given, '${OF_OCC}', 2), '(..)(..)', '\1-\2-'),
    case left(right(given, 9), 1) when 'C' then 'CALL' else 'PUT' end,
    _pointed(ltrim(right(given, 8), '0'), 3))
  else given end;
-- call_or_put('C') is CALL, and so is call_or_put('call')
create macro call_or_put(given) as case when regexp_full_match(given, '(?i)c(all)?') then 'CALL'
  when regexp_full_match(given, '(?i)p(ut)?') then 'PUT' else given end;
-- class_share('BRK-B') is BRK.B
create macro class_share(given) as regexp_replace(given, '^([^-]+)-([A-Za-z])$', '\1.\2');
-- scaled('267500', 0.001) is 267.5
create macro scaled(given, factor) as case
  when regexp_full_match(given, '[+-]?${NUMBER}') and regexp_full_match(factor::varchar, '${NUMBER}')
    and length(_digits(given)) + length(_digits(factor::varchar)) <= 38
  then case when starts_with(given, '-') then '-' else '' end || _pointed(
    (try_cast(_digits(given) as hugeint) * try_cast(_digits(factor::varchar) as hugeint))::varchar,
    _scale(given) + _scale(factor::varchar))
  else given || ' cannot be multiplied by ' || factor::varchar end;
-- fraction('28.35%') is 0.2835
create macro fraction(given) as case when regexp_full_match(given, '[+-]?${NUMBER} ?%') then scaled(rtrim(given, ' %'), 0.01) else given end;
-- whole('20135561.5') is 20135561
create macro whole(given) as regexp_replace(given, '^(\d+)\.\d*$', '\1');
create macro _written(given) as case
  when regexp_full_match(given, '[+-]?${CURRENCIES}? ?(${NUMBER}|[1-9]\d{0,2}(,\d{3})+(\.\d*)?) ?[KMBT]?')
  then case when regexp_matches(given, '\d$') then regexp_replace(given, '[^\d.+-]', '', 'g')
    else scaled(regexp_replace(given, '[^\d.+-]', '', 'g'),
      case right(given, 1) when 'K' then 1000 when 'M' then 1000000 when 'B' then 1000000000 else 1000000000000 end) end end;
-- plain_number('$45.33M') is 45330000, plain_number('1,234.56') is 1234.56, and plain_number('1.234,56', ',') is 1234.56
create macro plain_number(given) as coalesce(_written(given), given),
  (given, decimal_mark) as case decimal_mark when ',' then coalesce(_written(translate(given, '.,', ',.')), given || ' has no decimal comma')
    else plain_number(given) end;
-- running_sum('5', 'AAPL', 1) is 5, the sum of a series up to a row: running_sum(volume, ticker || date, row)
create macro running_sum(given, series, number) as case when regexp_full_match(given, '\d{1,18}')
  then sum(case when regexp_full_match(given, '\d{1,18}') then given::hugeint end) over (partition by series order by number rows unbounded preceding)::varchar
  else given end;
-- from day_volumes(bars): volumes of bars become the sum of the day so far; the first bar of a day adds a row, just before it, with 0
create macro day_volumes(bars) as table
  with timed as (
    select *, _moment(observed_at) as _at, exchange_date(observed_at) as _date,
      case when regexp_full_match(volume, '\d{1,18}') and _at is not null then volume::hugeint end as _own
    from query_table(bars)
  ), follow as (
    select *, lag(_at) over (partition by instrument, _date, _own is null order by _at, file, row) as _before from timed
  ), added as (
    -- A bar that is there twice is counted once.
    select *, sum(case when _before = _at then 0 else _own end)
      over (partition by instrument, _date, _own is null order by _at, file, row rows unbounded preceding) as _sum from follow
  )
  select * exclude (_at, _date, _own, _before, _sum)
    replace (coalesce(_sum::varchar, case when _at is null then volume else volume || ' is no whole number' end) as volume)
  from added
  union all by name
  select columns(lambda name: name in (${NAMING})), _text(_at - interval 1 microsecond) as observed_at, '0' as volume
  from added
  where _own is not null and _before is null and not starts_with(instrument, 'O:')
    and exchange_date(_text(_at - interval 1 microsecond)) = _date;
`;

/**
 * Statements that make the macros.
 *
 * They read two variables: `closes` has the last instant of each date's session, or why there is none, from `first_day` on.
 */
export const MAP_MACROS = [PARTS, MACROS].join("");

/** Table macros, each of one relation of the map. */
export const TABLE_MACROS: ReadonlySet<string> = new Set(["day_volumes"]);
