-- Data of the shop and its backend: products, and the keys of the HTTP API.

CREATE TABLE appstore.products (
    bundle_id   text    NOT NULL COLLATE "C",
    product_id  text    NOT NULL COLLATE "C",
    entitlement text    NOT NULL COLLATE "C",
    days        integer,
    duration    text    COLLATE "C",
    PRIMARY KEY (product_id, bundle_id, entitlement),
    CONSTRAINT products_days_positive CHECK (days > 0),
    CONSTRAINT products_days_within_a_century CHECK (days <= 36500),
    CONSTRAINT products_duration_is_a_period CHECK (duration ~ '^P[1-9][0-9]{0,2}[DWMY]$')
);
COMMENT ON TABLE appstore.products IS
    'The entitlements of an app''s product: rows that the operator writes. A product that is not listed gives an entitlement of its own name. '
    'Apps share an entitlement where their rows name the same one.';
COMMENT ON COLUMN appstore.products.bundle_id IS 'The app that sells the product; another app''s product of the same id is another product.';
COMMENT ON COLUMN appstore.products.entitlement IS 'A name of yours, which several products may share.';
COMMENT ON COLUMN appstore.products.duration IS
    'How long a period of an auto-renewable subscription lasts, by ISO 8601 (P1W, P1M, P1Y), for reports; null where the periods themselves '
    'say it. The greatest one of the product''s rows counts.';
COMMENT ON COLUMN appstore.products.days IS 'How long a non-renewing product lasts from its purchase; null for ever.';

CREATE TABLE appstore.access_settings (
    is_only boolean  NOT NULL DEFAULT true PRIMARY KEY,
    leeway  interval NOT NULL DEFAULT '0',
    CONSTRAINT access_settings_is_one_row CHECK (is_only),
    CONSTRAINT access_settings_leeway_within_limits CHECK (leeway BETWEEN interval '0' AND interval '72 hours'),
    -- A day would depend on the session's time zone.
    CONSTRAINT access_settings_leeway_without_days CHECK (extract(day FROM leeway) = 0)
);
INSERT INTO appstore.access_settings DEFAULT VALUES;
COMMENT ON TABLE appstore.access_settings IS 'One row of settings of what is active, which appstore.set_leeway changes.';
COMMENT ON COLUMN appstore.access_settings.is_only IS 'Always true: the key of the only row.';
COMMENT ON COLUMN appstore.access_settings.leeway IS
    'How long access stays active after the end of a period that will renew, while Apple has said nothing of the renewal; 0 for not at all.';

-- A type, not RETURNS TABLE: columns of that have the database's collation, and conditions on them would not use the indexes of the ids.
CREATE TYPE appstore.entitlement AS (
    environment             appstore.environment,
    user_id                 text COLLATE "C",
    product_id              text COLLATE "C",
    entitlement             text COLLATE "C",
    active                  boolean,
    until                   timestamptz,
    why                     text COLLATE "C",
    in_grace                boolean,
    will_renew              boolean,
    original_transaction_id text COLLATE "C",
    bundle_id               text COLLATE "C",
    seats                   jsonb,
    commitment_until        timestamptz,
    commitment_will_renew   boolean
);
COMMENT ON TYPE appstore.entitlement IS
    'What a user may use at an instant. why is active, grace_period, leeway, or how it ended (entitlement_terms.why_ended); will_renew is null while it '
    'is unknown; until is infinity for an entitlement that does not end; seats is what appstore.seats_of returns.';

CREATE TYPE appstore.order_state AS (
    environment             appstore.environment,
    order_no                uuid,
    user_id                 text COLLATE "C",
    product_id              text COLLATE "C",
    bundle_id               text COLLATE "C",
    status                  text COLLATE "C",
    reason                  text COLLATE "C",
    ordered_at              timestamptz,
    paid_at                 timestamptz,
    quantity                integer,
    price                   bigint,
    currency                text COLLATE "C",
    transaction_id          text COLLATE "C",
    original_transaction_id text COLLATE "C"
);
COMMENT ON TYPE appstore.order_state IS 'A row of appstore.order_status.';

CREATE TABLE appstore.api_keys (
    key_id       integer     NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text        NOT NULL,
    key_hash     bytea       NOT NULL UNIQUE,
    bundle_ids   text[],
    environments appstore.environment[] NOT NULL,
    verbs        text[]      NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT api_keys_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 100),
    CONSTRAINT api_keys_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
    CONSTRAINT api_keys_bundle_ids_not_empty CHECK (cardinality(bundle_ids) > 0 AND array_position(bundle_ids, NULL) IS NULL),
    CONSTRAINT api_keys_environments_not_empty CHECK (cardinality(environments) > 0 AND array_position(environments, NULL) IS NULL),
    CONSTRAINT api_keys_verbs_are_known CHECK (cardinality(verbs) > 0 AND verbs <@ ARRAY[
        'orders:create', 'orders:read', 'transactions:submit', 'receipts:submit', 'events:read', 'entitlements:read',
        'subscriptions:read', 'contracts:link', 'feed:read', 'feed:consume', 'consumption:read', 'consumption:answer', 'consents:write',
        'inquiries:make', 'contracts:extend', 'contracts:set-token'])
);
COMMENT ON TABLE appstore.api_keys IS
    'Bearer keys of the HTTP API. A key is 256 random bits, shown once; only its SHA-256 is stored and looked up by an index. A slow hash '
    'would add nothing, since such a key cannot be guessed. A key is alive until it is revoked or expires.';
COMMENT ON COLUMN appstore.api_keys.key_id IS 'The number by which a key is revoked.';
COMMENT ON COLUMN appstore.api_keys.name IS 'The caller that uses the key. No two living keys have one name.';
COMMENT ON COLUMN appstore.api_keys.key_hash IS 'SHA-256 of the key''s text.';
COMMENT ON COLUMN appstore.api_keys.environments IS 'The environments that the key is for.';
COMMENT ON COLUMN appstore.api_keys.created_at IS 'When it was made.';
COMMENT ON COLUMN appstore.api_keys.expires_at IS 'From when it permits nothing; null for never.';
COMMENT ON COLUMN appstore.api_keys.revoked_at IS 'When it was revoked; null while it is not.';
COMMENT ON COLUMN appstore.api_keys.verbs IS 'What the key may do; each api_ function names the verbs that it takes.';
COMMENT ON COLUMN appstore.api_keys.bundle_ids IS 'The apps that the key is for; null for any.';
COMMENT ON COLUMN appstore.api_keys.last_used_at IS
    'A use in the hour of the latest one, usually the first: a key that is used often is written once an hour.';
