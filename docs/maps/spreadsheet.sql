-- A spreadsheet saved as CSV: times are numbers of days in New York, numbers are written for people with a decimal comma, and
-- two lines stand before the header. For a first line `sep=;` write skip = 1.
-- source: sheet
-- input: delim = ';', skip = 2
select file, row,
  case Symbol when 'FB' then 'META' else Symbol end as instrument,
  new_york(excel(Time)) as observed_at,
  plain_number(Price, ',') as last, plain_number("Vol.", ',') as volume
from input
