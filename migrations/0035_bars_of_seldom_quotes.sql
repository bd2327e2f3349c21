-- Nothing of a table changes. The texts in force bring has_kept_bars, which commands of this release ask: an archive that has not run
-- them yet is told to migrate.
select 1;
