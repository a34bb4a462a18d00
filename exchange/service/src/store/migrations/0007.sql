-- The browser of a session in words, such as `Firefox on Linux`. Sessions from before this migration have none.
ALTER TABLE session ADD COLUMN browser TEXT;
CREATE INDEX session_of_member ON session (member) WHERE ended_at IS NULL;

-- All notices of a member are listed, from the newest.
CREATE INDEX notice_of_member ON notice (member, id);

-- Results of held batches and reviews that the member confirmed or discarded. Their pages show the result until they
-- expire.
CREATE TABLE handled_request (
    -- The id in the address of the page.
    id TEXT PRIMARY KEY,
    member TEXT NOT NULL,
    -- JSON.
    outcome TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX handled_request_by_end ON handled_request (expires_at);

-- Links with which members set a new password, at most one for each member. Of the secret in a link, only the hash is
-- stored.
CREATE TABLE password_reset (
    hash BLOB PRIMARY KEY,
    member TEXT NOT NULL UNIQUE REFERENCES member (id),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX password_reset_by_end ON password_reset (expires_at);

-- The texts of the terms, by version.
CREATE TABLE terms_text (version TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
