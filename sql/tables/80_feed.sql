-- The feed: what changed, numbered after the commit. The transaction that changes the ledger writes tells; the sequencer numbers them.

CREATE TABLE appstore.feed_switch (
    is_only   boolean NOT NULL DEFAULT true PRIMARY KEY,
    is_on     boolean NOT NULL DEFAULT false,
    wants_raw boolean NOT NULL DEFAULT false,
    CONSTRAINT feed_switch_is_one_row CHECK (is_only)
);
INSERT INTO appstore.feed_switch DEFAULT VALUES;
COMMENT ON TABLE appstore.feed_switch IS
    'One row: whether changes are told. A transaction that changes the ledger reads it and so holds a lock on the table until its commit. '
    'appstore.enable_feed and appstore.disable_feed wait for that.';
COMMENT ON COLUMN appstore.feed_switch.is_only IS 'Always true: the key of the only row.';
COMMENT ON COLUMN appstore.feed_switch.is_on IS 'Whether changes are told. Written by appstore.enable_feed and appstore.disable_feed.';
COMMENT ON COLUMN appstore.feed_switch.wants_raw IS
    'Whether an endpoint wants notifications themselves. Written by appstore.make_endpoint, change_endpoint and remove_endpoint.';

CREATE TABLE appstore.tells (
    tell_id     bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid         xid8        NOT NULL DEFAULT pg_current_xact_id(),
    kind        text        NOT NULL COLLATE "C",
    environment appstore.environment,
    ref         text        NOT NULL COLLATE "C",
    told_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT tells_kind_is_known CHECK (kind IN ('effect', 'contract', 'order', 'forgotten', 'failed', 'raw', 'test', 'disabled')),
    CONSTRAINT tells_has_environment CHECK ((environment IS NULL) = (kind IN ('forgotten', 'failed', 'raw', 'test', 'disabled')))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE appstore.tells IS
    'What changed and is not in the feed yet: written by the transaction that changes it, deleted by the step of the sequencer that numbers it. '
    'Empty while the feed is off.';
COMMENT ON COLUMN appstore.tells.tell_id IS
    'The order within a step. Two transactions that change one contract write their tells one after the other, under its lock.';
COMMENT ON COLUMN appstore.tells.xid IS 'The transaction that wrote it, by which the sequencer finds what was committed since its last step.';
COMMENT ON COLUMN appstore.tells.kind IS 'effect, contract (its access may have changed), order (made by the shop), forgotten, failed (an event), raw (a notification to forward), '
    'test or disabled (an endpoint).';
COMMENT ON COLUMN appstore.tells.environment IS 'Null for all but effect, contract and order.';
COMMENT ON COLUMN appstore.tells.ref IS
    'effect_id, original_transaction_id, order_no, the name of the forgotten user, event_id, event_id and run (raw), or the name of the endpoint, '
    'with the reason where it is disabled.';
COMMENT ON COLUMN appstore.tells.told_at IS 'When it was written.';
-- Dead entries of earlier steps lie before the ranges that a step reads, also while a snapshot is held for hours.
CREATE INDEX tells_by_xid ON appstore.tells (xid, tell_id);

CREATE TABLE appstore.feed (
    position     bigint      NOT NULL PRIMARY KEY,
    id           uuid        NOT NULL,
    type         text        NOT NULL COLLATE "C",
    environment  appstore.environment,
    bundle_id    text        COLLATE "C",
    subject      text        COLLATE "C",
    user_id      text        COLLATE "C",
    from_user_id text        COLLATE "C",
    occurred_at  timestamptz NOT NULL,
    told_at      timestamptz NOT NULL,
    data         jsonb       NOT NULL
) PARTITION BY RANGE (position);
COMMENT ON TABLE appstore.feed IS
    'What changed, in the order of commit. Positions have no gaps and appear in their order, so that reading what follows a position '
    'misses nothing. Rows are never changed, except that appstore.forget replaces user_id and from_user_id. Kept as long as retention.feed says.';
COMMENT ON COLUMN appstore.feed.position IS '1, 2, 3 … without a gap, within one generation (feed_head.generation).';
COMMENT ON COLUMN appstore.feed.id IS
    'Identifies what changed. Equal when it is told again after a failover or restore: effect_id of an effect, notificationUUID of '
    'notification.received, else a UUID of version 8.';
COMMENT ON COLUMN appstore.feed.type IS
    'effect.granted and so on, access.changed, owner.changed, order.paid, order.refunded, user.forgotten, inbox.failed, '
    'notification.received, notification.rejected, test, endpoint.disabled.';
COMMENT ON COLUMN appstore.feed.environment IS
    'Null for user.forgotten, which concerns both, and where a notification, a failed event or an endpoint has none.';
COMMENT ON COLUMN appstore.feed.subject IS
    'The contract (original_transaction_id); null for user.forgotten, and where a notification, a failed event or an endpoint has none.';
COMMENT ON COLUMN appstore.feed.user_id IS 'The user as of this position; of user.forgotten the user to forget. Not in data.';
COMMENT ON COLUMN appstore.feed.from_user_id IS 'The user before, for owner.changed; null else. Not in data.';
COMMENT ON COLUMN appstore.feed.occurred_at IS
    'When it happened; of a change that a transaction of the shop or of a worker made to access, owner or a refunded order, when it was noticed.';
COMMENT ON COLUMN appstore.feed.told_at IS 'When it got its position.';
COMMENT ON COLUMN appstore.feed.data IS 'The facts, as of this position.';
-- appstore.forget
CREATE INDEX feed_by_user ON appstore.feed (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX feed_by_from_user ON appstore.feed (from_user_id) WHERE from_user_id IS NOT NULL;

CREATE TABLE appstore.feed_head (
    is_only         boolean     NOT NULL DEFAULT true PRIMARY KEY,
    position        bigint      NOT NULL DEFAULT 0,
    generation      integer     NOT NULL DEFAULT 0,
    cluster         text        NOT NULL COLLATE "C" DEFAULT '',
    told_snapshot   pg_snapshot,
    target_snapshot pg_snapshot,
    enabled_at      timestamptz NOT NULL DEFAULT '-infinity',
    turned_to       timestamptz NOT NULL DEFAULT '-infinity',
    partition_from  bigint      NOT NULL DEFAULT 1,
    partition_to    bigint      NOT NULL DEFAULT 1,
    partition_since timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT feed_head_is_one_row CHECK (is_only)
) WITH (fillfactor = 10);
INSERT INTO appstore.feed_head DEFAULT VALUES;
COMMENT ON TABLE appstore.feed_head IS 'One row: the end of the feed. Its lock is what lets one sequencer take a step at a time.';
COMMENT ON COLUMN appstore.feed_head.is_only IS 'Always true: the key of the only row.';
COMMENT ON COLUMN appstore.feed_head.position IS 'The latest position; 0 before the first.';
COMMENT ON COLUMN appstore.feed_head.generation IS
    'Raised when positions may come to mean something else: after a failover or restore, and when the feed is enabled again. 1, then the seconds '
    'since the begin of 2026.';
COMMENT ON COLUMN appstore.feed_head.cluster IS
    'Where told_snapshot is from: system identifier, timeline, database and this table. Another value means a failover or a restore.';
COMMENT ON COLUMN appstore.feed_head.told_snapshot IS 'Everything that this snapshot sees is told; null: unknown, so that all tells are read.';
COMMENT ON COLUMN appstore.feed_head.target_snapshot IS 'The snapshot of a step that found too much for one transaction; null else.';
COMMENT ON COLUMN appstore.feed_head.enabled_at IS 'When the feed was enabled last.';
COMMENT ON COLUMN appstore.feed_head.turned_to IS 'Until when told_access.turns_at was looked at. Dead entries lie before it.';
COMMENT ON COLUMN appstore.feed_head.partition_from IS 'The first position of the newest partition.';
COMMENT ON COLUMN appstore.feed_head.partition_to IS 'The position after its last one; equal to partition_from before the first partition.';
COMMENT ON COLUMN appstore.feed_head.partition_since IS 'When it was made.';

CREATE TABLE appstore.feed_generations (
    generation    integer     NOT NULL PRIMARY KEY,
    from_position bigint      NOT NULL,
    began_at      timestamptz NOT NULL,
    is_complete   boolean     NOT NULL
);
COMMENT ON TABLE appstore.feed_generations IS
    'Where each generation of the feed begins. Entries before from_position mean the same in the generation before: a reader of that one goes on '
    'from there.';
COMMENT ON COLUMN appstore.feed_generations.generation IS 'feed_head.generation at that time.';
COMMENT ON COLUMN appstore.feed_generations.from_position IS 'Its first position.';
COMMENT ON COLUMN appstore.feed_generations.began_at IS 'When it began.';
COMMENT ON COLUMN appstore.feed_generations.is_complete IS
    'Whether all that changed since the generation before is told; false where the feed was off in between.';

CREATE TABLE appstore.told_access (
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL COLLATE "C",
    entitlement             text        NOT NULL COLLATE "C",
    user_id                 text        NOT NULL COLLATE "C",
    active                  boolean     NOT NULL,
    until                   timestamptz,
    why                     text        NOT NULL COLLATE "C",
    turns_at                timestamptz,
    changes                 integer     NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, entitlement, user_id)
) WITH (fillfactor = 80);
COMMENT ON TABLE appstore.told_access IS
    'The access that was told last, by contract, entitlement and user. access.changed is told when appstore.entitlements differs from it. Only '
    'the sequencer and appstore.forget write it. Empty while the feed is off.';
COMMENT ON COLUMN appstore.told_access.entitlement IS 'The name in appstore.products, else the product''s.';
COMMENT ON COLUMN appstore.told_access.active IS 'Whether the user may use it.';
COMMENT ON COLUMN appstore.told_access.until IS 'infinity where it does not end; null while it is unknown.';
COMMENT ON COLUMN appstore.told_access.why IS 'As in appstore.entitlements; owner_changed or plan_changed where it no longer has a row there.';
COMMENT ON COLUMN appstore.told_access.turns_at IS 'When the clock alone changes it next: the begin of a grace period, or the end.';
COMMENT ON COLUMN appstore.told_access.changes IS 'How often it was told since the feed was enabled. Part of the id of access.changed.';
CREATE INDEX told_access_by_turn ON appstore.told_access (turns_at) WHERE turns_at IS NOT NULL;
-- appstore.forget
CREATE INDEX told_access_by_user ON appstore.told_access (user_id);

CREATE TABLE appstore.told_orders (
    environment appstore.environment NOT NULL,
    order_no    uuid    NOT NULL,
    status      text    NOT NULL COLLATE "C",
    changes     integer NOT NULL,
    PRIMARY KEY (order_no, environment)
);
COMMENT ON TABLE appstore.told_orders IS
    'The status of each order of the shop that was told last. order.paid and order.refunded are told when the status differs. Empty while the '
    'feed is off.';
COMMENT ON COLUMN appstore.told_orders.status IS 'orders.status.';
COMMENT ON COLUMN appstore.told_orders.changes IS 'How often the status changed since the feed was enabled. Part of the id.';

CREATE TABLE appstore.feed_consumers (
    name     text        NOT NULL PRIMARY KEY COLLATE "C",
    position bigint      NOT NULL,
    moved_at timestamptz NOT NULL,
    CONSTRAINT feed_consumers_name_is_a_name CHECK (name ~ '^[a-z][a-z0-9_.-]{0,62}$')
) WITH (fillfactor = 50);
COMMENT ON TABLE appstore.feed_consumers IS
    'Named readers of the feed and how far each is. The feed is kept for one that is behind, up to twice as long as retention.feed.';
COMMENT ON COLUMN appstore.feed_consumers.name IS 'A name of yours: lower-case letters, digits, and . _ -';
COMMENT ON COLUMN appstore.feed_consumers.position IS 'The last position that it has taken.';
COMMENT ON COLUMN appstore.feed_consumers.moved_at IS 'When it took something last.';
