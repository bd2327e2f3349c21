-- Rows that every answer updates find room on their own page for the next version, and no index is written for it: a page of
-- contracts that one answer tells of is updated whole.
alter table instruments set (fillfactor = 50);
alter table session_bars set (fillfactor = 50);
