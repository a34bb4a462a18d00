-- `since` is the time since which the file may contain deleted or replaced data, in milliseconds since 1970.
-- It is 0 if the data must be erased at once, and null after the file was rewritten. `changes` counts the
-- changes, so that a change during a rewrite is detected.
CREATE TABLE remnant (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    since INTEGER,
    changes INTEGER NOT NULL
) STRICT;
INSERT INTO remnant (one, changes) VALUES (1, 0);
