-- When demand was asked for last, whatever came of it.

CREATE TABLE demand_asked (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at INTEGER NOT NULL
) STRICT;
