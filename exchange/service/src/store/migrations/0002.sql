-- The journal by change sets: what all entries of a set share stands once, and entries follow each other, so that the
-- set names the first and the last of them. No index by keys but that of lots: one would touch a page for each op of a
-- set, more of them the longer the journal is.
ALTER TABLE journal RENAME TO journal_before;
DROP INDEX journal_of_guard;
DROP INDEX journal_of_member;
DROP INDEX journal_of_lot;

CREATE TABLE journal_set (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    at INTEGER NOT NULL,
    member TEXT NOT NULL,
    area TEXT NOT NULL,
    change_set TEXT NOT NULL,
    channel TEXT NOT NULL,
    client TEXT,
    installation TEXT,
    -- How many of its entries are removals.
    removals INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX journal_set_of_member ON journal_set (member, area, at);
CREATE INDEX journal_set_of_guard ON journal_set (member, area, client, at, removals) WHERE removals > 0;
CREATE TABLE journal_entry (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    removal INTEGER NOT NULL DEFAULT 0,
    override INTEGER NOT NULL DEFAULT 0,
    -- The first entry that it undid, with all of its key that came between.
    undoes INTEGER,
    -- JSON.
    before TEXT,
    -- JSON without the characters at both ends that it shares with `before`, of which these are the numbers.
    after TEXT,
    head INTEGER NOT NULL DEFAULT 0,
    tail INTEGER NOT NULL DEFAULT 0,
    -- Of a client's change of a lot of stock: the head of the feed that the lot is in.
    lots INTEGER
) STRICT;
-- A client's first change of a lot within the guard's window.
CREATE INDEX journal_entry_of_lot ON journal_entry (lots, key) WHERE lots IS NOT NULL;

INSERT INTO journal_entry (id, key, removal, override, undoes, before, after, lots)
SELECT j.id, j.key, j.removal, j.override, j.undoes, j.before, j.after, h.id
FROM journal_before j
LEFT JOIN feed_head h ON j.area = 'stock' AND j.client IS NOT NULL AND h.stream = 'member/stock/' || j.member
ORDER BY j.id;
-- Entries of one set that follow each other are one; what stands between them is not. Each set is asked for in the
-- order of the entries, so that nothing is sorted: however long a journal is, no more of it is in memory than pages.
INSERT INTO journal_set (first, last, at, member, area, change_set, channel, client, installation, removals)
SELECT first, last, at, member, area, change_set, channel, client, installation,
    (SELECT sum(removal) FROM journal_before WHERE id BETWEEN first AND last)
FROM (SELECT j.id AS first, j.at, j.member, j.area, j.change_set, j.channel, j.client, j.installation,
          (SELECT max(id) FROM journal_before WHERE id < coalesce(
              (SELECT n.id FROM journal_before n WHERE n.id > j.id
                  AND (n.change_set, n.member, n.area, n.at, n.channel, n.client, n.installation)
                  IS NOT (j.change_set, j.member, j.area, j.at, j.channel, j.client, j.installation)
               ORDER BY n.id LIMIT 1), 9223372036854775807)) AS last
      FROM journal_before j
      LEFT JOIN journal_before p ON p.id = (SELECT max(id) FROM journal_before WHERE id < j.id)
      WHERE (p.change_set, p.member, p.area, p.at, p.channel, p.client, p.installation)
          IS NOT (j.change_set, j.member, j.area, j.at, j.channel, j.client, j.installation)
      ORDER BY j.id);
DROP TABLE journal_before;

-- Every change, for whoever reads them in order.
CREATE VIEW journal AS
SELECT e.id, s.at, s.member, s.area, e.key, s.change_set, s.channel, s.client, s.installation, e.removal, e.override,
    e.undoes, e.before,
    CASE WHEN e.head + e.tail = 0 THEN e.after
        ELSE substr(e.before, 1, e.head) || e.after || substr(e.before, length(e.before) - e.tail + 1) END AS after
FROM journal_set s CROSS JOIN journal_entry e ON e.id BETWEEN s.first AND s.last;
