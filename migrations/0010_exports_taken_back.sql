-- An export that is taken back: a backfill of its own kind, and the source of the answers that bring its rows.

alter table backfills drop constraint backfills_kind_check;
alter table backfills add constraint backfills_kind_check
  check (kind in ('journal', 'xml', 'csv', 'parquet', 'sweep'));

alter table fills drop constraint fills_filled_by_check;
alter table fills add constraint fills_filled_by_check
  check (filled_by in ('journal', 'xml', 'csv', 'parquet', 'sweep', 'gaps'));

-- Rows of an export keep the sources they had. The pieces of it in the journal are from nobody else, and have a number
-- that no source is ever given, the same in every archive: an export taken back and made again is the same.
insert into sources (id, kind, name) values (0, 'import', 'quotekeeper export') on conflict do nothing;
