-- A client's first change of a lot within the guard's window (STK-22) is found by the sets of that window. An index of
-- entries by lots had a page to write for each op of a set, more of them the longer the journal was: keys are random.
DROP INDEX journal_entry_of_lot;

-- Of sets by which clients changed lots of stock: the first six characters of each entry's key, in the entries' order.
-- Apart from the sets, which are read without it.
CREATE TABLE journal_lots (
    -- The set's.
    first INTEGER PRIMARY KEY,
    lots TEXT NOT NULL
) STRICT;
INSERT INTO journal_lots (first, lots)
SELECT s.first,
    (SELECT group_concat(substr(e.key || '      ', 1, 6), '')
     FROM (SELECT key FROM journal_entry WHERE id BETWEEN s.first AND s.last ORDER BY id) e)
FROM journal_set s
WHERE s.area = 'stock' AND s.client IS NOT NULL
    AND EXISTS (SELECT 1 FROM journal_entry WHERE id BETWEEN s.first AND s.last);

ALTER TABLE journal_entry DROP COLUMN lots;
