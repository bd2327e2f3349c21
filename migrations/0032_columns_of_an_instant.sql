-- Functions of an instant return more columns, and PostgreSQL replaces no function by one that returns others. They come back with
-- the texts in force. Views of somebody's own that are made of them stop this here: drop those first.

drop view if exists option_surface, option_chain_latest;
drop function if exists surface_at(text, timestamptz);
drop function if exists chain_at(text, timestamptz), chain_rows(text, timestamptz);
drop function if exists asof(timestamptz, text[]);
drop function if exists quotes_at(timestamptz);
