-- The numbers of areas are defined in rows.rs. Times are milliseconds since 1970, in UTC.

CREATE TABLE area (
    area INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    -- 0: start, 1: in a snapshot, 2: in the feed
    position INTEGER NOT NULL CHECK (position IN (0, 1, 2)),
    cursor TEXT CHECK ((cursor IS NULL) = (position = 0)),
    installation TEXT,
    version TEXT,
    details INTEGER NOT NULL,
    as_of INTEGER,
    read_at INTEGER,
    since INTEGER
) STRICT;

-- Rows are stored in the order of their arrival, so that a page of entries is written to few pages of the
-- file. Keys arrive in any order.
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    area INTEGER NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    unit TEXT,
    body BLOB NOT NULL,
    details BLOB,
    UNIQUE (area, key)
) STRICT;

CREATE INDEX entry_of_unit ON entry (area, unit) WHERE unit IS NOT NULL;

CREATE TABLE removal (
    area INTEGER NOT NULL,
    key TEXT NOT NULL,
    own INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (area, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX removal_by_age ON removal (area, at);

-- The baselines: the versions of entries on which both sides last agreed.
CREATE TABLE agreed (
    area INTEGER NOT NULL,
    key TEXT NOT NULL,
    unit TEXT,
    body BLOB NOT NULL,
    details BLOB,
    PRIMARY KEY (area, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE demand (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
