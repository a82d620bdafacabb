-- The books of the desk, with four orders to play with. Amounts are in cents, so they are exact.
BEGIN IMMEDIATE;

CREATE TABLE IF NOT EXISTS orders (
    order_id INTEGER PRIMARY KEY,
    customer TEXT NOT NULL,
    email TEXT NOT NULL,
    article TEXT NOT NULL,
    currency TEXT NOT NULL,
    paid_cents INTEGER NOT NULL CHECK (paid_cents >= 0)
);

-- What a person is shown, under the id of the draft that they approve.
CREATE TABLE IF NOT EXISTS prepared_refunds (
    draft_id TEXT PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders,
    cents INTEGER NOT NULL CHECK (cents > 0),
    currency TEXT NOT NULL
);

-- One refund for each call, and one for each draft that was approved.
CREATE TABLE IF NOT EXISTS refunds (
    refund_id INTEGER PRIMARY KEY,
    idempotency_key TEXT NOT NULL UNIQUE,
    draft_id TEXT UNIQUE REFERENCES prepared_refunds,
    order_id INTEGER NOT NULL REFERENCES orders,
    cents INTEGER NOT NULL CHECK (cents > 0),
    currency TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ'))
);

-- Calls of which somebody has been told that they didn't happen: so they never will.
CREATE TABLE IF NOT EXISTS closed_keys (idempotency_key TEXT PRIMARY KEY);

CREATE TABLE IF NOT EXISTS drafted_answers (
    draft_id TEXT PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders,
    text TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS answers (
    answer_id INTEGER PRIMARY KEY,
    idempotency_key TEXT NOT NULL UNIQUE,
    draft_id TEXT NOT NULL UNIQUE REFERENCES drafted_answers,
    email TEXT NOT NULL,
    text TEXT NOT NULL
);

INSERT OR IGNORE INTO orders VALUES
    (1044, 'Ada Lindqvist', 'ada@example.com', 'teapot, blue', 'EUR', 2900),
    (1051, 'Bela Novak', 'bela@example.com', 'lamp, brass', 'EUR', 8450),
    (1060, 'Chidi Okafor', 'chidi@example.com', 'desk, oak', 'EUR', 129000),
    (1072, 'Dana Whitfield', 'dana@example.com', 'kettle, steel', 'USD', 4500);

PRAGMA user_version = 1;
COMMIT;
