-- Answers without quotes are found without the others: weeks of answers are then counted from their keys alone, which Health
-- does. They are few, and so is what the index takes.

create index responses_without_quotes on responses (observed_at, source_id, outcome) where outcome <> 'quotes';
