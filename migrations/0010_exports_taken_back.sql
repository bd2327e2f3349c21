-- An export that is taken back is a backfill of its own kind.

alter table backfills drop constraint backfills_kind_check;
alter table backfills add constraint backfills_kind_check
  check (kind in ('journal', 'xml', 'csv', 'parquet', 'sweep'));

alter table fills drop constraint fills_filled_by_check;
alter table fills add constraint fills_filled_by_check
  check (filled_by in ('journal', 'xml', 'csv', 'parquet', 'sweep', 'gaps'));
