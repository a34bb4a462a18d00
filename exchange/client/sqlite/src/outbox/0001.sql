-- Change sets that are stored until their outcome has been read. Numbers are never reused.
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    revision INTEGER NOT NULL,
    owner TEXT NOT NULL,
    lane TEXT NOT NULL,
    done INTEGER NOT NULL,
    head TEXT NOT NULL,
    body BLOB NOT NULL,
    result BLOB
) STRICT;
CREATE INDEX entry_waiting ON entry (owner, lane, number) WHERE done = 0;
CREATE INDEX entry_of_owner ON entry (owner, number);
