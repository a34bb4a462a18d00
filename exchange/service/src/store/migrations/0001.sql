-- Times are milliseconds since the epoch. Secrets are stored as hashes, except those in `secret` and
-- `signing_key`, which the service itself signs with.

-- ── the service ──────────────────────────────────────────────────────────────────────────────────
-- `exchange` (on, off), `terms` (the version that members have to have accepted), `stolen-marking`,
-- `journal-floor` (the moment up to which entries of the journal may be gone), …
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE secret (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
-- What one process does for all that share the store, and until when it is that one.
CREATE TABLE lease (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- ── members, accounts, org units ─────────────────────────────────────────────────────────────────
CREATE TABLE member (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    handle TEXT,
    state TEXT NOT NULL CHECK (state IN ('active', 'pending', 'disabled', 'deleted')),
    has_role INTEGER NOT NULL DEFAULT 1,
    is_admin INTEGER NOT NULL DEFAULT 0,
    terms TEXT,
    withholds_name INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE account (
    -- In its one spelling: composed, in small letters.
    username TEXT PRIMARY KEY,
    member TEXT NOT NULL UNIQUE REFERENCES member (id),
    password TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE unit (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    shorthand TEXT NOT NULL,
    kind TEXT NOT NULL,
    profit_sharing INTEGER NOT NULL DEFAULT 0,
    -- The unit that it stands below: who leads that one has a seat above this one (DEM-06).
    above TEXT REFERENCES unit (id)
) STRICT, WITHOUT ROWID;
CREATE TABLE membership (
    member TEXT NOT NULL REFERENCES member (id),
    unit TEXT NOT NULL REFERENCES unit (id),
    logistician INTEGER NOT NULL DEFAULT 0,
    leadership INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (member, unit)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_by_unit ON membership (unit, member);
-- What a member is told on the web: new connections, held batches, writes of others.
CREATE TABLE notice (
    id INTEGER PRIMARY KEY,
    member TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    acknowledged_at INTEGER
) STRICT;
CREATE INDEX notice_by_member ON notice (member, at);
CREATE INDEX notice_by_end ON notice (acknowledged_at) WHERE acknowledged_at IS NOT NULL;

-- ── registry, connections ────────────────────────────────────────────────────────────────────────
CREATE TABLE client (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    -- A suspended client is refused by the exchange (ERR-15), a disabled one by everybody: it is not
    -- registered any more.
    state TEXT NOT NULL CHECK (state IN ('active', 'suspended', 'disabled')),
    min_version TEXT,
    requests_per_minute INTEGER,
    writes_per_day INTEGER,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE client_scope (
    client TEXT NOT NULL REFERENCES client (id),
    scope TEXT NOT NULL,
    PRIMARY KEY (client, scope)
) STRICT, WITHOUT ROWID;
CREATE TABLE installation (
    id TEXT PRIMARY KEY,
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    jkt TEXT NOT NULL,
    label TEXT,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    acknowledged_at INTEGER,
    revoked_at INTEGER,
    UNIQUE (client, member, jkt)
) STRICT, WITHOUT ROWID;
CREATE INDEX installation_by_key ON installation (jkt);
CREATE INDEX installation_by_member ON installation (member, client);
-- A member disconnected a client: tokens of a sign-in at or before this moment are refused (ERR-12).
CREATE TABLE client_revocation (
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (client, member)
) STRICT, WITHOUT ROWID;

-- ── identity provider ────────────────────────────────────────────────────────────────────────────
CREATE TABLE signing_key (
    kid TEXT PRIMARY KEY,
    pkcs8 BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    retired_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE session (
    hash BLOB PRIMARY KEY,
    member TEXT NOT NULL,
    auth_time INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_end ON session (expires_at);
CREATE TABLE device_login (
    device_hash BLOB PRIMARY KEY,
    user_code_hash BLOB NOT NULL UNIQUE,
    client TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    interval_s INTEGER NOT NULL,
    polled_at INTEGER,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'declined', 'consumed')),
    member TEXT,
    session BLOB,
    auth_time INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX device_login_by_end ON device_login (expires_at);
-- One refresh-token family: a connection of a member's client by one key (IDP-21).
CREATE TABLE connection (
    id TEXT PRIMARY KEY,
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    jkt TEXT NOT NULL,
    scopes TEXT NOT NULL,
    auth_time INTEGER NOT NULL,
    session BLOB,
    current_hash BLOB NOT NULL UNIQUE,
    previous_hash BLOB UNIQUE,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    ended_at INTEGER,
    end_reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX connection_by_member ON connection (member, client);
CREATE INDEX connection_by_key ON connection (jkt);
CREATE INDEX connection_by_session ON connection (session) WHERE session IS NOT NULL;
CREATE INDEX connection_by_end ON connection (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX connection_by_use ON connection (used_at) WHERE ended_at IS NULL;
CREATE INDEX connection_by_beginning ON connection (created_at) WHERE ended_at IS NULL;
CREATE INDEX signing_key_by_end ON signing_key (retired_at);

-- ── catalogue ────────────────────────────────────────────────────────────────────────────────────
-- `facts`: JSON of the kind's own facts (material-kind; a blueprint's product).
CREATE TABLE catalogue_entry (
    kind TEXT NOT NULL CHECK (kind IN ('BLUEPRINT', 'ITEM', 'MATERIAL', 'SHIP_TYPE')),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    sc_record TEXT,
    wiki_guid TEXT,
    game_guid TEXT,
    output_guid TEXT,
    uex_id INTEGER,
    loc_key TEXT,
    facts TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE catalogue_alias (
    kind TEXT NOT NULL,
    alias TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (kind, alias, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE location (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    city INTEGER,
    station INTEGER,
    hidden INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- ── feeds ────────────────────────────────────────────────────────────────────────────────────────
-- The latest change of each key of a stream carries the stream's number; numbers are given in the
-- write's own transaction, so their order is the order of commits.
CREATE TABLE feed_head (
    id INTEGER PRIMARY KEY,
    stream TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    floor INTEGER NOT NULL DEFAULT 0
) STRICT;
-- A stream's entries stand under its head's id: every row and every place of an index is shorter by the name. They are
-- written with the head only, so nobody asks whether it is there.
CREATE TABLE feed_entry (
    stream INTEGER NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    channel TEXT NOT NULL,
    client TEXT,
    installation TEXT,
    PRIMARY KEY (stream, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX feed_entry_by_seq ON feed_entry (stream, seq);
CREATE INDEX feed_entry_gone ON feed_entry (changed_at) WHERE gone = 1;
-- Positions in more streams than a cursor has room for, by their hash.
CREATE TABLE cursor_vector (
    hash BLOB PRIMARY KEY,
    vector BLOB NOT NULL,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- ── writes ───────────────────────────────────────────────────────────────────────────────────────
CREATE TABLE idempotency (
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    fence INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    status INTEGER,
    headers TEXT,
    body BLOB,
    size INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (client, member, key_hash)
) STRICT, WITHOUT ROWID;
-- Each row is in one of the two: a claim ends with its lease, an answer a window after it was given.
CREATE INDEX idempotency_by_lease ON idempotency (lease_until) WHERE status IS NULL;
CREATE INDEX idempotency_by_age ON idempotency (created_at) WHERE status IS NOT NULL;
-- Bytes of kept answers, so that nobody has to add them up: of a client and member, of a client (member
-- empty), of all (both empty).
CREATE TABLE kept_bytes (
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (client, member)
) STRICT, WITHOUT ROWID;
CREATE TABLE write_quota (
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    day INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (client, member, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX write_quota_by_day ON write_quota (day);
CREATE TABLE held_batch (
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    handoff_hash BLOB NOT NULL UNIQUE,
    operation TEXT NOT NULL,
    -- Who sent it, as JSON: what the confirmation checks again.
    caller TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (client, member)
) STRICT, WITHOUT ROWID;
-- What every change was, for audit, undo and the guard; appended to, never read for an answer's data.
-- Indexes are in the order of time: one by keys would touch a page for each op of a set, more of them the longer
-- the journal is.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    member TEXT NOT NULL,
    area TEXT NOT NULL,
    key TEXT NOT NULL,
    change_set TEXT NOT NULL,
    channel TEXT NOT NULL,
    client TEXT,
    installation TEXT,
    removal INTEGER NOT NULL DEFAULT 0,
    override INTEGER NOT NULL DEFAULT 0,
    -- The first entry that it undid, with all of its key that came between.
    undoes INTEGER,
    before TEXT,
    after TEXT
) STRICT;
CREATE INDEX journal_of_guard ON journal (member, area, client, at) WHERE removal = 1;
CREATE INDEX journal_of_member ON journal (member, area, at);
-- A client's first change of a lot within the guard's window.
CREATE INDEX journal_of_lot ON journal (member, key, client, at) WHERE area = 'stock' AND client IS NOT NULL;
-- What was done by whom, in words that a person reads; no secret and no value of a member's data.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    client TEXT,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX audit_by_time ON audit (at);

-- ── drafts ───────────────────────────────────────────────────────────────────────────────────────
-- What a client prepared for a member, until the member opens it; of the handoff in its link only the hash.
CREATE TABLE draft (
    number INTEGER PRIMARY KEY,
    handoff_hash BLOB NOT NULL UNIQUE,
    client TEXT NOT NULL,
    member TEXT NOT NULL,
    -- JSON.
    content TEXT NOT NULL,
    -- What it costs of the budgets, in bytes.
    size INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX draft_by_member ON draft (client, member, number);
CREATE INDEX draft_by_end ON draft (expires_at, client, size);
-- What a member has open before them: a draft that was handed over, or a file of their own.
CREATE TABLE review (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    member TEXT NOT NULL,
    -- Whose draft it was; none for a file.
    client TEXT,
    -- JSON.
    content TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX review_by_member ON review (member, number);
CREATE INDEX review_by_end ON review (expires_at);
-- Refinery orders of members, as they took them over.
CREATE TABLE refinery_order (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    member TEXT NOT NULL,
    client TEXT,
    saved_at INTEGER NOT NULL,
    -- JSON.
    content TEXT NOT NULL
) STRICT;
CREATE INDEX refinery_order_by_member ON refinery_order (member, number);

-- ── blueprints ───────────────────────────────────────────────────────────────────────────────────
CREATE TABLE blueprint (
    member TEXT NOT NULL,
    product TEXT NOT NULL,
    acquired_at INTEGER,
    source TEXT,
    note TEXT,
    PRIMARY KEY (member, product)
) STRICT, WITHOUT ROWID;
CREATE TABLE default_blueprint (product TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- ── stock ────────────────────────────────────────────────────────────────────────────────────────
-- A row of the warehouse: what a member holds of something at one place. Amounts are thousandths of SCU,
-- or pieces. Rows of one lot are shown as one; `pool_lot` is the lot of the unit's pool, for rows in one.
CREATE TABLE stock_row (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    member TEXT NOT NULL,
    lot TEXT NOT NULL,
    pool_lot TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('MATERIAL', 'ITEM')),
    material TEXT NOT NULL,
    measure TEXT NOT NULL CHECK (measure IN ('SCU', 'PIECE')),
    location TEXT NOT NULL,
    quality INTEGER NOT NULL CHECK (quality BETWEEN 0 AND 1000),
    stolen INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    shared INTEGER NOT NULL,
    unit TEXT,
    version INTEGER NOT NULL,
    note TEXT,
    booked_at INTEGER NOT NULL,
    CHECK (unit IS NULL OR shared = 1),
    CHECK ((unit IS NULL) = (pool_lot IS NULL))
) STRICT;
CREATE INDEX stock_row_by_lot ON stock_row (member, lot);
CREATE INDEX stock_row_by_pool ON stock_row (unit, pool_lot) WHERE unit IS NOT NULL;
-- What is reserved of a row. Job orders, missions and donations reserve beside each other, each at most the
-- row.
CREATE TABLE stock_earmark (
    stock_row TEXT NOT NULL REFERENCES stock_row (id),
    kind TEXT NOT NULL CHECK (kind IN ('job-order', 'mission', 'donation')),
    target TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    delivered INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stock_row, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX stock_earmark_by_target ON stock_earmark (kind, target);
-- What the holder offers of a row on the Material Exchange.
CREATE TABLE stock_offer (
    id TEXT PRIMARY KEY,
    stock_row TEXT NOT NULL UNIQUE REFERENCES stock_row (id),
    amount INTEGER NOT NULL CHECK (amount > 0)
) STRICT, WITHOUT ROWID;
-- What was sold out of a pool, by whom, where, and for how much aUEC. What missions have no part of is the
-- seller's.
CREATE TABLE stock_sale (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    member TEXT NOT NULL,
    unit TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('MATERIAL', 'ITEM')),
    material TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    terminal TEXT NOT NULL,
    proceeds INTEGER NOT NULL CHECK (proceeds >= 0)
) STRICT, WITHOUT ROWID;

-- ── ships ────────────────────────────────────────────────────────────────────────────────────────
CREATE TABLE ship (
    id TEXT PRIMARY KEY,
    member TEXT NOT NULL,
    ship_type TEXT NOT NULL,
    name TEXT,
    -- Months of insurance; none for one that is insured for its lifetime.
    insured_months INTEGER CHECK (insured_months BETWEEN 0 AND 120),
    location TEXT,
    fitted INTEGER NOT NULL,
    unit TEXT,
    unit_version INTEGER NOT NULL,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX ship_by_member ON ship (member, id);
CREATE INDEX ship_by_unit ON ship (unit) WHERE unit IS NOT NULL;
-- A client's own id of a ship, on one installation: one ship for each, and one id for each ship.
CREATE TABLE ship_link (
    installation TEXT NOT NULL,
    external_id TEXT NOT NULL,
    ship TEXT NOT NULL REFERENCES ship (id),
    PRIMARY KEY (installation, external_id),
    UNIQUE (installation, ship)
) STRICT, WITHOUT ROWID;
CREATE INDEX ship_link_by_ship ON ship_link (ship);

-- ── job orders, missions ─────────────────────────────────────────────────────────────────────────
-- Work that a unit is responsible for. What it needs is in thousandths of SCU, or in pieces.
CREATE TABLE job_order (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    unit TEXT NOT NULL REFERENCES unit (id),
    state TEXT NOT NULL CHECK (state IN ('open', 'in-progress', 'completed', 'cancelled')),
    -- Whether blueprints of variants count as ones of what is ordered (DEM-04).
    counts_variants INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX job_order_by_unit ON job_order (unit) WHERE state IN ('open', 'in-progress');
-- What an order needs of a material: its own lines, or what its items are made of.
CREATE TABLE job_order_material (
    job_order TEXT NOT NULL REFERENCES job_order (id),
    material TEXT NOT NULL,
    good_quality INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (job_order, material, good_quality)
) STRICT, WITHOUT ROWID;
-- What is ordered in pieces: an order with such a line is an item order, one without a material order.
CREATE TABLE job_order_item (
    job_order TEXT NOT NULL REFERENCES job_order (id),
    item TEXT NOT NULL,
    ordered INTEGER NOT NULL CHECK (ordered > 0),
    delivered INTEGER NOT NULL DEFAULT 0 CHECK (delivered >= 0),
    PRIMARY KEY (job_order, item)
) STRICT, WITHOUT ROWID;
CREATE TABLE mission (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE mission_participant (
    mission TEXT NOT NULL REFERENCES mission (id),
    member TEXT NOT NULL REFERENCES member (id),
    PRIMARY KEY (mission, member)
) STRICT, WITHOUT ROWID;
-- A mission's part of a sale, in aUEC.
CREATE TABLE mission_income (
    mission TEXT NOT NULL REFERENCES mission (id),
    sale TEXT NOT NULL REFERENCES stock_sale (id),
    amount INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (mission, sale)
) STRICT, WITHOUT ROWID;
CREATE INDEX mission_income_by_sale ON mission_income (sale);
-- A part of a mission that flies a ship.
CREATE TABLE mission_unit (
    id TEXT PRIMARY KEY,
    mission TEXT NOT NULL,
    ship TEXT REFERENCES ship (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mission_unit_by_ship ON mission_unit (ship) WHERE ship IS NOT NULL;
