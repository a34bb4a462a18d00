-- The time of the last request for demand, whether or not it succeeded.

CREATE TABLE demand_asked (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at INTEGER NOT NULL
) STRICT;
