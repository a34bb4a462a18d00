-- Since when the file may hold what was deleted or replaced, in milliseconds since 1970: 0 when that is to go at once,
-- nothing when it was written anew since. The changes are counted, so that none is missed that came meanwhile.
CREATE TABLE remnant (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    since INTEGER,
    changes INTEGER NOT NULL
) STRICT;
INSERT INTO remnant (one, changes) VALUES (1, 0);
