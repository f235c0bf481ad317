-- The schema that appstore-inbox migrate makes, dumped by PostgreSQL 15. Written by deploy/schema --write, compared by deploy/test.

CREATE SCHEMA appstore;

COMMENT ON SCHEMA appstore IS 'appstore-inbox: created and owned by appstore-inbox migrate. Put other objects into a schema of their own.';

CREATE SCHEMA appstore_reports;

COMMENT ON SCHEMA appstore_reports IS 'Reports of appstore-inbox: subscriptions, MRR, churn, trials, retention and refunds, in UTC. Created and owned by appstore-inbox migrate. A login as appstore_reporter may read it and nothing else.';

CREATE TYPE appstore.claim_kind AS ENUM (
    'client',
    'link',
    'order',
    'receipt',
    'restored',
    'token'
);

COMMENT ON TYPE appstore.claim_kind IS 'The origin of a claim to a contract. The order of declaration is the rank: of claims of one instant the one of the later kind counts.';

CREATE TYPE appstore.consumption_answer AS (
	consented boolean,
	delivery text,
	sample boolean,
	percentage integer,
	preference text,
	evidence text,
	details jsonb
);

COMMENT ON TYPE appstore.consumption_answer IS 'What appstore.answer_consumption takes.';

CREATE TYPE appstore.environment AS ENUM (
    'Production',
    'Sandbox'
);

COMMENT ON TYPE appstore.environment IS 'Apple''s environment. Part of every key of the ledger: Sandbox events never touch Production rows.';

CREATE TYPE appstore.contract_key AS (
	environment appstore.environment,
	id text
);

COMMENT ON TYPE appstore.contract_key IS 'Names a contract: its environment and its original_transaction_id.';

CREATE TYPE appstore.entitlement AS (
	environment appstore.environment,
	user_id text COLLATE pg_catalog."C",
	product_id text COLLATE pg_catalog."C",
	entitlement text COLLATE pg_catalog."C",
	active boolean,
	until timestamp with time zone,
	why text COLLATE pg_catalog."C",
	in_grace boolean,
	will_renew boolean,
	original_transaction_id text COLLATE pg_catalog."C",
	bundle_id text COLLATE pg_catalog."C"
);

COMMENT ON TYPE appstore.entitlement IS 'What a user may use at an instant. why is active, grace_period, or how it ended (entitlement_terms.why_ended); will_renew is null while it is unknown; until is infinity for an entitlement that does not end.';

CREATE TYPE appstore.import_item_state AS ENUM (
    'open',
    'again',
    'found',
    'covered',
    'unknown_to_apple',
    'failed'
);

COMMENT ON TYPE appstore.import_item_state IS 'open: not asked yet, or not completely. again: Apple knows no such id; asked once more a day later. The others are final: found; covered by the answer about another item; unknown_to_apple; failed, which means that Apple refused the question.';

CREATE TYPE appstore.order_state AS (
	environment appstore.environment,
	order_no uuid,
	user_id text COLLATE pg_catalog."C",
	product_id text COLLATE pg_catalog."C",
	bundle_id text COLLATE pg_catalog."C",
	status text COLLATE pg_catalog."C",
	reason text COLLATE pg_catalog."C",
	ordered_at timestamp with time zone,
	paid_at timestamp with time zone,
	quantity integer,
	price bigint,
	currency text COLLATE pg_catalog."C",
	transaction_id text COLLATE pg_catalog."C",
	original_transaction_id text COLLATE pg_catalog."C"
);

COMMENT ON TYPE appstore.order_state IS 'A row of appstore.order_status.';

CREATE TYPE appstore.result AS ENUM (
    'applied',
    'superseded',
    'no_effect',
    'duplicate',
    'unhandled',
    'rejected',
    'failed',
    'discarded'
);

COMMENT ON TYPE appstore.result IS 'The result of an event.';

CREATE TYPE appstore.repair_filter AS (
	result appstore.result,
	reason text,
	notification_type text,
	subtype text,
	environment appstore.environment,
	bundle_id text,
	received_from timestamp with time zone,
	received_before timestamp with time zone
);

COMMENT ON TYPE appstore.repair_filter IS 'Which outcomes a repair selects: those that meet every condition. A null condition is ignored.';

CREATE TYPE appstore.repair_progress AS (
	started_at timestamp with time zone,
	event_id bigint,
	events bigint,
	pace interval,
	due_from timestamp with time zone,
	pause interval,
	is_done boolean
);

COMMENT ON TYPE appstore.repair_progress IS 'The progress of a repair in steps, see appstore.repair_step. null is the beginning.';

COMMENT ON COLUMN appstore.repair_progress.started_at IS 'Only outcomes that are older are repaired, so that each event is repaired once.';

COMMENT ON COLUMN appstore.repair_progress.event_id IS 'The last event that was checked; the walk goes by id.';

COMMENT ON COLUMN appstore.repair_progress.events IS 'How many events were repaired so far.';

COMMENT ON COLUMN appstore.repair_progress.pace IS 'The time over which the next 1,000 requeued events become due.';

COMMENT ON COLUMN appstore.repair_progress.due_from IS 'Where the queue began at the latest step: only dead index entries lie before it.';

COMMENT ON COLUMN appstore.repair_progress.pause IS 'How long to wait before the next step.';

CREATE TABLE appstore.feed (
    "position" bigint NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment,
    bundle_id text COLLATE pg_catalog."C",
    subject text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    from_user_id text COLLATE pg_catalog."C",
    occurred_at timestamp with time zone NOT NULL,
    told_at timestamp with time zone NOT NULL,
    data jsonb NOT NULL
)
PARTITION BY RANGE ("position");

COMMENT ON TABLE appstore.feed IS 'What changed, in the order of commit. Positions have no gaps and appear in their order, so that reading what follows a position misses nothing. Rows are never changed, except that appstore.forget replaces user_id and from_user_id. Kept as long as retention.feed says.';

COMMENT ON COLUMN appstore.feed."position" IS '1, 2, 3 … without a gap, within one generation (feed_head.generation).';

COMMENT ON COLUMN appstore.feed.id IS 'Identifies what changed. Equal when it is told again after a failover or restore: effect_id of an effect, notificationUUID of notification.received, else a UUID of version 8.';

COMMENT ON COLUMN appstore.feed.type IS 'effect.granted and so on, access.changed, owner.changed, order.paid, order.refunded, user.forgotten, inbox.failed, notification.received, notification.rejected, test, endpoint.disabled.';

COMMENT ON COLUMN appstore.feed.environment IS 'Null for user.forgotten, which concerns both, and where a notification, a failed event or an endpoint has none.';

COMMENT ON COLUMN appstore.feed.subject IS 'The contract (original_transaction_id); null for user.forgotten, and where a notification, a failed event or an endpoint has none.';

COMMENT ON COLUMN appstore.feed.user_id IS 'The user as of this position; of user.forgotten the user to forget. Not in data.';

COMMENT ON COLUMN appstore.feed.from_user_id IS 'The user before, for owner.changed; null else. Not in data.';

COMMENT ON COLUMN appstore.feed.occurred_at IS 'When it happened; of a change that a transaction of the shop or of a worker made to access, owner or a refunded order, when it was noticed.';

COMMENT ON COLUMN appstore.feed.told_at IS 'When it got its position.';

COMMENT ON COLUMN appstore.feed.data IS 'The facts, as of this position.';

CREATE FUNCTION appstore.access_entries(p_kinds text[], p_environments appstore.environment[], p_refs text[], p_turned appstore.contract_key[], p_now timestamp with time zone, p_enabled_at timestamp with time zone) RETURNS TABLE(place bigint, entry appstore.feed)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        -- 1. The contracts, each at its last tell; those that only the clock changes at the end.
        SELECT contract.place, contract.environment, contract.id, m.bundle_id, m.user_id AS owner
        FROM (
            SELECT max(c.place) AS place, c.environment, c.id
            FROM (SELECT tell.place, tell.environment, tell.ref AS id
                  FROM unnest(p_kinds, p_environments, p_refs) WITH ORDINALITY AS tell (kind, environment, ref, place)
                  WHERE tell.kind = 'contract'
                  UNION ALL
                  SELECT cardinality(p_kinds) + 1, turned.environment, turned.id FROM unnest(p_turned) AS turned (environment, id)) AS c
            GROUP BY c.environment, c.id
        ) AS contract
        LEFT JOIN LATERAL (
            SELECT m.bundle_id, m.user_id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = contract.id AND m.environment = contract.environment OFFSET 0
        ) AS m ON true
    ), present AS MATERIALIZED (
        SELECT asked.place, asked.environment, asked.id, asked.bundle_id, a.*
        FROM asked CROSS JOIN LATERAL (SELECT a.* FROM appstore.access_of(asked.environment, asked.id, p_now) AS a OFFSET 0) AS a
    ), told AS MATERIALIZED (
        SELECT asked.place, asked.bundle_id, asked.owner, t.* FROM asked CROSS JOIN LATERAL (
            SELECT t.* FROM appstore.told_access AS t
            WHERE t.original_transaction_id = asked.id AND t.environment = asked.environment OFFSET 0
        ) AS t
    ), compared AS MATERIALIZED (
        -- 2. What is, beside what was told. Where there is no row any more, a row that was told as active has ended.
        SELECT coalesce(p.place, t.place) AS place, coalesce(p.environment, t.environment) AS environment,
               coalesce(p.id, t.original_transaction_id) AS id, coalesce(p.bundle_id, t.bundle_id) AS bundle_id,
               coalesce(p.entitlement, t.entitlement) AS entitlement, coalesce(p.user_id, t.user_id) AS user_id, p.product_id,
               coalesce(p.active, false) AS active, p.until, p.turns_at,
               CASE WHEN p.user_id IS NOT NULL THEN p.why WHEN t.user_id = t.owner THEN 'plan_changed' ELSE 'owner_changed' END AS why,
               t.active AS was_active, t.until AS was_until, t.why AS was_why, t.turns_at AS turned_at, coalesce(t.changes, 0) AS changes,
               CASE WHEN p.user_id IS NULL THEN t.active
                    ELSE t.user_id IS NULL OR (p.active, p.until, p.why) IS DISTINCT FROM (t.active, t.until, t.why) END AS is_other,
               p.user_id IS NULL AND t.user_id IS DISTINCT FROM t.owner AND t.why <> 'owner_changed' AS is_moved, t.owner
        FROM present AS p
        FULL JOIN told AS t
            ON t.environment = p.environment AND t.original_transaction_id = p.id AND t.entitlement = p.entitlement AND t.user_id = p.user_id
        WHERE p.user_id IS NOT NULL OR t.active OR t.user_id IS DISTINCT FROM t.owner
    ), final AS MATERIALIZED (
        SELECT c.*, c.changes + CASE WHEN c.is_other OR c.is_moved THEN 1 ELSE 0 END AS now_changes FROM compared AS c
    ), remembered AS (
        INSERT INTO appstore.told_access AS k
            (environment, original_transaction_id, entitlement, user_id, active, until, why, turns_at, changes)
        SELECT f.environment, f.id, f.entitlement, f.user_id, f.active, f.until, f.why, f.turns_at, f.now_changes
        FROM final AS f WHERE f.is_other OR f.is_moved OR f.turns_at IS DISTINCT FROM f.turned_at
        ON CONFLICT (original_transaction_id, environment, entitlement, user_id) DO UPDATE
        SET active = excluded.active, until = excluded.until, why = excluded.why, turns_at = excluded.turns_at, changes = excluded.changes
    )
    SELECT f.place,
           ROW(NULL,
               appstore.feed_id(jsonb_build_array('access', p_enabled_at, f.environment, f.id, f.entitlement, f.user_id, f.now_changes, f.active,
                                                  f.until, f.why)),
               'access.changed', f.environment, f.bundle_id, f.id, f.user_id, NULL,
               CASE WHEN f.turned_at <= p_now THEN f.turned_at ELSE p_now END, p_now,
               jsonb_build_object(
                   'entitlement', f.entitlement, 'product_id', f.product_id, 'active', f.active, 'why', f.why,
                   'until', CASE WHEN isfinite(f.until) THEN f.until END,
                   'before', CASE WHEN f.was_why IS NOT NULL THEN jsonb_build_object(
                       'active', f.was_active, 'why', f.was_why, 'until', CASE WHEN isfinite(f.was_until) THEN f.was_until END) END))::appstore.feed
    FROM final AS f WHERE f.is_other
    UNION ALL
    SELECT moved.place,
           ROW(NULL,
               appstore.feed_id(jsonb_build_array('owner', p_enabled_at, moved.environment, moved.id, moved.user_id, moved.owner,
                                                  moved.changes)),
               'owner.changed', moved.environment, moved.bundle_id, moved.id, moved.owner, moved.user_id, p_now, p_now,
               jsonb_build_object('evidence', (
                   SELECT jsonb_build_object('kind', k.kind, 'source_id', k.source_id, 'effective_at', k.effective_at)
                   FROM appstore.ownership_claims AS k
                   WHERE k.original_transaction_id = moved.id AND k.environment = moved.environment
                   ORDER BY k.effective_at DESC, k.kind DESC, k.source_id DESC LIMIT 1)))::appstore.feed
    FROM (SELECT f.place, f.environment, f.id, f.bundle_id, f.user_id, f.owner, sum(f.now_changes) AS changes -- grows with each time
          FROM final AS f GROUP BY f.place, f.environment, f.id, f.bundle_id, f.user_id, f.owner HAVING bool_or(f.is_moved)) AS moved;
END
$$;

COMMENT ON FUNCTION appstore.access_entries(p_kinds text[], p_environments appstore.environment[], p_refs text[], p_turned appstore.contract_key[], p_now timestamp with time zone, p_enabled_at timestamp with time zone) IS 'The entries access.changed of these contracts: where appstore.entitlements differs from what was told last, which it then replaces. And the entries owner.changed: where what was told is of a user that no longer owns the contract.';

CREATE FUNCTION appstore.access_of(p_environment appstore.environment, p_contract text, p_at timestamp with time zone) RETURNS TABLE(entitlement text, user_id text, product_id text, active boolean, until timestamp with time zone, why text, turns_at timestamp with time zone)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT e.entitlement, e.user_id, e.product_id, coalesce(p_at < e.until, false), e.until,
           CASE WHEN p_at < e.until THEN CASE WHEN p_at >= e.grace_from THEN 'grace_period' ELSE 'active' END ELSE e.why_ended END,
           CASE WHEN p_at < e.until THEN least(nullif(e.until, 'infinity'), CASE WHEN p_at < e.grace_from THEN e.grace_from END) END
    FROM appstore.entitlement_terms AS e
    WHERE e.original_transaction_id = p_contract AND e.environment = p_environment AND e.user_id IS NOT NULL
$$;

COMMENT ON FUNCTION appstore.access_of(p_environment appstore.environment, p_contract text, p_at timestamp with time zone) IS 'The rows of appstore.entitlements_at for a contract, and when the clock alone changes each next (turns_at; null for never).';

CREATE TABLE appstore.contracts (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    renewal_status integer,
    renewal_product_id text COLLATE pg_catalog."C",
    auto_renew_product_id text COLLATE pg_catalog."C",
    auto_renew_status integer,
    expiration_intent integer,
    is_in_billing_retry_period boolean,
    price_increase_status integer,
    grace_period_expires_date timestamp with time zone,
    renewal_date timestamp with time zone,
    renewal_price bigint,
    renewal_currency text COLLATE pg_catalog."C",
    renewal_offer_type integer,
    renewal_offer_identifier text COLLATE pg_catalog."C",
    renewal_offer_discount_type text COLLATE pg_catalog."C",
    renewal_offer_period text COLLATE pg_catalog."C",
    eligible_win_back_offer_ids jsonb,
    recent_subscription_start_date timestamp with time zone,
    renewal_app_account_token uuid,
    renewal_app_transaction_id text COLLATE pg_catalog."C",
    renewal_billing_plan_type text COLLATE pg_catalog."C",
    renewal_signed_date timestamp with time zone,
    renewal_hash bytea,
    user_id text COLLATE pg_catalog."C",
    owner_since timestamp with time zone,
    is_contested boolean DEFAULT false NOT NULL,
    bundle_id text COLLATE pg_catalog."C",
    product_id text COLLATE pg_catalog."C",
    product_type text COLLATE pg_catalog."C",
    status integer,
    will_renew boolean,
    started_at timestamp with time zone,
    current_transaction_id text COLLATE pg_catalog."C",
    current_period_start timestamp with time zone,
    current_period_end timestamp with time zone,
    revoked_at timestamp with time zone,
    access_until timestamp with time zone,
    CONSTRAINT contracts_current_whole CHECK (((current_transaction_id IS NULL) = (current_period_start IS NULL))),
    CONSTRAINT contracts_register_whole CHECK (((renewal_signed_date IS NULL) = (renewal_hash IS NULL)))
)
WITH (fillfactor='80');

COMMENT ON TABLE appstore.contracts IS 'Everything that gives access, a subscription of one Apple ID in one group or a single purchase: the latest state of its renewal from Apple, and, derived, its owner, current period and access. A writer first locks the contracts that it changes, in the order (environment, id).';

COMMENT ON COLUMN appstore.contracts.renewal_status IS 'Apple''s: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked; unknown ones are kept.';

COMMENT ON COLUMN appstore.contracts.auto_renew_status IS '1 renews, 0 does not.';

COMMENT ON COLUMN appstore.contracts.renewal_signed_date IS 'Version of the register, with renewal_hash; null while nothing is known.';

COMMENT ON COLUMN appstore.contracts.renewal_hash IS 'Hash of the statement, which breaks ties of renewal_signed_date.';

COMMENT ON COLUMN appstore.contracts.owner_since IS 'effective_at of the claim that makes user_id the owner; null without a claim.';

COMMENT ON COLUMN appstore.contracts.is_contested IS 'The contract has a client post, a V1 register or a later token: a new renewal may change more rows than the contract itself.';

COMMENT ON COLUMN appstore.contracts.status IS 'Status of the register that counts: this one, or that of Notifications V1.';

COMMENT ON COLUMN appstore.contracts.will_renew IS 'Whether the subscription renews; null while it is unknown.';

COMMENT ON COLUMN appstore.contracts.started_at IS 'purchaseDate of its first transaction.';

COMMENT ON COLUMN appstore.contracts.current_transaction_id IS 'The transaction of the current period: that of the latest purchaseDate, then expiresDate, then the greatest id.';

COMMENT ON COLUMN appstore.contracts.current_period_start IS 'purchaseDate of the current transaction.';

COMMENT ON COLUMN appstore.contracts.current_period_end IS 'expiresDate of the current transaction.';

COMMENT ON COLUMN appstore.contracts.revoked_at IS 'revocationDate of the current transaction.';

COMMENT ON COLUMN appstore.contracts.access_until IS 'Until when it gives access; infinity where access does not end; null while only appstore.products or a charge that is missing could say it.';

CREATE TABLE appstore.transactions (
    environment appstore.environment NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    web_order_line_item_id text COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    product_type text COLLATE pg_catalog."C",
    subscription_group_identifier text COLLATE pg_catalog."C",
    purchase_date timestamp with time zone NOT NULL,
    original_purchase_date timestamp with time zone,
    expires_date timestamp with time zone,
    quantity integer,
    app_account_token uuid,
    in_app_ownership_type text COLLATE pg_catalog."C",
    revocation_date timestamp with time zone,
    revocation_reason integer,
    revocation_type text COLLATE pg_catalog."C",
    revocation_percentage integer,
    is_upgraded boolean,
    offer_type integer,
    offer_identifier text COLLATE pg_catalog."C",
    offer_discount_type text COLLATE pg_catalog."C",
    offer_period text COLLATE pg_catalog."C",
    storefront text COLLATE pg_catalog."C",
    storefront_id text COLLATE pg_catalog."C",
    transaction_reason text COLLATE pg_catalog."C",
    currency text COLLATE pg_catalog."C",
    price bigint,
    app_transaction_id text COLLATE pg_catalog."C",
    billing_plan_type text COLLATE pg_catalog."C",
    signed_date timestamp with time zone,
    payload_hash bytea,
    first_signed_date timestamp with time zone NOT NULL,
    first_token uuid,
    first_token_signed_date timestamp with time zone,
    first_token_hash bytea,
    period_no uuid NOT NULL,
    is_subscription boolean NOT NULL,
    is_purchased boolean GENERATED ALWAYS AS ((in_app_ownership_type IS DISTINCT FROM 'FAMILY_SHARED'::text)) STORED NOT NULL,
    order_no uuid,
    token_changed boolean DEFAULT false NOT NULL,
    left_token uuid,
    confers_access boolean GENERATED ALWAYS AS ((is_subscription OR COALESCE((product_type = ANY (ARRAY['Non-Consumable'::text, 'Non-Renewing Subscription'::text])), false))) STORED NOT NULL,
    receipt_date timestamp with time zone,
    receipt_hash bytea,
    receipt_expires_date timestamp with time zone,
    receipt_revocation_date timestamp with time zone,
    receipt_revocation_reason integer,
    receipt_is_upgraded boolean,
    left_contract text COLLATE pg_catalog."C",
    CONSTRAINT transactions_first_not_after_last CHECK ((first_signed_date <= GREATEST(signed_date, receipt_date))),
    CONSTRAINT transactions_first_token_whole CHECK ((((first_token_signed_date IS NULL) = (first_token_hash IS NULL)) AND ((first_token_hash IS NULL) OR (first_token IS NOT NULL)) AND ((first_token IS NULL) OR (COALESCE(first_token_hash, payload_hash) IS NOT NULL)))),
    CONSTRAINT transactions_has_a_half CHECK (((signed_date IS NOT NULL) OR (receipt_date IS NOT NULL))),
    CONSTRAINT transactions_jws_half_whole CHECK (((signed_date IS NULL) = (payload_hash IS NULL))),
    CONSTRAINT transactions_receipt_half_whole CHECK ((((receipt_date IS NULL) = (receipt_hash IS NULL)) AND ((receipt_date IS NOT NULL) OR ((receipt_expires_date IS NULL) AND (receipt_revocation_date IS NULL) AND (receipt_revocation_reason IS NULL) AND (receipt_is_upgraded IS NULL)))))
)
WITH (fillfactor='90');

COMMENT ON TABLE appstore.transactions IS 'The latest state of each transaction from Apple. It has two halves, each replaced as a whole by a newer fact of its kind: the JWS half (signed_date, payload_hash) and the receipt half (receipt_date, receipt_hash). Constants are those of the JWS half where there is one; expires_date, revocation_* and is_upgraded those of the half with the later date, the JWS half on a tie.';

COMMENT ON COLUMN appstore.transactions.app_account_token IS 'The order that Apple''s latest statement names; null also for a version 5 UUID, which is no order''s number but may be a period''s.';

COMMENT ON COLUMN appstore.transactions.revocation_percentage IS 'Thousandths of a per cent: 100000 is the whole price.';

COMMENT ON COLUMN appstore.transactions.signed_date IS 'Version of the JWS half; payload_hash breaks ties.';

COMMENT ON COLUMN appstore.transactions.payload_hash IS 'SHA-256 of the JWS''s payload.';

COMMENT ON COLUMN appstore.transactions.first_signed_date IS 'The date of the oldest fact of either half.';

COMMENT ON COLUMN appstore.transactions.first_token IS 'The appAccountToken of the oldest fact that had one.';

COMMENT ON COLUMN appstore.transactions.first_token_signed_date IS 'With first_token_hash the version of that fact; null where it is the JWS half itself, as of most transactions.';

COMMENT ON COLUMN appstore.transactions.first_token_hash IS 'See first_token_signed_date.';

COMMENT ON COLUMN appstore.transactions.period_no IS 'UUIDv5 of the paid period (or of the transaction, for products without periods): its order number where no token pays for it.';

COMMENT ON COLUMN appstore.transactions.is_subscription IS 'Whether it is a period of an auto-renewable subscription.';

COMMENT ON COLUMN appstore.transactions.is_purchased IS 'False for what a family member shares.';

COMMENT ON COLUMN appstore.transactions.order_no IS 'Derived: the order that this transaction pays; null for family members.';

COMMENT ON COLUMN appstore.transactions.token_changed IS 'Between a merge and its derivation: the transaction names another order than before, or none any longer, or is no longer a family member''s; left_token is the order that it named before.';

COMMENT ON COLUMN appstore.transactions.left_token IS 'See token_changed.';

COMMENT ON COLUMN appstore.transactions.confers_access IS 'False for consumables; everything else gives access and so has a contract.';

COMMENT ON COLUMN appstore.transactions.receipt_date IS 'Version of the receipt half: receipt_creation_date, or the request_date of verifyReceipt. receipt_hash breaks ties.';

COMMENT ON COLUMN appstore.transactions.receipt_hash IS 'Hash of what the receipt says of the transaction; its first byte is the rank of the form.';

COMMENT ON COLUMN appstore.transactions.left_contract IS 'The contract that the transaction belonged to until a newer fact named another; null in everything that Apple is known to send. Depends on the order of arrival and is not part of the state.';

CREATE TABLE appstore.v1_renewals (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    provenance text NOT NULL COLLATE pg_catalog."C",
    product_id text COLLATE pg_catalog."C",
    auto_renew_product_id text COLLATE pg_catalog."C",
    auto_renew_status integer,
    is_in_billing_retry_period boolean,
    expiration_intent integer,
    grace_period_expires_date timestamp with time zone,
    price_increase_status integer,
    promotional_offer_id text COLLATE pg_catalog."C",
    offer_code_ref_name text COLLATE pg_catalog."C",
    stated_at timestamp with time zone NOT NULL,
    fact_hash bytea NOT NULL,
    CONSTRAINT v1_renewals_provenance_is_known CHECK ((provenance = ANY (ARRAY['v1'::text, 'verify_receipt'::text])))
)
WITH (fillfactor='80');

COMMENT ON TABLE appstore.v1_renewals IS 'The state of a renewal from Notifications V1 and verifyReceipt (pending_renewal_info): one register an app, replaced as a whole, never mixed with the JWS register. The register of the app that sold the contract''s transactions counts.';

COMMENT ON COLUMN appstore.v1_renewals.bundle_id IS 'The app whose shared secret authenticates the register.';

COMMENT ON COLUMN appstore.v1_renewals.provenance IS 'v1: only a shared secret authenticates it; verify_receipt: Apple''s own answer.';

COMMENT ON COLUMN appstore.v1_renewals.price_increase_status IS 'price_increase_status, else price_consent_status.';

COMMENT ON COLUMN appstore.v1_renewals.stated_at IS 'auto_renew_status_change_date, else receipt_creation_date; or request_date.';

COMMENT ON COLUMN appstore.v1_renewals.fact_hash IS 'Hash of the statement, which breaks ties of stated_at.';

CREATE FUNCTION appstore.access_until(c appstore.transactions, s appstore.contracts, l appstore.v1_renewals) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT greatest(
        CASE
            WHEN NOT c.is_subscription THEN
                CASE WHEN c.confers_access
                     THEN coalesce(c.revocation_date, CASE WHEN c.product_type = 'Non-Consumable' THEN timestamptz 'infinity' END) END
            WHEN c.revocation_date IS NOT NULL
                 AND (s.renewal_signed_date IS NULL OR greatest(c.signed_date, c.receipt_date) > s.renewal_signed_date) THEN c.revocation_date
            WHEN appstore.is_of_earlier_period(s.renewal_status, s.renewal_date, c.purchase_date) THEN coalesce(c.revocation_date, c.expires_date)
            WHEN s.renewal_signed_date >= c.first_signed_date AND s.renewal_status = 1 THEN greatest(c.expires_date, s.renewal_date)
            WHEN s.renewal_signed_date >= c.first_signed_date AND s.renewal_status = 4
                THEN coalesce(s.grace_period_expires_date, c.expires_date)
            WHEN s.renewal_signed_date >= c.first_signed_date AND s.renewal_status IN (2, 3, 5)
                THEN least(coalesce(c.revocation_date, c.expires_date), s.renewal_signed_date)
            ELSE coalesce(c.revocation_date, c.expires_date)
        END,
        -- A grace period known only from Notifications V1. 720 hours: days would depend on the session's time zone.
        CASE WHEN c.is_subscription AND c.revocation_date IS NULL AND l.is_in_billing_retry_period
                  AND l.grace_period_expires_date <= c.expires_date + interval '720 hours' AND appstore.v1_counts(s, l)
                  AND NOT (coalesce(s.renewal_signed_date >= c.first_signed_date, false) AND coalesce(s.renewal_status = 5, false))
             THEN l.grace_period_expires_date END)
$$;

COMMENT ON FUNCTION appstore.access_until(c appstore.transactions, s appstore.contracts, l appstore.v1_renewals) IS 'Until when the current transaction c of a contract gives access, by the registers s and l; null where a consumable or an unknown duration.';

CREATE FUNCTION appstore.actor() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(CASE WHEN session_user = 'appstore_console' THEN nullif(current_setting('appstore.actor', true), '') END, session_user::text)
$$;

COMMENT ON FUNCTION appstore.actor() IS 'Who acts: the login, or the person whom the console names in the setting appstore.actor of its transaction.';

CREATE FUNCTION appstore.add_import_items(import_id integer, lines integer[], ids text[], user_ids text[], environments appstore.environment[], revisions text[], OUT added integer, OUT contradicting integer[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    v_import appstore.imports;
    v_bad    integer;
BEGIN
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.import_id = add_import_items.import_id AND r.state = 'loading' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'import % is not loading', quote_nullable(add_import_items.import_id) USING ERRCODE = 'no_data_found',
            HINT = 'It was not touched for an hour: begin again.';
    END IF;
    v_bad := (SELECT min(l.line) FROM unnest(lines, ids, user_ids, revisions) AS l (line, id, user_id, revision)
              WHERE (l.id ~ '^[0-9]{1,32}$') IS NOT TRUE OR char_length(l.user_id) NOT BETWEEN 1 AND 255 OR octet_length(l.revision) > 1000);
    PERFORM appstore.check_argument(v_bad IS NULL, format('line %s cannot be imported', v_bad),
                                    'An id has 1 to 32 digits, a user 1 to 255 characters, a revision at most 1000 bytes.');
    WITH new AS (
        INSERT INTO appstore.import_items AS i (import_id, line, environment, is_given, id, user_id, revision)
        SELECT v_import.import_id, min(l.line), coalesce((array_agg(l.environment ORDER BY l.line))[1], v_import.environment, 'Production'),
               coalesce((array_agg(l.environment ORDER BY l.line))[1], v_import.environment) IS NOT NULL, l.id,
               (array_agg(l.user_id ORDER BY l.line) FILTER (WHERE l.user_id IS NOT NULL))[1], (array_agg(l.revision ORDER BY l.line))[1]
        FROM unnest(lines, ids, user_ids, environments, revisions) AS l (line, id, user_id, environment, revision)
        GROUP BY l.id ORDER BY 2
        ON CONFLICT (id, import_id) DO UPDATE SET user_id = excluded.user_id WHERE i.user_id IS NULL AND excluded.user_id IS NOT NULL
        RETURNING i.xmax = 0 AS is_new -- an item that another line was about has been locked
    )
    SELECT count(*) FILTER (WHERE is_new) INTO added FROM new;
    contradicting := ARRAY(
        SELECT l.line
        FROM unnest(lines, ids, user_ids, environments) AS l (line, id, user_id, environment)
        CROSS JOIN LATERAL (
            SELECT i.line, i.user_id, i.environment, i.is_given FROM appstore.import_items AS i
            WHERE i.id = l.id AND (i.import_id = v_import.import_id) IS TRUE OFFSET 0
        ) AS i
        WHERE added < cardinality(lines) AND i.line <> l.line
          AND (i.user_id <> l.user_id OR i.is_given AND i.environment <> l.environment) ORDER BY l.line);
    UPDATE appstore.imports AS r
    SET items = r.items + added, repeated = r.repeated + cardinality(lines) - added - cardinality(contradicting), touched_at = clock_timestamp(),
        last_line = greatest(r.last_line, (SELECT max(l) FROM unnest(lines) AS l))
    WHERE r.import_id = v_import.import_id;
END
$_$;

COMMENT ON FUNCTION appstore.add_import_items(import_id integer, lines integer[], ids text[], user_ids text[], environments appstore.environment[], revisions text[], OUT added integer, OUT contradicting integer[]) IS 'Loads lines of a file, each id once: its first line counts, and the first user. Returns how many became items, and the lines that name another user or environment than an earlier line with the same id.';

CREATE FUNCTION appstore.advance_history_window(p_window_id bigint, p_epoch bigint) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_window appstore.history_windows;
BEGIN
    UPDATE appstore.history_windows AS w
    SET starts_at = least(w.starts_at + interval '1 hour', w.ends_at), token = NULL, pages = 0, listed = 0
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' AND w.starts_at < w.ends_at - interval '1 hour'
    RETURNING w.* INTO v_window;
    IF NOT FOUND THEN
        UPDATE appstore.history_windows AS w
        SET starts_at = w.ends_at, state = 'too_old', closed_at = clock_timestamp(), is_leased = false, failing_since = NULL
        WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open'
        RETURNING w.* INTO v_window;
    END IF;
    UPDATE appstore.history_cursors AS c
    SET edge = greatest(c.edge, v_window.starts_at), anchor = greatest(c.anchor, v_window.starts_at)
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
    RETURN v_window.starts_at;
END
$$;

COMMENT ON FUNCTION appstore.advance_history_window(p_window_id bigint, p_epoch bigint) IS 'Moves the start of a leased window forward by an hour, since Apple called it too old, and remembers the edge; a window that has no hour left is closed. Returns the new start, null when another lease has begun.';

CREATE FUNCTION appstore.affected_rows(p_environment appstore.environment, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) RETURNS TABLE(tokens uuid[], unsure uuid[], periods uuid[], contracts text[], claimed text[])
    LANGUAGE sql STABLE ROWS 1
    AS $$
    WITH charge AS MATERIALIZED (
        SELECT found.*
        FROM unnest(p_transaction_ids) AS moved (id)
        CROSS JOIN LATERAL (
            SELECT t.period_no, t.first_token, t.token_changed, t.left_token, t.order_no, t.app_account_token, t.is_purchased,
                   t.original_transaction_id, t.left_contract
            FROM appstore.transactions AS t WHERE t.transaction_id = moved.id AND t.environment = p_environment OFFSET 0
        ) AS found
    ), moved AS MATERIALIZED (
        -- 1. The periods of the charges, as they are and as of the latest derivation.
        SELECT charge.period_no AS order_no FROM charge
        UNION
        SELECT before.period_no
        FROM charge CROSS JOIN LATERAL (
            SELECT o.period_no FROM appstore.orders AS o WHERE o.order_no = charge.order_no AND o.environment = p_environment OFFSET 0
        ) AS before
        WHERE charge.order_no <> charge.period_no AND before.period_no IS NOT NULL
    ), named AS MATERIALIZED (
        -- 2. The orders that the charges name, named at the latest derivation, or pay together with another charge.
        SELECT unnest(p_tokens) AS order_no
        UNION
        SELECT named.order_no
        FROM charge CROSS JOIN LATERAL (VALUES (charge.first_token), (charge.left_token), (charge.app_account_token)) AS named (order_no)
        WHERE named.order_no IS NOT NULL AND (charge.is_purchased OR charge.token_changed)
        UNION
        SELECT paid.order_no
        FROM charge CROSS JOIN LATERAL (
            SELECT o.order_no FROM appstore.orders AS o
            WHERE o.period_no = charge.period_no AND o.environment = p_environment AND o.order_no <> o.period_no OFFSET 0
        ) AS paid
    ), unsure AS MATERIALIZED (
        -- 3. The orders whose payer may differ: all except those paid as before, by a period that did not move.
        SELECT named.order_no, ordered.period_no AS paid_before, payer.period_no AS paid_now
        FROM named
        LEFT JOIN LATERAL (
            SELECT o.period_no FROM appstore.orders AS o WHERE o.order_no = named.order_no AND o.environment = p_environment OFFSET 0
        ) AS ordered ON true
        LEFT JOIN LATERAL appstore.payer(p_environment, named.order_no) AS payer ON true
        WHERE ordered.period_no IS NULL OR ordered.period_no IS DISTINCT FROM payer.period_no
           OR ordered.period_no IN (SELECT moved.order_no FROM moved) OR named.order_no = ANY (p_tokens)
    ), elsewhere AS MATERIALIZED (
        -- 4. The periods that paid those orders or pay them now, and those of charges that name an order of this number later, and so claim
        --    their contract; with their contracts.
        SELECT period.order_no, found.original_transaction_id
        FROM (
            SELECT unsure.paid_before AS order_no FROM unsure WHERE unsure.paid_before IS NOT NULL
            UNION
            SELECT unsure.paid_now FROM unsure WHERE unsure.paid_now IS NOT NULL
            UNION
            SELECT moved.order_no FROM moved WHERE moved.order_no NOT IN (SELECT charge.period_no FROM charge)
            UNION
            SELECT later.period_no
            FROM unnest(p_tokens) AS made (order_no) CROSS JOIN LATERAL (
                SELECT t.period_no FROM appstore.transactions AS t
                WHERE t.app_account_token = made.order_no AND t.environment = p_environment AND t.app_account_token <> t.first_token OFFSET 0
            ) AS later
        ) AS period
        LEFT JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.period_no = period.order_no AND t.environment = p_environment OFFSET 0
        ) AS found ON true
    ), contract AS (
        -- 5. The contracts. That of a consumable, too, although its row is deleted again unless it was posted or linked: a transaction that
        --    learns its user, and one that learns its charge, must not both miss what the other has not yet committed.
        SELECT unnest(p_contract_ids || p_renewals) AS id
        UNION
        SELECT charge.original_transaction_id FROM charge
        UNION
        SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL -- derived without the charge
        UNION
        SELECT elsewhere.original_transaction_id FROM elsewhere WHERE elsewhere.original_transaction_id IS NOT NULL
    ), claimed AS (
        -- 6. Contracts whose claims may differ. A charge concerns claims when it has no token, or another one than before; claims by clients
        --    and by later tokens depend on more than that.
        SELECT unnest(p_contract_ids) AS id
        UNION
        SELECT charge.original_transaction_id FROM charge
        WHERE charge.first_token IS NULL
           OR charge.token_changed OR charge.app_account_token <> charge.first_token
        UNION
        SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL
        UNION
        SELECT elsewhere.original_transaction_id FROM elsewhere WHERE elsewhere.original_transaction_id IS NOT NULL
        UNION
        SELECT charge.original_transaction_id
        FROM charge CROSS JOIN LATERAL (
            SELECT FROM appstore.ownership_claims AS c
            WHERE c.original_transaction_id = charge.original_transaction_id AND c.environment = p_environment
              AND c.kind IN ('client', 'token') LIMIT 1
        ) AS delicate
        UNION
        -- A posted receipt depends on all charges of its contract.
        SELECT charge.original_transaction_id
        FROM charge CROSS JOIN LATERAL (
            SELECT FROM appstore.client_posts AS p
            WHERE p.original_transaction_id = charge.original_transaction_id AND p.environment = p_environment AND p.is_receipt LIMIT 1
        ) AS posted
    )
    SELECT ARRAY(SELECT named.order_no FROM named ORDER BY named.order_no),
           ARRAY(SELECT unsure.order_no FROM unsure ORDER BY unsure.order_no),
           ARRAY(SELECT moved.order_no FROM moved UNION SELECT elsewhere.order_no FROM elsewhere ORDER BY order_no),
           ARRAY(SELECT contract.id FROM contract ORDER BY contract.id),
           ARRAY(SELECT claimed.id FROM claimed ORDER BY claimed.id)
$$;

COMMENT ON FUNCTION appstore.affected_rows(p_environment appstore.environment, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) IS 'The rows that a derivation after these changes concerns: tokens, the orders to check; unsure, those whose payer may differ; periods, whose order may differ; contracts; claimed, contracts whose claims may differ.';

CREATE FUNCTION appstore.answer_call(call_id bigint, epoch bigint, bodies bytea[], answer jsonb DEFAULT NULL::jsonb, next bytea DEFAULT NULL::bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_bodies integer := coalesce(cardinality(bodies), 0);
    v_kind   text;
    v_source text;
    v_events bigint[] := '{}';
BEGIN
    -- A worker can only answer a call under the latest lease. Apple's answer itself cannot be checked here.
    SELECT c.kind INTO v_kind FROM appstore.outbox AS c
    WHERE c.call_id = answer_call.call_id AND c.epoch = answer_call.epoch AND (c.state = 'open') IS TRUE AND c.is_leased FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT k.source INTO v_source FROM appstore.call_kinds AS k WHERE k.kind = v_kind;
    PERFORM appstore.check_argument(FOUND, format('a call of kind %s has no answer', v_kind), 'appstore.call_kinds lists the kinds.');
    PERFORM appstore.check_argument(
        CASE WHEN v_source IS NULL THEN v_bodies = 0 ELSE v_bodies > 0 OR answer_call.answer IS NOT NULL END,
        format('a call of kind %s is answered with %s bodies', v_kind, v_bodies),
        'There are bodies only where appstore.call_kinds names a source, and there an answer without any has something else to say.');
    IF v_bodies > 0 THEN
        v_events := ARRAY(SELECT stored.event_id FROM appstore.store(v_source, bodies) AS stored (event_id));
    END IF;
    UPDATE appstore.outbox AS c
    SET is_leased = false, last_reason = NULL, repeats = 0, answer = answer_call.answer,
        answer_event_ids = (c.answer_event_ids || v_events)[1:1000],
        state = CASE WHEN answer_call.next IS NULL THEN 'answered' ELSE 'open' END,
        settled_at = CASE WHEN answer_call.next IS NULL THEN clock_timestamp() END,
        answer_event_id = CASE WHEN answer_call.next IS NULL THEN (c.answer_event_ids || v_events)[1] END,
        -- With more pages to come it is due at once, and begins a new count of what fails.
        attempts = CASE WHEN answer_call.next IS NULL THEN c.attempts + 1 ELSE 0 END,
        waits_for = CASE WHEN answer_call.next IS NULL THEN c.waits_for END,
        run_at = CASE WHEN answer_call.next IS NULL THEN c.run_at ELSE clock_timestamp() END,
        payload = coalesce(answer_call.next, c.payload)
    WHERE c.call_id = answer_call.call_id;
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.answer_call(call_id bigint, epoch bigint, bodies bytea[], answer jsonb, next bytea) IS 'Stores the bodies of an answer as events, of the source that appstore.call_kinds names for the kind of the call, with what else it says, and settles the call. Where next is given the answer has more pages: the call stays open, and next is the payload with which it goes on. Returns false, without effect, when the lease of that epoch has been lost.';

CREATE FUNCTION appstore.answer_consumption(environment appstore.environment, transaction_id text, consented boolean, delivery text DEFAULT NULL::text, sample boolean DEFAULT NULL::boolean, percentage integer DEFAULT NULL::integer, preference text DEFAULT NULL::text, evidence text DEFAULT NULL::text, details jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_refused record;
BEGIN
    SELECT * INTO v_refused FROM appstore.decide_consumption(
        environment, transaction_id, ROW(consented, delivery, sample, percentage, preference, evidence, details), 'decision', appstore.actor());
    IF v_refused.refusal IS NOT NULL THEN
        RAISE EXCEPTION '%', v_refused.message USING DETAIL = v_refused.refusal, HINT = 'appstore.consumption_requests lists what Apple asks.',
            ERRCODE = CASE WHEN v_refused.refusal = 'not_asked' THEN 'no_data_found'
                           WHEN v_refused.refusal IN ('apple_decided', 'answered', 'past_due', 'policy_off') THEN 'object_not_in_prerequisite_state'
                           ELSE 'invalid_parameter_value' END;
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.answer_consumption(environment appstore.environment, transaction_id text, consented boolean, delivery text, sample boolean, percentage integer, preference text, evidence text, details jsonb) IS 'Decides how Apple''s consumption request is answered, and puts the answer into the outbox; without consent it is a decision to send nothing. It fails with no_data_found when Apple has not asked, with object_not_in_prerequisite_state when it is too late or the policy is off, and with invalid_parameter_value when the answer breaks a rule; DETAIL names the rule. After a refusal by Apple, call it again with a correct answer. Where it fails with 40P01 or 55P03, call it again.';

CREATE FUNCTION appstore.api_allowance(setting double precision, lowered_to double precision, last_429_at timestamp with time zone, instant timestamp with time zone) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE WHEN last_429_at IS NULL THEN setting
                ELSE least(setting, lowered_to + setting * 0.1 * greatest(extract(epoch FROM instant - last_429_at)::double precision, 0) / 3600) END
$$;

COMMENT ON FUNCTION appstore.api_allowance(setting double precision, lowered_to double precision, last_429_at timestamp with time zone, instant timestamp with time zone) IS 'The requests a second that a budget allows at an instant: its setting, or what the latest 429 has left of it and a tenth of the setting for each hour since.';

CREATE FUNCTION appstore.api_answer_consumption(key_hash bytea, environment appstore.environment, transaction_id text, consented boolean, delivery text, sample boolean, percentage integer, preference text, evidence text, details jsonb, OUT refusal text, OUT message text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consumption:answer}', ARRAY[environment]);
BEGIN
    IF v_key.bundle_ids IS NOT NULL AND NOT EXISTS (
        SELECT FROM appstore.transactions AS t
        WHERE t.transaction_id = transaction_id AND t.environment = environment AND t.bundle_id = ANY (v_key.bundle_ids)) THEN
        refusal := 'not_asked';
        RETURN;
    END IF;
    SELECT d.refusal, d.message INTO refusal, message FROM appstore.decide_consumption(
        environment, transaction_id, ROW(consented, delivery, sample, percentage, preference, evidence, details), 'decision',
        'key ' || v_key.key_id) AS d;
END
$$;

COMMENT ON FUNCTION appstore.api_answer_consumption(key_hash bytea, environment appstore.environment, transaction_id text, consented boolean, delivery text, sample boolean, percentage integer, preference text, evidence text, details jsonb, OUT refusal text, OUT message text) IS 'Decides a request as answer_consumption does; instead of failing, it returns the state or rule that refuses the decision. Verb consumption:answer.';

CREATE FUNCTION appstore.api_call(key_hash bytea, call_id bigint) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{inquiries:make,contracts:extend,contracts:set-token}', '{}');
BEGIN
    RETURN (
        SELECT appstore.call_document(c.call_id) FROM appstore.outbox AS c
        WHERE c.call_id = api_call.call_id AND c.environment = ANY (v_key.environments)
          AND (v_key.bundle_ids IS NULL OR c.bundle_id = ANY (v_key.bundle_ids))
          AND CASE c.kind WHEN 'extend_renewal_date' THEN v_key.verbs && '{inquiries:make,contracts:extend}'
                          WHEN 'set_app_account_token' THEN v_key.verbs && '{inquiries:make,contracts:set-token}'
                          ELSE v_key.verbs @> '{inquiries:make}'
                               AND c.kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history',
                                              'app_transaction', 'order_lookup') END);
END
$$;

COMMENT ON FUNCTION appstore.api_call(key_hash bytea, call_id bigint) IS 'The state of a call that is about an app of the key; null for any other. Verb inquiries:make; for a change its own verb suffices.';

CREATE FUNCTION appstore.api_consumer(key_hash bytea, name text) RETURNS TABLE(generation integer, "position" bigint, moved_at timestamp with time zone, head bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.authorize(key_hash, '{feed:read}', '{}');
    RETURN QUERY SELECT h.generation, c.position, c.moved_at, h.position FROM appstore.feed_consumers AS c, appstore.feed_head AS h
                 WHERE c.name = api_consumer.name;
END
$$;

COMMENT ON FUNCTION appstore.api_consumer(key_hash bytea, name text) IS 'A named consumer of the feed and where the feed ends; no row where there is none. Verb feed:read.';

CREATE FUNCTION appstore.api_consumption(key_hash bytea, environment appstore.environment, transaction_id text, state text, max_requests integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consumption:read,consumption:answer}', ARRAY[environment]);
BEGIN
    RETURN QUERY SELECT d.* FROM appstore.consumption_documents(
        environment, transaction_id, v_key.bundle_ids,
        CASE WHEN transaction_id IS NULL AND state IS NULL THEN '{waiting,decided,sending,refused}'
             WHEN transaction_id IS NULL THEN ARRAY[state] END, max_requests) AS d;
END
$$;

COMMENT ON FUNCTION appstore.api_consumption(key_hash bytea, environment appstore.environment, transaction_id text, state text, max_requests integer) IS 'The request about a transaction, or those that Apple waits for, in a state, or in any; of the apps of the key. Verb consumption:read; consumption:answer suffices as well, since the answer to a decision is the request.';

CREATE FUNCTION appstore.api_create_order(key_hash bytea, user_id text, product_id text, requested_no uuid, bundle_id text) RETURNS TABLE(result text, placed appstore.order_state)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_key    appstore.api_keys;
    v_bundle text := api_create_order.bundle_id;
    v_no     uuid := coalesce(requested_no, gen_random_uuid());
    v_known  appstore.orders;
    v_result text := 'same';
BEGIN
    -- Only Apple decides whether a purchase is made in Sandbox; such a purchase gets a twin of the Production order.
    v_key := appstore.authorize(key_hash, '{orders:create}', '{Production}', array_remove(ARRAY[v_bundle], NULL));
    PERFORM appstore.check_argument(v_bundle IS NOT NULL OR v_key.bundle_ids IS NULL OR cardinality(v_key.bundle_ids) = 1,
                                    'bundle_id must not be null', 'The key is for several apps: name the one that the order is for.');
    v_bundle := coalesce(v_bundle, v_key.bundle_ids[1]);
    PERFORM appstore.lock_for_order(v_no); -- no other transaction makes the order between this look-up and the call
    SELECT o.* INTO v_known FROM appstore.orders AS o WHERE o.order_no = v_no AND o.environment = 'Production' AND o.ordered_at IS NOT NULL;
    IF v_known.order_no IS NULL THEN
        PERFORM appstore.create_order(api_create_order.user_id, api_create_order.product_id, v_no, v_bundle);
        v_result := 'made';
    ELSIF (v_known.user_id, v_known.product_id, v_known.bundle_id)
          IS DISTINCT FROM (api_create_order.user_id, api_create_order.product_id, v_bundle) THEN
        RETURN QUERY SELECT 'conflict', NULL::appstore.order_state;
        RETURN;
    END IF;
    RETURN QUERY SELECT v_result, ROW(s.*)::appstore.order_state FROM appstore.order_status AS s
                 WHERE s.order_no = v_no AND s.environment = 'Production';
END
$$;

COMMENT ON FUNCTION appstore.api_create_order(key_hash bytea, user_id text, product_id text, requested_no uuid, bundle_id text) IS 'Makes an order as create_order does; without bundle_id it is for the only app of the key. result is made, same when an equal order exists, or conflict when it exists for another user, product or app; then placed is null. Verb orders:create.';

CREATE FUNCTION appstore.api_entitlements(key_hash bytea, environment appstore.environment, user_id text) RETURNS TABLE(product_id text, entitlement text, active boolean, ends_at timestamp with time zone, why text, in_grace boolean, will_renew boolean, original_transaction_id text, bundle_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{entitlements:read,transactions:submit,receipts:submit}',
                                                  ARRAY[api_entitlements.environment]);
BEGIN
    -- statement_timestamp(): with the volatile clock_timestamp() entitlements_at is not inlined, and reads the contracts of all users.
    RETURN QUERY
    SELECT e.product_id, e.entitlement, e.active, CASE WHEN isfinite(e.until) THEN e.until END, e.why, e.in_grace, e.will_renew,
           e.original_transaction_id, e.bundle_id
    FROM appstore.entitlements_at(statement_timestamp()) AS e
    WHERE e.environment = api_entitlements.environment AND e.user_id = api_entitlements.user_id
      AND (v_key.bundle_ids IS NULL OR e.bundle_id = ANY (v_key.bundle_ids))
    ORDER BY e.entitlement, e.original_transaction_id, e.product_id;
END
$$;

COMMENT ON FUNCTION appstore.api_entitlements(key_hash bytea, environment appstore.environment, user_id text) IS 'The entitlements of a user in the apps of the key, active and ended; ends_at is null where one does not end. Verb entitlements:read; the submitting verbs suffice as well, since the answer to a post contains its user''s entitlements.';

CREATE FUNCTION appstore.api_event(key_hash bytea, event_id bigint, with_submission boolean) RETURNS TABLE(received_at timestamp with time zone, settled_at timestamp with time zone, result appstore.result, reason text, environment text, bundle_id text, transaction_id text, original_transaction_id text, submission bytea)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys;
BEGIN
    v_key := appstore.authorize(key_hash, '{events:read,transactions:submit,receipts:submit}', '{}');
    RETURN QUERY
    SELECT coalesce(o.received_at, i.received_at), o.settled_at, o.result, o.reason, o.environment::text, o.bundle_id, o.transaction_id,
           o.original_transaction_id, CASE WHEN api_event.with_submission THEN i.body END
    FROM (SELECT api_event.event_id AS event_id) AS asked
    LEFT JOIN appstore.inbox AS i ON i.event_id = asked.event_id
    LEFT JOIN appstore.outcomes AS o ON o.event_id = asked.event_id
    WHERE coalesce(o.source, i.source) IN ('client_transaction', 'client_receipt')
      AND CASE
              -- A caller that waits for the outcome polls often: the body is read only once there is an outcome.
              WHEN o.event_id IS NULL AND NOT api_event.with_submission THEN true
              ELSE (SELECT coalesce(coalesce(posted.environment::text, verified.environment) = ANY (v_key.environments::text[]),
                                    v_key.environments @> enum_range(NULL::appstore.environment))
                           AND (v_key.bundle_ids IS NULL
                                OR coalesce(verified.bundle_id = ANY (v_key.bundle_ids), v_key.bundle_ids @> posted.bundle_ids))
                    FROM appstore.posted_scope(i.body) AS posted
                    LEFT JOIN LATERAL (SELECT o.environment, o.bundle_id WHERE o.result <> 'rejected') AS verified ON true)
          END;
END
$$;

COMMENT ON FUNCTION appstore.api_event(key_hash bytea, event_id bigint, with_submission boolean) IS 'The state of a client post; no row for any other event, or for a post outside the key''s environments and apps. Its app is the verified one; without one, and for a rejected post, the key needs all apps that the post names. Once the body is deleted, a post of which nothing was verified is only for keys for any app in both environments. (Any key with the verb may see that a post waits, and since when.) submission is the body, when it is requested and still kept. Verb events:read; the submitting verbs suffice as well, since a post may wait for its outcome.';

CREATE FUNCTION appstore.api_feed(key_hash bytea, environment appstore.environment, types text[], consumer text, generation integer, from_position bigint, since timestamp with time zone, max_entries integer, as_cloud_events boolean, OUT state text, OUT events text[], OUT event_types text[], OUT positions bigint[], OUT after bigint, OUT head_generation integer, OUT head bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET lock_timeout TO '100ms'
    SET "TimeZone" TO 'UTC'
    AS $$
#variable_conflict use_column
DECLARE
    v_key          appstore.api_keys := appstore.authorize(key_hash, '{feed:read}', array_remove(ARRAY[api_feed.environment], NULL));
    v_environments appstore.environment[] :=
        CASE WHEN api_feed.environment IS NULL THEN appstore.feed_environments(v_key) ELSE ARRAY[api_feed.environment] END;
    v_to           bigint;
    v_generation   integer;
    v_wanted       bigint;
    v_last         bigint;
BEGIN
    PERFORM appstore.check_feed_types(types);
    PERFORM appstore.check_argument(max_entries BETWEEN 1 AND 1000, 'max_entries must be from 1 to 1000', 'Ask again for more.');
    IF consumer IS NOT NULL THEN
        -- The consumer's row has the history of the feed.
        SELECT h.generation, c.position INTO api_feed.generation, from_position
        FROM appstore.feed_consumers AS c, appstore.feed_head AS h WHERE c.name = consumer;
        IF NOT FOUND THEN
            state := 'no_consumer';
            RETURN;
        END IF;
    END IF;
    SELECT p.state, p.generation, p.head, p.after INTO state, head_generation, head, api_feed.after
    FROM appstore.feed_place(api_feed.generation, from_position, since) AS p;
    IF state <> 'found' THEN
        RETURN;
    END IF;
    -- Few entries may be wanted: read a part of the feed, and let the caller go on.
    v_to := least(api_feed.after + 10000, head);
    v_generation := appstore.feed_generation(v_to);
    IF v_generation <> appstore.feed_generation(api_feed.after + 1) THEN
        v_generation := NULL; -- different ones
    END IF;
    SELECT count(*), array_agg(e.event ORDER BY e.position) FILTER (WHERE e.fits),
           array_agg(e.type ORDER BY e.position) FILTER (WHERE e.fits), array_agg(e.position ORDER BY e.position) FILTER (WHERE e.fits)
    INTO v_wanted, events, event_types, positions
    FROM (
        SELECT w.*, sum(octet_length(w.event)) OVER (ORDER BY w.position) - octet_length(w.event) < 524288 AS fits
        FROM (
            SELECT f.position, f.type,
                   CASE WHEN as_cloud_events THEN appstore.feed_cloud_event(e.event) ELSE e.event END AS event
            FROM appstore.feed AS f
            CROSS JOIN LATERAL appstore.feed_event(f, coalesce(v_generation, appstore.feed_generation(f.position))) AS e (event)
            WHERE f.position > api_feed.after AND f.position <= v_to
              AND appstore.feed_wants(f.type, f.environment, f.bundle_id, types, v_key.bundle_ids, v_environments)
            ORDER BY f.position LIMIT max_entries
        ) AS w
    ) AS e;
    v_last := positions[cardinality(positions)];
    api_feed.after := CASE WHEN v_wanted = max_entries OR v_wanted > cardinality(positions) THEN v_last ELSE v_to END;
    events := coalesce(events, '{}');
    event_types := coalesce(event_types, '{}');
    positions := coalesce(positions, '{}');
END
$$;

COMMENT ON FUNCTION appstore.api_feed(key_hash bytea, environment appstore.environment, types text[], consumer text, generation integer, from_position bigint, since timestamp with time zone, max_entries integer, as_cloud_events boolean, OUT state text, OUT events text[], OUT event_types text[], OUT positions bigint[], OUT after bigint, OUT head_generation integer, OUT head bigint) IS 'The next entries after a cursor, or of a named consumer, of the apps and environments of the key; see appstore.feed_place. It reads at most 10,000 entries, and returns at most max_entries and some 512 KiB. after: where to go on, with the generation of the head, also past entries that are not wanted. state is found, off, changed, expired or no_consumer. Verb feed:read.';

CREATE FUNCTION appstore.api_feed_entry(key_hash bytea, "position" bigint) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET "TimeZone" TO 'UTC'
    AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{feed:read}', '{}');
BEGIN
    RETURN (
        SELECT appstore.feed_event(f, appstore.feed_generation(f.position)) FROM appstore.feed AS f
        WHERE f.position = api_feed_entry."position"
          AND appstore.feed_wants(f.type, f.environment, f.bundle_id, ARRAY[f.type], v_key.bundle_ids, appstore.feed_environments(v_key)));
END
$$;

COMMENT ON FUNCTION appstore.api_feed_entry(key_hash bytea, "position" bigint) IS 'The entry at a position; null where there is none, or it has aged, or is not of an app and environment of the key. Verb feed:read.';

CREATE FUNCTION appstore.api_give_consent(key_hash bytea, user_id text, evidence text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consents:write}', '{}');
BEGIN
    RETURN (appstore.record_consent(user_id, evidence, NULL, 'key ' || v_key.key_id)).given_at;
END
$$;

COMMENT ON FUNCTION appstore.api_give_consent(key_hash bytea, user_id text, evidence text) IS 'Records a consent as give_consent does, for all apps. Verb consents:write.';

CREATE FUNCTION appstore.api_key(key_hash bytea) RETURNS TABLE(key_id integer, bundle_ids text[], environments text[], verbs text[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_key appstore.api_keys;
BEGIN
    SELECT k.* INTO v_key FROM appstore.api_keys AS k WHERE k.key_hash = api_key.key_hash;
    IF v_key.key_id IS NULL OR NOT appstore.is_alive(v_key) THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT v_key.key_id, v_key.bundle_ids, v_key.environments::text[], v_key.verbs;
    IF v_key.last_used_at < date_trunc('hour', v_now, 'UTC') OR v_key.last_used_at IS NULL THEN
        -- Of several concurrent requests one writes; the others do not wait for it.
        UPDATE appstore.api_keys AS used SET last_used_at = v_now
        WHERE used.key_id = (SELECT k.key_id FROM appstore.api_keys AS k WHERE k.key_id = v_key.key_id FOR UPDATE SKIP LOCKED);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.api_key(key_hash bytea) IS 'Returns the scopes of the key with that hash, and records its use once an hour; no row when there is none, or it is revoked or expired. It grants nothing itself: each api_ function checks the key again.';

CREATE FUNCTION appstore.api_link_owner(key_hash bytea, environment appstore.environment, original_transaction_id text, user_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{contracts:link}', ARRAY[environment]);
BEGIN
    IF NOT appstore.is_known_purchase(environment, original_transaction_id, v_key.bundle_ids) THEN
        RETURN false;
    END IF;
    PERFORM appstore.link_owner(environment, original_transaction_id, user_id, 'key ' || v_key.key_id);
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.api_link_owner(key_hash bytea, environment appstore.environment, original_transaction_id text, user_id text) IS 'Makes a user the owner of a contract as link_owner does; false when no purchase of it by an app of the key is known. Verb contracts:link.';

CREATE FUNCTION appstore.api_order(key_hash bytea, environment appstore.environment, order_no uuid) RETURNS SETOF appstore.order_state
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{orders:read}', ARRAY[environment]);
BEGIN
    RETURN QUERY
    SELECT s.* FROM appstore.order_status AS s
    WHERE s.order_no = order_no AND s.environment = environment AND (v_key.bundle_ids IS NULL OR s.bundle_id = ANY (v_key.bundle_ids));
END
$$;

COMMENT ON FUNCTION appstore.api_order(key_hash bytea, environment appstore.environment, order_no uuid) IS 'The order with this number. No row when there is none, or when it is not of an app of the key: an order for any app belongs to keys for any app until it is paid. Verb orders:read.';

CREATE FUNCTION appstore.api_receipt_charges(key_hash bytea, environment appstore.environment, transaction_ids text[], user_id text) RETURNS TABLE(transaction_id text, original_transaction_id text, product_id text, owner text, may_finish boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{receipts:submit}', ARRAY[api_receipt_charges.environment]);
BEGIN
    RETURN QUERY
    SELECT t.transaction_id, t.original_transaction_id, t.product_id,
           CASE WHEN owner.user_id IS NULL THEN 'nobody' WHEN owner.user_id = api_receipt_charges.user_id THEN 'you' ELSE 'another' END,
           owner.user_id IS NOT NULL
    FROM unnest(api_receipt_charges.transaction_ids) WITH ORDINALITY AS asked (id, position)
    CROSS JOIN LATERAL (
        SELECT t.transaction_id, t.original_transaction_id, t.product_id, t.order_no, t.bundle_id FROM appstore.transactions AS t
        WHERE t.transaction_id = asked.id AND t.environment = api_receipt_charges.environment OFFSET 0
    ) AS t
    LEFT JOIN LATERAL (
        SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = t.order_no AND o.environment = api_receipt_charges.environment OFFSET 0
    ) AS o ON true
    LEFT JOIN LATERAL (
        SELECT m.user_id FROM appstore.contracts AS m
        WHERE m.original_transaction_id = t.original_transaction_id AND m.environment = api_receipt_charges.environment OFFSET 0
    ) AS m ON true
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE v_key.bundle_ids IS NULL OR t.bundle_id = ANY (v_key.bundle_ids)
    ORDER BY asked.position;
END
$$;

COMMENT ON FUNCTION appstore.api_receipt_charges(key_hash bytea, environment appstore.environment, transaction_ids text[], user_id text) IS 'Which of these transactions are known, of the apps of the key, in the order of the array, and their owner: you, another or nobody. A client may finish a transaction that is known and has an owner. Verb receipts:submit.';

CREATE FUNCTION appstore.api_receipt_question(key_hash bytea, call_key text) RETURNS TABLE(is_open boolean, denied_because text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{events:read,receipts:submit}', '{}');
BEGIN
    RETURN QUERY
    SELECT CASE WHEN coalesce(c.fallback_event_id, c.answer_event_id) IS NOT NULL
                THEN NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id IN (c.answer_event_id, c.fallback_event_id))
                ELSE c.state = 'open' END,
           CASE WHEN c.state = 'refused' AND c.fallback_event_id IS NULL THEN c.reason END
    FROM appstore.outbox AS c
    WHERE c.call_key = api_receipt_question.call_key AND c.kind = 'verify_receipt'
      AND (v_key.bundle_ids IS NULL OR c.bundle_id = ANY (v_key.bundle_ids))
    ORDER BY c.call_id DESC
    LIMIT 1;
END
$$;

COMMENT ON FUNCTION appstore.api_receipt_question(key_hash bytea, call_key text) IS 'The state of the latest call to Apple about a receipt; no row when there was none. is_open: neither Apple''s answer nor the fallback has an outcome yet; denied_because: the reason with which Apple refused the receipt. Verbs events:read and receipts:submit.';

CREATE FUNCTION appstore.api_remove_consumer(key_hash bytea, name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM appstore.authorize(key_hash, '{feed:consume}', '{}');
    RETURN appstore.remove_consumer(name);
END
$$;

COMMENT ON FUNCTION appstore.api_remove_consumer(key_hash bytea, name text) IS 'Removes a named consumer of the feed; false where there was none. Verb feed:consume.';

CREATE FUNCTION appstore.api_request_apple(key_hash bytea, kind text, id text, details jsonb, bundle_id text, environment appstore.environment, OUT call_id bigint, OUT refusal text, OUT message text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_verbs text[] := CASE kind WHEN 'extend_renewal_date' THEN '{contracts:extend}' WHEN 'set_app_account_token' THEN '{contracts:set-token}'
                                ELSE '{inquiries:make}' END;
    v_key   appstore.api_keys := appstore.authorize(key_hash, v_verbs, '{}');
BEGIN
    PERFORM appstore.check_argument(
        kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction', 'order_lookup',
                 'extend_renewal_date', 'set_app_account_token'),
        format('the API takes no %s', quote_nullable(kind)), 'An operator asks it.');
    call_id := appstore.request_apple(kind, id, details, bundle_id, environment, 'key ' || v_key.key_id, v_key, v_verbs);
EXCEPTION WHEN invalid_parameter_value OR object_in_use THEN
    refusal := CASE SQLSTATE WHEN '22023' THEN 'invalid' ELSE 'in_use' END;
    message := SQLERRM;
END
$$;

COMMENT ON FUNCTION appstore.api_request_apple(key_hash bytea, kind text, id text, details jsonb, bundle_id text, environment appstore.environment, OUT call_id bigint, OUT refusal text, OUT message text) IS 'Asks Apple as ask_apple does, or changes something as extend_renewal_date and set_app_account_token do, about an app of the key; instead of failing for an argument, it returns why. Verbs inquiries:make, contracts:extend and contracts:set-token.';

CREATE FUNCTION appstore.api_set_consumer(key_hash bytea, name text, generation integer, "position" bigint, since timestamp with time zone, OUT state text, OUT after bigint, OUT head_generation integer, OUT head bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    PERFORM appstore.authorize(key_hash, '{feed:consume}', '{}');
    -- The lock on the feed that this read takes keeps partitions from being dropped until the commit.
    SELECT p.state, p.after, p.generation, p.head INTO state, after, head_generation, head
    FROM appstore.feed_place(generation, "position", since) AS p;
    IF state = 'found' THEN
        PERFORM appstore.set_consumer(name, after);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.api_set_consumer(key_hash bytea, name text, generation integer, "position" bigint, since timestamp with time zone, OUT state text, OUT after bigint, OUT head_generation integer, OUT head bigint) IS 'Makes a named consumer of the feed, or moves it. state and after are those of appstore.feed_place. Verb feed:consume.';

CREATE FUNCTION appstore.api_submit_receipt(key_hash bytea, body bytea) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.store_post(key_hash, 'receipts:submit', 'client_receipt', body);
END
$$;

COMMENT ON FUNCTION appstore.api_submit_receipt(key_hash bytea, body bytea) IS 'Stores a receipt that a client posted, and returns the id of its event. Verb receipts:submit.';

CREATE FUNCTION appstore.api_submit_transaction(key_hash bytea, body bytea) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.store_post(key_hash, 'transactions:submit', 'client_transaction', body);
END
$$;

COMMENT ON FUNCTION appstore.api_submit_transaction(key_hash bytea, body bytea) IS 'Stores a transaction that a client posted, and returns the id of its event. Verb transactions:submit.';

CREATE FUNCTION appstore.api_subscription(key_hash bytea, environment appstore.environment, original_transaction_id text) RETURNS TABLE(user_id text, bundle_id text, product_id text, product_type text, status integer, active boolean, ends_at timestamp with time zone, will_renew boolean, renews_as text, expiration_intent integer, in_billing_retry boolean, grace_ends_at timestamp with time zone, started_at timestamp with time zone, period_started_at timestamp with time zone, period_ends_at timestamp with time zone, revoked_at timestamp with time zone, transaction_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{subscriptions:read}', ARRAY[api_subscription.environment]);
BEGIN
    RETURN QUERY
    SELECT m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, clock_timestamp() < m.access_until,
           CASE WHEN isfinite(m.access_until) THEN m.access_until END, m.will_renew,
           CASE WHEN is_v1 THEN l.auto_renew_product_id ELSE m.auto_renew_product_id END,
           CASE WHEN is_v1 THEN l.expiration_intent ELSE m.expiration_intent END,
           CASE WHEN is_v1 THEN l.is_in_billing_retry_period ELSE m.is_in_billing_retry_period END,
           CASE WHEN is_v1 THEN l.grace_period_expires_date ELSE m.grace_period_expires_date END,
           m.started_at, m.current_period_start, m.current_period_end, m.revoked_at, m.current_transaction_id
    FROM appstore.contracts AS m
    LEFT JOIN LATERAL (
        SELECT r.* FROM appstore.v1_renewals AS r
        WHERE r.original_transaction_id = m.original_transaction_id AND r.environment = m.environment AND r.bundle_id = m.bundle_id OFFSET 0
    ) AS l ON true
    CROSS JOIN LATERAL appstore.v1_counts(m, l) AS is_v1
    WHERE m.original_transaction_id = api_subscription.original_transaction_id AND m.environment = api_subscription.environment
      AND (v_key.bundle_ids IS NULL OR m.bundle_id = ANY (v_key.bundle_ids));
END
$$;

COMMENT ON FUNCTION appstore.api_subscription(key_hash bytea, environment appstore.environment, original_transaction_id text) IS 'A contract of an app of the key, with the register of its renewal that counts: that of JWS or of Notifications V1. Verb subscriptions:read.';

CREATE FUNCTION appstore.api_user_orders(key_hash bytea, environment appstore.environment, user_id text, status text, product_id text, before_at timestamp with time zone, before_no uuid, max_orders integer) RETURNS SETOF appstore.order_state
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{orders:read}', ARRAY[environment]);
    v_at  timestamptz := coalesce(before_at, 'infinity');
    v_no  uuid := coalesce(before_no, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    RETURN QUERY
    SELECT page.*
    FROM (
        (SELECT s.* FROM appstore.order_status AS s -- 1. the orders of the shop, in the order of their index
         WHERE s.user_id = user_id AND s.environment = environment AND s.ordered_at IS NOT NULL AND (s.ordered_at, s.order_no) < (v_at, v_no)
           AND (s.status = status OR status IS NULL) AND (s.product_id = product_id OR product_id IS NULL)
           AND (s.bundle_id = ANY (v_key.bundle_ids) OR v_key.bundle_ids IS NULL)
         ORDER BY s.ordered_at DESC, s.order_no DESC LIMIT max_orders)
        UNION ALL
        (SELECT u.* FROM appstore.user_orders AS u -- 2. the others: every charge of the user's contracts is read
         WHERE u.user_id = user_id AND u.environment = environment AND u.ordered_at IS NULL AND (u.paid_at, u.order_no) < (v_at, v_no)
           AND (u.status = status OR status IS NULL) AND (u.product_id = product_id OR product_id IS NULL)
           AND (u.bundle_id = ANY (v_key.bundle_ids) OR v_key.bundle_ids IS NULL)
         ORDER BY u.paid_at DESC, u.order_no DESC LIMIT max_orders)
    ) AS page
    ORDER BY coalesce(page.ordered_at, page.paid_at) DESC, page.order_no DESC
    LIMIT max_orders;
END
$$;

COMMENT ON FUNCTION appstore.api_user_orders(key_hash bytea, environment appstore.environment, user_id text, status text, product_id text, before_at timestamp with time zone, before_no uuid, max_orders integer) IS 'The orders of a user in the apps of the key, newest first by coalesce(ordered_at, paid_at) and order_no, at most max_orders; all statuses and products where these are null. before_at and before_no are the values of the last order of the page before. Verb orders:read.';

CREATE FUNCTION appstore.api_withdraw_consent(key_hash bytea, user_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consents:write}', '{}');
BEGIN
    RETURN appstore.end_consent(user_id, 'key ' || v_key.key_id);
END
$$;

COMMENT ON FUNCTION appstore.api_withdraw_consent(key_hash bytea, user_id text) IS 'Withdraws a consent as withdraw_consent does; false where none is in force and no answer waits. Verb consents:write.';

CREATE FUNCTION appstore.apply_consumption_policies(OUT decided bigint, OUT missed bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_period  CONSTANT interval := '2 days';
    v_request record;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN;
    END IF;
    -- 1. Default answers where nothing else was decided. decide_consumption checks under the request's lock.
    decided := 0;
    FOR v_request IN
        SELECT r.environment, r.transaction_id, p.delivery, p.sample, p.percentage, p.preference
        FROM appstore.consumption_requests AS r CROSS JOIN LATERAL appstore.consumption_policy(r.bundle_id, r.product_id) AS p
        WHERE r.due_at > statement_timestamp() AND r.due_at <= statement_timestamp() + interval '2 hours' AND r.state = 'waiting'
          AND r.decided_at IS NULL AND p.mode = 'default' AND r.is_expected
        ORDER BY r.due_at LIMIT 500
    LOOP
        decided := decided + (
            SELECT (d.refusal IS NULL)::integer
            FROM appstore.decide_consumption(
                v_request.environment, v_request.transaction_id,
                ROW(true, v_request.delivery, v_request.sample, v_request.percentage, v_request.preference, NULL, NULL),
                'policy', appstore.actor()) AS d);
    END LOOP;

    -- 2. Count each missed request once, when no answer is on its way any more. What the history brings later could never be answered here.
    DELETE FROM appstore.consumption_counted AS n WHERE n.due_at <= statement_timestamp() - c_period;
    WITH over AS (
        INSERT INTO appstore.consumption_counted AS n (environment, transaction_id, due_at, is_missed)
        SELECT r.environment, r.transaction_id, r.due_at, r.state = 'missed' AND r.is_expected
        FROM appstore.consumption_requests AS r
        WHERE r.due_at > statement_timestamp() - c_period AND (r.due_at <= statement_timestamp() OR r.outcome IS NOT NULL)
          AND r.state IN ('missed', 'answered', 'not_consented')
          AND NOT EXISTS (SELECT FROM appstore.consumption_counted AS known
                          WHERE known.transaction_id = r.transaction_id AND known.environment = r.environment AND known.due_at >= r.due_at
                          OFFSET 0)
        ON CONFLICT (transaction_id, environment) DO UPDATE SET due_at = excluded.due_at, is_missed = excluded.is_missed
        RETURNING n.is_missed
    )
    SELECT count(*) FILTER (WHERE over.is_missed) INTO missed FROM over;
    INSERT INTO appstore.maintenance_state AS s (task, event_id) SELECT 'consumption', missed WHERE missed > 0
    ON CONFLICT (task) DO UPDATE SET event_id = s.event_id + excluded.event_id;
END
$$;

COMMENT ON FUNCTION appstore.apply_consumption_policies(OUT decided bigint, OUT missed bigint) IS 'Decides the requests of mode default that are due within two hours, of which nothing was decided and the user''s consent is known, at most 500; and counts those of the last two days that were missed. Returns how many; nulls while another worker does it.';

CREATE FUNCTION appstore.apply_facts(p_environment appstore.environment, p_transaction_ids text[], p_candidates text[], p_candidate_contracts text[], p_contract_ids text[], p_renewals text[], p_effect_ids uuid[], p_other_effect_ids uuid[], p_kinds text[], p_subjects text[], p_event_ids bigint[], p_occurred_at timestamp with time zone[], p_original_transaction_ids text[], p_effect_transaction_ids text[], p_product_ids text[], p_vouched_bundle_ids text[], p_grace_period_expires_dates timestamp with time zone[]) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_done      text[];   -- charges that were plain
    v_contracts text[];   -- their contracts
    v_new       uuid[];   -- their new effects
    v_other     uuid[] := '{}'; -- the other new effects
    v_is_told   boolean;  -- whether the feed is on
BEGIN
    PERFORM appstore.demand_read_committed();
    WITH candidate AS MATERIALIZED (
        -- 1. Charges of known contracts of the same app, without anything that concerns more than the contract.
        SELECT t.*, m.user_id, m.current_transaction_id, m.renewal_status, m.auto_renew_status, m.renewal_signed_date, m.renewal_date,
               m.grace_period_expires_date, m.ctid AS contract_row, t.purchase_date > m.current_period_start AS is_new,
               CASE WHEN t.purchase_date > m.current_period_start THEN m.owner_since <= t.purchase_date OR m.owner_since IS NULL
                    -- The current charge may not be overtaken, and an earlier one may not overtake it.
                    WHEN t.transaction_id = m.current_transaction_id
                        THEN t.purchase_date = m.current_period_start AND (t.expires_date < m.current_period_end) IS NOT TRUE
                             AND m.revoked_at IS NULL
                    ELSE t.purchase_date < m.current_period_start AND m.revoked_at IS NULL END AS fits
        FROM (SELECT unnest(p_candidates) AS id, unnest(p_candidate_contracts) AS contract) AS moved
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.original_transaction_id, t.period_no, t.order_no, t.first_token, t.product_id, t.product_type,
                   t.bundle_id, t.purchase_date, t.expires_date, t.quantity, t.price, t.currency, t.web_order_line_item_id,
                   t.first_signed_date
            FROM appstore.transactions AS t
            WHERE t.transaction_id = moved.id AND t.environment = p_environment AND t.original_transaction_id = moved.contract
              AND t.is_subscription AND t.is_purchased
              AND t.revocation_date IS NULL AND t.left_contract IS NULL AND t.receipt_date IS NULL
              AND t.app_account_token IS NOT DISTINCT FROM t.first_token AND NOT t.token_changed OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT m.*, m.ctid FROM appstore.contracts AS m
            WHERE m.original_transaction_id = t.original_transaction_id AND m.environment = p_environment
              AND NOT m.is_contested AND m.bundle_id = t.bundle_id AND m.renewal_signed_date IS NOT NULL OFFSET 0
        ) AS m
    ), renewed AS MATERIALIZED (
        -- 2. Of these, new periods. The token, if there is one, is that of the contract's own order, paid by an earlier period, and the
        --    period has no order yet.
        SELECT c.* FROM candidate AS c
        WHERE c.is_new AND c.fits AND c.order_no = c.period_no
          AND (c.first_token IS NULL OR EXISTS (
                   SELECT FROM appstore.orders AS o
                   WHERE o.order_no = c.first_token AND o.environment = p_environment
                     AND o.original_transaction_id = c.original_transaction_id AND o.paid_at < c.purchase_date OFFSET 0))
          AND NOT EXISTS (SELECT FROM appstore.orders AS o
                          WHERE o.period_no = c.period_no AND o.environment = p_environment AND o.order_no <> o.period_no OFFSET 0)
    ), ordered AS (
        INSERT INTO appstore.orders (environment, order_no, user_id, status, period_no, transaction_id, original_transaction_id,
                                     web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency)
        SELECT p_environment, r.period_no, r.user_id, 'paid', r.period_no, r.transaction_id, r.original_transaction_id,
               r.web_order_line_item_id, r.product_id, r.purchase_date, r.quantity, r.price, r.currency
        FROM renewed AS r ORDER BY r.period_no
        ON CONFLICT (order_no, environment) DO NOTHING
        RETURNING transaction_id
    ), unchanged AS MATERIALIZED (
        -- 3. Known periods whose order would not change.
        SELECT c.*, o.user_id AS order_user FROM candidate AS c
        CROSS JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o
            WHERE o.order_no = c.order_no AND o.environment = p_environment AND o.status = 'paid' AND o.period_no = c.period_no
              AND o.transaction_id = c.transaction_id AND o.original_transaction_id = c.original_transaction_id
              AND o.paid_product_id = c.product_id AND o.paid_at = c.purchase_date
              AND (o.web_order_line_item_id, o.quantity, o.price, o.currency)
                  IS NOT DISTINCT FROM (c.web_order_line_item_id, c.quantity, c.price, c.currency) OFFSET 0
        ) AS o
        WHERE NOT c.is_new AND c.fits
    ), plain AS MATERIALIZED (
        SELECT r.transaction_id, r.original_transaction_id, r.web_order_line_item_id, r.order_no, r.user_id, r.is_new, r.product_id,
               r.product_type, r.purchase_date, r.expires_date, r.first_signed_date, r.current_transaction_id, r.renewal_status,
               r.auto_renew_status, r.renewal_signed_date, r.renewal_date, r.grace_period_expires_date, r.contract_row
        FROM renewed AS r
        UNION ALL
        SELECT u.transaction_id, u.original_transaction_id, u.web_order_line_item_id, u.order_no, coalesce(u.order_user, u.user_id),
               u.is_new, u.product_id, u.product_type, u.purchase_date, u.expires_date, u.first_signed_date, u.current_transaction_id,
               u.renewal_status, u.auto_renew_status, u.renewal_signed_date, u.renewal_date, u.grace_period_expires_date, u.contract_row
        FROM unchanged AS u
    ), current AS (
        -- 4. The contract's current charge: the plain one, unless that is an earlier period.
        SELECT p.contract_row, p.renewal_status, p.auto_renew_status, p.renewal_signed_date, p.renewal_date,
               p.grace_period_expires_date, p.transaction_id, p.product_id, p.product_type, p.purchase_date, p.expires_date,
               p.first_signed_date
        FROM plain AS p WHERE p.is_new OR p.transaction_id = p.current_transaction_id
        UNION ALL
        SELECT p.contract_row, p.renewal_status, p.auto_renew_status, p.renewal_signed_date, p.renewal_date,
               p.grace_period_expires_date, t.transaction_id, t.product_id, t.product_type, t.purchase_date, t.expires_date,
               t.first_signed_date
        FROM plain AS p
        CROSS JOIN LATERAL (
            SELECT t.* FROM appstore.transactions AS t
            WHERE t.transaction_id = p.current_transaction_id AND t.environment = p_environment OFFSET 0
        ) AS t
        WHERE NOT p.is_new AND p.transaction_id <> p.current_transaction_id
    ), contract AS (
        UPDATE appstore.contracts AS m
        SET product_id = c.product_id, product_type = c.product_type, status = c.status, will_renew = c.auto_renew_status = 1,
            current_transaction_id = c.transaction_id, current_period_start = c.purchase_date, current_period_end = c.expires_date,
            revoked_at = NULL, access_until = c.access_until
        FROM (
            SELECT c.*, CASE WHEN NOT earlier.is_earlier THEN c.renewal_status END AS status, CASE
                WHEN earlier.is_earlier THEN c.expires_date
                WHEN c.renewal_signed_date >= c.first_signed_date AND c.renewal_status = 1 THEN greatest(c.expires_date, c.renewal_date)
                WHEN c.renewal_signed_date >= c.first_signed_date AND c.renewal_status = 4
                    THEN coalesce(c.grace_period_expires_date, c.expires_date)
                WHEN c.renewal_signed_date >= c.first_signed_date AND c.renewal_status IN (2, 3, 5)
                    THEN least(c.expires_date, c.renewal_signed_date)
                ELSE c.expires_date END AS access_until
            FROM current AS c
            CROSS JOIN LATERAL (
                SELECT appstore.is_of_earlier_period(c.renewal_status, c.renewal_date, c.purchase_date) AS is_earlier
            ) AS earlier
        ) AS c
        WHERE m.ctid = c.contract_row -- locked by this transaction, and read by this statement
          AND (m.product_id, m.product_type, m.status, m.will_renew, m.current_transaction_id, m.current_period_start, m.current_period_end,
               m.access_until)
              IS DISTINCT FROM
              (c.product_id, c.product_type, c.status, c.auto_renew_status = 1, c.transaction_id, c.purchase_date, c.expires_date,
               c.access_until)
    ), effect AS (
        INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                      product_id, order_no, user_id, grace_period_expires_date)
        SELECT e.effect_id, p_environment, e.kind, e.subject, e.event_id, e.occurred_at, e.original_transaction_id, e.transaction_id,
               e.product_id, p.order_no, p.user_id, e.grace_period_expires_date
        FROM (
            SELECT unnest(p_effect_ids) AS effect_id, unnest(p_other_effect_ids) AS other_effect_id, unnest(p_kinds) AS kind,
                   unnest(p_subjects) AS subject, unnest(p_event_ids) AS event_id, unnest(p_occurred_at) AS occurred_at,
                   unnest(p_original_transaction_ids) AS original_transaction_id, unnest(p_effect_transaction_ids) AS transaction_id,
                   unnest(p_product_ids) AS product_id, unnest(p_vouched_bundle_ids) AS vouched_bundle_id,
                   unnest(p_grace_period_expires_dates) AS grace_period_expires_date
        ) AS e
        JOIN plain AS p ON p.transaction_id = e.transaction_id
        -- The grant of a fact that names another period than the newest one, or none, is compared with others below.
        WHERE e.vouched_bundle_id IS NULL
          AND (e.kind <> 'granted' OR e.subject = p.original_transaction_id || '/' || p.web_order_line_item_id)
          AND NOT EXISTS (SELECT FROM appstore.effect_log AS same WHERE same.effect_id = e.other_effect_id OFFSET 0)
        ORDER BY e.effect_id
        ON CONFLICT (effect_id) DO NOTHING
        RETURNING effect_id
    )
    SELECT ARRAY(SELECT ordered.transaction_id FROM ordered UNION ALL SELECT unchanged.transaction_id FROM unchanged),
           ARRAY(SELECT plain.original_transaction_id FROM plain
                 WHERE NOT plain.is_new OR plain.transaction_id IN (SELECT ordered.transaction_id FROM ordered)),
           ARRAY(SELECT effect.effect_id FROM effect)
    INTO v_done, v_contracts, v_new;
    IF cardinality(v_done) < cardinality(p_transaction_ids) OR cardinality(v_contracts) < cardinality(p_renewals)
       OR cardinality(p_contract_ids) > 0 THEN
        v_is_told := appstore.derive_ledger(
            p_environment, ARRAY(SELECT unnest(p_transaction_ids) EXCEPT SELECT unnest(v_done)), p_contract_ids, '{}',
            ARRAY(SELECT unnest(p_renewals) EXCEPT SELECT unnest(v_contracts)));
    END IF;
    -- The other effects, with order and user as they are then; the user of a contract only of the app that vouches for the effect.
    IF cardinality(v_done) < cardinality(p_transaction_ids) OR cardinality(v_new) < cardinality(p_effect_ids) THEN
        WITH effect AS (
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                          product_id, order_no, user_id, vouched_bundle_id,
                                          grace_period_expires_date)
            SELECT e.effect_id, p_environment, e.kind, e.subject, e.event_id, e.occurred_at, e.original_transaction_id, e.transaction_id,
                   e.product_id, t.order_no, coalesce(o.user_id, m.user_id), e.vouched_bundle_id,
                   e.grace_period_expires_date
            FROM (
                SELECT unnest(p_effect_ids) AS effect_id, unnest(p_other_effect_ids) AS other_effect_id, unnest(p_kinds) AS kind,
                       unnest(p_subjects) AS subject, unnest(p_event_ids) AS event_id, unnest(p_occurred_at) AS occurred_at,
                       unnest(p_original_transaction_ids) AS original_transaction_id, unnest(p_effect_transaction_ids) AS transaction_id,
                       unnest(p_product_ids) AS product_id, unnest(p_vouched_bundle_ids) AS vouched_bundle_id,
                       unnest(p_grace_period_expires_dates) AS grace_period_expires_date
            ) AS e
            LEFT JOIN LATERAL (
                SELECT t.order_no, t.original_transaction_id || '/' || t.web_order_line_item_id AS period
                FROM appstore.transactions AS t
                WHERE t.transaction_id = e.transaction_id AND t.environment = p_environment OFFSET 0
            ) AS t ON true
            LEFT JOIN LATERAL (
                SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = t.order_no AND o.environment = p_environment OFFSET 0
            ) AS o ON true
            LEFT JOIN LATERAL (
                SELECT m.user_id FROM appstore.contracts AS m
                WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = p_environment
                  AND (e.vouched_bundle_id IS NULL OR m.bundle_id = e.vouched_bundle_id) AND o.user_id IS NULL OFFSET 0
            ) AS m ON true
            WHERE e.effect_id <> ALL (v_new)
              -- A charge is granted once, whether or not the fact that came first names its period. (Facts that name different periods for one
              -- charge contradict one another; each of these periods is granted.)
              AND NOT EXISTS (SELECT FROM appstore.effect_log AS same WHERE same.effect_id = e.other_effect_id OFFSET 0)
              AND NOT (e.kind = 'granted' AND e.subject = e.transaction_id AND EXISTS (
                       SELECT FROM appstore.effect_log AS same
                       WHERE same.original_transaction_id = e.original_transaction_id AND same.environment = p_environment
                         AND same.kind = 'granted' AND (same.transaction_id = e.transaction_id OR same.subject = t.period) OFFSET 0))
            ORDER BY e.effect_id
            ON CONFLICT (effect_id) DO NOTHING
            RETURNING effect_id
        )
        SELECT coalesce(array_agg(effect.effect_id), '{}') INTO v_other FROM effect;
    END IF;
    IF coalesce(v_is_told, (SELECT s.is_on FROM appstore.feed_switch AS s)) THEN
        PERFORM appstore.tell_effects(p_environment, v_new || v_other, v_contracts);
    END IF;
    RETURN QUERY SELECT unnest(v_new || v_other);
END
$$;

COMMENT ON FUNCTION appstore.apply_facts(p_environment appstore.environment, p_transaction_ids text[], p_candidates text[], p_candidate_contracts text[], p_contract_ids text[], p_renewals text[], p_effect_ids uuid[], p_other_effect_ids uuid[], p_kinds text[], p_subjects text[], p_event_ids bigint[], p_occurred_at timestamp with time zone[], p_original_transaction_ids text[], p_effect_transaction_ids text[], p_product_ids text[], p_vouched_bundle_ids text[], p_grace_period_expires_dates timestamp with time zone[]) IS 'Derives what these changes mean, and records effects; returns the ids of the effects that are new. p_transaction_ids: all transactions that were written; p_candidates: those of them that are the only one of their contract (p_candidate_contracts) here, whose contract is locked and whose renewal register is in p_renewals; p_contract_ids: contracts with new posts; p_renewals: contracts whose renewal registers were written. The p_effect_ids and following arrays are the effects, by position; p_other_effect_ids: of the grant of a period the id that it would have if the fact did not name the period, else null.';

CREATE FUNCTION appstore.ask_about_a_sample(p_bundle_id text, p_environment appstore.environment, p_sample integer, p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_blocks bigint := pg_relation_size('appstore.contracts') / current_setting('block_size')::bigint;
    v_until  timestamptz;
    v_wanted integer;
    v_asked  integer := 0;
    v_id     text;
BEGIN
    -- 1. Spread over the day, so that each hour is measured.
    SELECT greatest(w.until, p_now - interval '24 hours') INTO v_until FROM appstore.reconcile_walks AS w
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'sample';
    v_wanted := least(floor(p_sample * extract(epoch FROM p_now - v_until) / 86400), 10);
    IF v_wanted <= 0 OR v_blocks = 0 THEN
        RETURN 0;
    END IF;
    -- 2. Random places in the table: each row is as likely as any other, and no more than these places are read.
    FOR v_id IN
        SELECT m.original_transaction_id
        FROM (SELECT DISTINCT format('(%s,%s)', floor(random() * v_blocks)::bigint, 1 + floor(random() * 64)::integer)::tid AS place
              FROM generate_series(1, 200 * v_wanted)) AS random
        CROSS JOIN LATERAL (SELECT m.* FROM appstore.contracts AS m WHERE m.ctid = random.place OFFSET 0) AS m
        WHERE m.environment = p_environment AND m.bundle_id = p_bundle_id AND m.will_renew IS NOT NULL AND m.access_until > p_now
          AND m.access_until < 'infinity'
        ORDER BY random()
    LOOP
        EXIT WHEN v_asked >= v_wanted;
        CONTINUE WHEN appstore.may_be_asked_at('sample', p_environment, v_id, p_now) > p_now;
        IF appstore.ask_question('sample', p_bundle_id, p_environment, v_id, NULL, 2::smallint, p_now) IS NOT NULL THEN
            v_asked := v_asked + 1;
        END IF;
    END LOOP;
    -- 3. Of an app with few of the contracts, not every draw finds enough: the next one makes up for it.
    UPDATE appstore.reconcile_walks AS w SET until = v_until + v_asked * interval '24 hours' / p_sample
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'sample';
    RETURN v_asked;
END
$$;

COMMENT ON FUNCTION appstore.ask_about_a_sample(p_bundle_id text, p_environment appstore.environment, p_sample integer, p_now timestamp with time zone) IS 'Asks about active contracts of an app, chosen at random: so many a day, at most 10 in a call. Returns how many.';

CREATE FUNCTION appstore.ask_about_stale_contracts(p_bundle_id text, p_environment appstore.environment, p_now timestamp with time zone, OUT asked integer, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_most     CONSTANT integer := 200;
    c_open     CONSTANT integer := 2000;
    v_open     integer;
    v_room     integer;
    v_watch    appstore.reconcile_watches;
    v_contract appstore.contracts;
    v_next     timestamptz;
BEGIN
    -- 1. Calls are made as fast as Apple's limit allows. While many wait, more of them would only be asked too late.
    SELECT count(*) INTO v_open FROM (
        SELECT FROM unnest('{subscription_statuses,transaction_history}'::text[]) AS asked (kind)
        CROSS JOIN LATERAL (
            SELECT FROM appstore.outbox AS c
            WHERE c.state = 'open' AND c.bundle_id = p_bundle_id AND c.environment = p_environment AND c.kind = asked.kind AND c.priority = 2
            ORDER BY c.run_at LIMIT c_open + c_most -- by the index of this order, however many calls of other apps are open
        ) AS c) AS open;
    asked := 0;
    has_more := false;
    -- 2. no_renewal_info and in_retry, which ask most, come after the others, and leave them room. Watches that are postponed take no other's
    --    place.
    FOR v_watch IN
        SELECT due.* FROM unnest('{0,1,2}'::integer[]) AS class (place)
        CROSS JOIN LATERAL (
            SELECT w.* FROM appstore.reconcile_watches AS w
            WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.next_at <= p_now
              AND CASE w.rule WHEN 'no_renewal_info' THEN 1 WHEN 'in_retry' THEN 2 ELSE 0 END = class.place
            ORDER BY w.next_at LIMIT 1000 FOR UPDATE
        ) AS due
    LOOP
        v_room := least(c_most, c_open - v_open + CASE WHEN v_watch.rule IN ('no_renewal_info', 'in_retry') THEN 0 ELSE c_most END);
        IF asked >= v_room THEN
            has_more := asked >= c_most;
            EXIT;
        END IF;
        SELECT m.* INTO v_contract FROM appstore.contracts AS m
        WHERE m.original_transaction_id = v_watch.original_transaction_id AND m.environment = p_environment;
        IF appstore.still_holds(v_watch, v_contract, p_now) THEN
            v_next := appstore.may_be_asked_at(v_watch.rule, p_environment, v_watch.original_transaction_id, p_now);
            IF v_next <= p_now AND appstore.ask_question(v_watch.rule, p_bundle_id, p_environment, v_watch.original_transaction_id,
                                                         v_watch.transaction_id, 2::smallint, p_now) IS NULL THEN
                v_next := p_now + interval '1 hour';
            ELSIF v_next <= p_now THEN
                asked := asked + 1;
                v_watch.questions := v_watch.questions + 1;
                v_next := appstore.next_question(v_watch, v_contract.grace_period_expires_date, p_now);
            END IF;
        ELSE
            v_next := NULL;
        END IF;
        IF v_next IS NULL THEN
            DELETE FROM appstore.reconcile_watches AS w
            WHERE w.original_transaction_id = v_watch.original_transaction_id AND w.environment = p_environment AND w.rule = v_watch.rule;
        ELSE
            UPDATE appstore.reconcile_watches AS w SET next_at = v_next, questions = v_watch.questions
            WHERE w.original_transaction_id = v_watch.original_transaction_id AND w.environment = p_environment AND w.rule = v_watch.rule;
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION appstore.ask_about_stale_contracts(p_bundle_id text, p_environment appstore.environment, p_now timestamp with time zone, OUT asked integer, OUT has_more boolean) IS 'Asks about the contracts of an app whose watch is due, those of no_renewal_info and in billing retry last: at most 200, and none of these while 2,000 calls of the app are open. Postpones those that may not be asked about yet, and ends the watches of those that are stale no more or were asked about for the last time. Returns how many questions it wrote, and whether there may be more to write.';

CREATE FUNCTION appstore.ask_apple(kind text, id text DEFAULT NULL::text, bundle_id text DEFAULT NULL::text, environment appstore.environment DEFAULT NULL::appstore.environment, product_id text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM appstore.check_argument(
        coalesce(kind, '') NOT IN ('set_app_account_token', 'finish_transaction', 'extend_renewal_date', 'extend_for_all'),
        format('%s changes something', kind), format('Call appstore.%s.', kind));
    RETURN appstore.request_apple(kind, id, jsonb_strip_nulls(jsonb_build_object('productId', product_id)), bundle_id, environment,
                                  appstore.actor(), NULL, NULL);
END
$$;

COMMENT ON FUNCTION appstore.ask_apple(kind text, id text, bundle_id text, environment appstore.environment, product_id text) IS 'Asks Apple, and returns the call: appstore.call_document tells its state and answer. kind is transaction_info, transaction_history, subscription_statuses, refund_history, app_transaction (id is any transactionId of the customer), order_lookup (the order number on a customer''s receipt), extend_status (a requestIdentifier, with product_id), test_notification (no id) or test_status (its token). Without an environment, about a transaction that the ledger does not know, Production is asked first and then Sandbox.';

CREATE FUNCTION appstore.ask_question(p_rule text, p_bundle_id text, p_environment appstore.environment, p_contract text, p_transaction_id text, p_priority smallint, p_now timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_kind text := CASE p_rule WHEN 'revoked_doubt' THEN 'transaction_history' ELSE 'subscription_statuses' END;
    v_key  text := lower(p_environment::text) || ':' || p_contract;
    v_call bigint;
BEGIN
    FOR attempt IN 1..2 LOOP -- the second where an open call was settled between the two statements
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, environment, priority, payload, asked_at, run_at, deadline_at)
        VALUES (v_kind, v_key, p_bundle_id, p_environment, p_priority,
                convert_to(jsonb_build_object('path', jsonb_build_array(p_contract))::text, 'UTF8'), p_now, p_now, p_now + interval '24 hours')
        ON CONFLICT DO NOTHING RETURNING call_id INTO v_call;
        IF v_call IS NULL THEN -- the same is asked for another reason
            UPDATE appstore.outbox AS c SET priority = least(c.priority, p_priority)
            WHERE c.call_key = v_key AND c.kind = v_kind AND c.state = 'open' AND c.bundle_id = p_bundle_id RETURNING c.call_id INTO v_call;
        END IF;
        EXIT WHEN v_call IS NOT NULL;
    END LOOP;
    IF v_call IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO appstore.reconcile_questions (environment, original_transaction_id, bundle_id, rule, transaction_id, app_transaction_id, asked_at,
                                              call_id, status, will_renew, current_period_end, revoked_at, access_until)
    SELECT p_environment, p_contract, p_bundle_id, p_rule, p_transaction_id, s.app_transaction_id, p_now, v_call, s.status, s.will_renew,
           s.current_period_end, s.revoked_at, s.access_until
    FROM appstore.ledger_about(p_environment, p_contract, p_transaction_id) AS s;
    INSERT INTO appstore.reconcile_counts (day, rule, questions) VALUES ((p_now AT TIME ZONE 'UTC')::date, p_rule, 1)
    ON CONFLICT (day, rule) DO UPDATE SET questions = reconcile_counts.questions + 1;
    RETURN v_call;
END
$$;

COMMENT ON FUNCTION appstore.ask_question(p_rule text, p_bundle_id text, p_environment appstore.environment, p_contract text, p_transaction_id text, p_priority smallint, p_now timestamp with time zone) IS 'Writes a call that asks Apple about a contract, and the question with what the ledger says. Where the same is asked already, it uses that call. Returns the call, or null where another app asks about the same id.';

CREATE FUNCTION appstore.audit_endpoint(p_action text, p_endpoint text, p_note text DEFAULT NULL::text, p_details jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), p_action, '{}', p_note, jsonb_build_object('endpoint', p_endpoint) || p_details);
END
$$;

COMMENT ON FUNCTION appstore.audit_endpoint(p_action text, p_endpoint text, p_note text, p_details jsonb) IS 'Writes a row of the audit log about an endpoint.';

CREATE TABLE appstore.api_keys (
    key_id integer NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    bundle_ids text[],
    environments appstore.environment[] NOT NULL,
    verbs text[] NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_keys_bundle_ids_not_empty CHECK (((cardinality(bundle_ids) > 0) AND (array_position(bundle_ids, NULL::text) IS NULL))),
    CONSTRAINT api_keys_environments_not_empty CHECK (((cardinality(environments) > 0) AND (array_position(environments, NULL::appstore.environment) IS NULL))),
    CONSTRAINT api_keys_hash_is_sha256 CHECK ((octet_length(key_hash) = 32)),
    CONSTRAINT api_keys_name_is_short CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 100))),
    CONSTRAINT api_keys_verbs_are_known CHECK (((cardinality(verbs) > 0) AND (verbs <@ ARRAY['orders:create'::text, 'orders:read'::text, 'transactions:submit'::text, 'receipts:submit'::text, 'events:read'::text, 'entitlements:read'::text, 'subscriptions:read'::text, 'contracts:link'::text, 'feed:read'::text, 'feed:consume'::text, 'consumption:read'::text, 'consumption:answer'::text, 'consents:write'::text, 'inquiries:make'::text, 'contracts:extend'::text, 'contracts:set-token'::text])))
);

COMMENT ON TABLE appstore.api_keys IS 'Bearer keys of the HTTP API. A key is 256 random bits, shown once; only its SHA-256 is stored and looked up by an index. A slow hash would add nothing, since such a key cannot be guessed. A key is alive until it is revoked or expires.';

COMMENT ON COLUMN appstore.api_keys.key_id IS 'The number by which a key is revoked.';

COMMENT ON COLUMN appstore.api_keys.name IS 'The caller that uses the key. No two living keys have one name.';

COMMENT ON COLUMN appstore.api_keys.key_hash IS 'SHA-256 of the key''s text.';

COMMENT ON COLUMN appstore.api_keys.bundle_ids IS 'The apps that the key is for; null for any.';

COMMENT ON COLUMN appstore.api_keys.environments IS 'The environments that the key is for.';

COMMENT ON COLUMN appstore.api_keys.verbs IS 'What the key may do; each api_ function names the verbs that it takes.';

COMMENT ON COLUMN appstore.api_keys.created_at IS 'When it was made.';

COMMENT ON COLUMN appstore.api_keys.expires_at IS 'From when it permits nothing; null for never.';

COMMENT ON COLUMN appstore.api_keys.revoked_at IS 'When it was revoked; null while it is not.';

COMMENT ON COLUMN appstore.api_keys.last_used_at IS 'A use in the hour of the latest one, usually the first: a key that is used often is written once an hour.';

CREATE FUNCTION appstore.authorize(key_hash bytea, verbs text[], environments appstore.environment[], bundle_ids text[] DEFAULT '{}'::text[]) RETURNS appstore.api_keys
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_key     appstore.api_keys;
    v_missing text;
BEGIN
    IF array_position(environments, NULL) IS NOT NULL THEN
        PERFORM appstore.check_environment(NULL);
    END IF;
    SELECT k.* INTO v_key FROM appstore.api_keys AS k WHERE k.key_hash = authorize.key_hash;
    v_missing := CASE
        WHEN v_key.key_id IS NULL OR NOT appstore.is_alive(v_key) THEN 'key_unknown'
        WHEN NOT v_key.verbs && authorize.verbs THEN 'verb_missing'
        WHEN NOT v_key.environments @> authorize.environments THEN 'environment_missing'
        WHEN v_key.bundle_ids IS NOT NULL AND (v_key.bundle_ids @> authorize.bundle_ids) IS NOT TRUE THEN 'app_missing'
    END;
    IF v_missing IS NOT NULL THEN
        RAISE EXCEPTION 'the key does not permit this'
            USING ERRCODE = 'insufficient_privilege', DETAIL = v_missing, HINT = 'appstore.make_api_key makes a key.';
    END IF;
    RETURN v_key;
END
$$;

COMMENT ON FUNCTION appstore.authorize(key_hash bytea, verbs text[], environments appstore.environment[], bundle_ids text[]) IS 'The key with that hash, when it has one of the verbs and all of the environments and apps; null bundle_ids require any app. Otherwise it fails with insufficient_privilege, and DETAIL key_unknown (or revoked, or expired), verb_missing, environment_missing or app_missing.';

CREATE FUNCTION appstore.begin_console_session(token_hash bytea, session_hash bytea) RETURNS TABLE(session_id bigint, person text, role text, shows_bodies boolean, expires_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_login appstore.console_logins;
    v_session appstore.console_sessions;
BEGIN
    DELETE FROM appstore.console_sessions AS s WHERE s.expires_at < v_now - interval '30 days';
    -- Of two uses of one link the second waits here, and then finds no row.
    DELETE FROM appstore.console_logins AS l WHERE l.token_hash = begin_console_session.token_hash RETURNING l.* INTO v_login;
    IF NOT FOUND OR v_login.expires_at <= v_now THEN
        RETURN;
    END IF;
    INSERT INTO appstore.console_sessions AS s (session_hash, person, role, shows_bodies, began_at, expires_at)
    VALUES (begin_console_session.session_hash, v_login.person, v_login.role, v_login.shows_bodies, v_now, v_now + interval '12 hours')
    RETURNING s.* INTO v_session;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, v_login.person, 'begin_console_session', '{}',
            jsonb_build_object('session_id', v_session.session_id, 'role', v_session.role));
    RETURN QUERY SELECT v_session.session_id, v_session.person, v_session.role, v_session.shows_bodies, v_session.expires_at;
END
$$;

COMMENT ON FUNCTION appstore.begin_console_session(token_hash bytea, session_hash bytea) IS 'Begins the session of a link. Returns no row when the link is unknown, was used already or is older than 60 seconds.';

CREATE FUNCTION appstore.begin_import(bundle_id text, environment appstore.environment, depth text, file_name text, file_sha256 bytea DEFAULT NULL::bytea, again boolean DEFAULT false, OUT import_id integer, OUT is_new boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_argument(char_length(begin_import.bundle_id) BETWEEN 1 AND 255, 'bundle_id must have 1 to 255 characters',
                                    'Give the app''s bundle id.'),
            appstore.check_argument(begin_import.depth IN ('statuses', 'history'), format('there is no depth %L', begin_import.depth),
                                    'Depths are statuses and history.'),
            appstore.check_argument(octet_length(begin_import.file_name) BETWEEN 1 AND 255, 'file_name must have 1 to 255 bytes',
                                    'Give the last part of the path.');
    import_id := appstore.import_of_file(begin_import.bundle_id, begin_import.environment, begin_import.depth, begin_import.file_sha256, again);
    is_new := import_id IS NULL;
    IF is_new THEN
        INSERT INTO appstore.imports AS r (bundle_id, environment, depth, file_name, made_by)
        VALUES (begin_import.bundle_id, begin_import.environment, begin_import.depth, begin_import.file_name, appstore.actor())
        RETURNING r.import_id INTO import_id;
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.begin_import(bundle_id text, environment appstore.environment, depth text, file_name text, file_sha256 bytea, again boolean, OUT import_id integer, OUT is_new boolean) IS 'Begins to load a file, or returns the import that it belongs to already, and lets that go on: the one of the same SHA-256, app, environment and depth. With again it is a new import, except where another one is not done. Without a SHA-256, as of a pipe, only the end of the file tells.';

CREATE FUNCTION appstore.begin_live(p_bundle_id text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_first timestamptz;
BEGIN
    IF EXISTS (SELECT FROM appstore.live_since AS l WHERE l.bundle_id = p_bundle_id) THEN
        RETURN;
    END IF;
    v_first := coalesce((SELECT o.received_at FROM appstore.outcomes AS o
                         WHERE o.bundle_id = p_bundle_id AND o.source IN ('notification_v2', 'notification_v1')
                         ORDER BY o.event_id LIMIT 1), clock_timestamp());
    INSERT INTO appstore.live_since (bundle_id, since, set_by)
    SELECT p_bundle_id, greatest(v_first, CASE WHEN s.is_on THEN h.enabled_at END), appstore.actor()
    FROM appstore.feed_switch AS s CROSS JOIN appstore.feed_head AS h
    ON CONFLICT (bundle_id) DO NOTHING;
END
$$;

COMMENT ON FUNCTION appstore.begin_live(p_bundle_id text) IS 'Gives an app its instant in appstore.live_since, unless it has one: when its first notification came that is still known, else now; not before the feed was enabled.';

CREATE FUNCTION appstore.begin_repair(action text, filter appstore.repair_filter, note text, expected bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    v_id bigint;
BEGIN
    PERFORM appstore.check_repair(action, filter, note),
            appstore.check_argument(coalesce(btrim(note), '') <> '', 'a repair needs a reason', 'It is kept in the audit log.');
    -- A form that is sent twice.
    PERFORM pg_advisory_xact_lock(hashtextextended('appstore.begin_repair', 0));
    SELECT r.repair_id INTO v_id FROM appstore.repairs AS r
    WHERE r.state = 'running' AND r.action = begin_repair.action AND r.filter IS NOT DISTINCT FROM begin_repair.filter;
    PERFORM appstore.check_argument(v_id IS NULL, format('repair %s does the same and is running', v_id), 'Wait for its end, or stop it.');
    -- What is settled from now on was not in the count.
    INSERT INTO appstore.repairs AS r (action, filter, note, actor, expected, progress)
    VALUES (action, filter, note, appstore.actor(), expected,
            ROW(clock_timestamp(), NULL, NULL, NULL, NULL, NULL, false)::appstore.repair_progress)
    RETURNING r.repair_id INTO v_id;
    RETURN v_id;
END
$$;

COMMENT ON FUNCTION appstore.begin_repair(action text, filter appstore.repair_filter, note text, expected bigint) IS 'Asks for a repair of the events that meet the conditions and were settled before, in the order of their ids: it ends with the step in which it has repaired as many as expected. The console takes its steps. Returns its number.';

CREATE FUNCTION appstore.begin_to_store() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- A worker's low-water mark requires every writer to have its transaction id before it reads the clock. An INSERT into a partitioned
    -- table reads the clock first, then waits for the partition's lock, and gets the id last.
    PERFORM pg_current_xact_id();
    -- Apple does not repeat a notification that was answered with 200, so the commit must be on disk before. A SET clause of the calling
    -- function would end before the commit.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.begin_to_store() IS 'Gives the transaction its number and makes its commit wait for the disk. local, remote_write and remote_apply stay what they are.';

CREATE FUNCTION appstore.block_api_endpoint(bundle_id text, environment appstore.environment, endpoint text, delay interval) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_budget appstore.api_budgets;
    v_now    timestamptz;
    v_until  timestamptz;
BEGIN
    SELECT b.* INTO v_budget FROM appstore.api_budgets AS b
    WHERE b.bundle_id = block_api_endpoint.bundle_id AND b.environment = block_api_endpoint.environment
      AND b.endpoint = block_api_endpoint.endpoint
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_now := clock_timestamp();
    -- Without a usable delay a minute; never for longer than Apple counts.
    IF v_budget.blocked_until > v_now + interval '1 hour 5 seconds' THEN
        v_budget.blocked_until := v_now + interval '1 hour 5 seconds';
    END IF;
    v_until := greatest(v_budget.blocked_until, v_now
                        + least(greatest(coalesce(delay, interval '1 minute'), interval '0'), interval '1 hour') + random() * interval '5 seconds');
    UPDATE appstore.api_budgets AS b
    SET blocked_until = v_until, tokens = 0, refilled_at = v_until, last_429_at = v_now,
        -- Requests that were in flight together are refused together.
        lowered_to = CASE WHEN v_budget.blocked_until > v_now THEN b.lowered_to
                          ELSE greatest(b.setting * 0.05, 0.7 * appstore.api_allowance(b.setting, b.lowered_to, b.last_429_at, v_now)) END
    WHERE b.bundle_id = v_budget.bundle_id AND b.environment = v_budget.environment AND b.endpoint = v_budget.endpoint;
END
$$;

COMMENT ON FUNCTION appstore.block_api_endpoint(bundle_id text, environment appstore.environment, endpoint text, delay interval) IS 'Records a 429: nothing is taken from the budget for the delay that Apple asks for, and up to five seconds more; and the allowance becomes 70 percent, once for each block. delay: null where Apple asks for none. A budget from which nothing was ever taken does not change.';

CREATE FUNCTION appstore.call_document(call_id bigint) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        SELECT json_build_object(
            'call', c.call_id, 'kind', c.kind, 'bundleId', c.bundle_id, 'environment', c.environment, 'key', c.call_key, 'state', c.state,
            'reason', c.reason, 'waitsFor', s.waits_for, 'attempts', c.attempts, 'askedAt', appstore.instant_text(c.asked_at),
            'deadlineAt', appstore.instant_text(c.deadline_at), 'settledAt', appstore.instant_text(c.settled_at), 'answer', c.answer,
            'events', coalesce((
                SELECT json_agg(json_build_object(
                    'event', e.event_id, 'result', o.result, 'reason', o.reason, 'transactionId', o.transaction_id,
                    'originalTransactionId', o.original_transaction_id, 'product', t.product_id) ORDER BY e.position)
                FROM unnest(c.answer_event_ids) WITH ORDINALITY AS e (event_id, position)
                LEFT JOIN LATERAL (
                    SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = e.event_id OFFSET 0) AS o ON true
                LEFT JOIN LATERAL (
                    SELECT t.product_id FROM appstore.transactions AS t
                    WHERE t.transaction_id = o.transaction_id AND t.environment::text = o.environment OFFSET 0) AS t ON true), '[]'))::text
        FROM appstore.outbox AS c JOIN appstore.outbox_status AS s ON s.call_id = c.call_id
        WHERE c.call_id = call_document.call_id);
END
$$;

COMMENT ON FUNCTION appstore.call_document(call_id bigint) IS 'The state of a call as JSON, with the members of the HTTP API: its answer, and the events that the answer became with their outcomes, null while they wait. Null when there is no such call; settled calls are kept for 30 days.';

CREATE FUNCTION appstore.certificate_statistics() RETURNS TABLE(certificates bigint, revoked bigint, ignored bigint, age_seconds double precision, last_error text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT count(*) FILTER (WHERE c.is_recent), count(*) FILTER (WHERE c.status = 'revoked' AND NOT c.is_ignored),
           count(*) FILTER (WHERE c.is_ignored),
           max(extract(epoch FROM c.age)) FILTER (WHERE c.is_recent AND c.last_error IS DISTINCT FROM 'no_address')::double precision,
           (array_agg(c.last_error ORDER BY c.age DESC) FILTER (WHERE c.is_recent AND c.last_error IS NOT NULL))[1]
    FROM (SELECT c.status, c.is_ignored, c.last_error, c.seen_at > statement_timestamp() - interval '30 days' AS is_recent,
                 statement_timestamp() - coalesce(c.answered_at, c.first_seen_at) AS age
          FROM appstore.certificates AS c) AS c
$$;

COMMENT ON FUNCTION appstore.certificate_statistics() IS 'How many certificates signed within 30 days, how many of all are revoked, or revoked and ignored; since when the one that has waited longest has had no usable answer, without those that name no responder that may be asked; and the last error.';

CREATE FUNCTION appstore.chain_link(digest bytea, line text) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
    RETURN sha256(digest || convert_to(line, 'UTF8'));
END
$$;

COMMENT ON FUNCTION appstore.chain_link(digest bytea, line text) IS 'The next link of appstore.chained_digest.';

CREATE FUNCTION appstore.change_endpoint(name text, changes jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
DECLARE
    c_known    CONSTANT text[] := '{url,types,bundle_ids,environments,with_wrong_bundle,keeps_order,max_in_flight,max_per_second,timeout_seconds}';
    v_unknown  text;
    v_endpoint appstore.endpoints;
    v_now      timestamptz;
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.check_argument(jsonb_typeof(changes) = 'object', 'changes must be a JSON object', 'Such as {"max_in_flight": 16}.');
    v_unknown := (SELECT string_agg(quote_literal(k), ', ') FROM jsonb_object_keys(changes) AS k WHERE k <> ALL (c_known));
    PERFORM appstore.check_argument(v_unknown IS NULL, 'an endpoint has no setting ' || v_unknown,
                                    'Settings are ' || array_to_string(c_known, ', ') || '.');
    -- The switch before the endpoint, as remove_endpoint locks them.
    v_endpoint := jsonb_populate_record((SELECT e FROM appstore.endpoints AS e WHERE e.name = change_endpoint.name), changes);
    PERFORM appstore.lock_feed_switch(v_endpoint);
    v_endpoint := jsonb_populate_record(appstore.locked_endpoint(name), changes);
    PERFORM appstore.check_endpoint(v_endpoint);
    v_now := clock_timestamp();
    UPDATE appstore.endpoints AS e
    SET url = v_endpoint.url, types = v_endpoint.types, bundle_ids = v_endpoint.bundle_ids, environments = v_endpoint.environments,
        with_wrong_bundle = v_endpoint.with_wrong_bundle, keeps_order = v_endpoint.keeps_order, max_in_flight = v_endpoint.max_in_flight,
        max_per_second = v_endpoint.max_per_second, timeout_seconds = v_endpoint.timeout_seconds, due_from = least(e.due_from, v_now)
    WHERE e.name = change_endpoint.name;
    IF NOT v_endpoint.keeps_order THEN
        UPDATE appstore.open_deliveries AS d SET run_at = greatest(clock_timestamp(), v_now)
        WHERE d.endpoint = change_endpoint.name AND d.run_at = 'infinity';
    END IF;
    PERFORM appstore.set_wants_raw();
    PERFORM appstore.audit_endpoint('change_endpoint', name, NULL, changes);
END
$$;

COMMENT ON FUNCTION appstore.change_endpoint(name text, changes jsonb) IS 'Changes settings of an endpoint: a JSON object with some of url, types, bundle_ids, environments, with_wrong_bundle, keeps_order, max_in_flight, max_per_second, timeout_seconds. A worker follows within a second; filters apply to what it has not read yet.';

CREATE FUNCTION appstore.change_import(import_id integer, state text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_was appstore.imports;
BEGIN
    PERFORM appstore.check_argument(change_import.state IN ('running', 'paused', 'stopped'),
                                    format('an import cannot become %s', quote_nullable(change_import.state)),
                                    'It can become running, paused or stopped.');
    SELECT r.* INTO v_was FROM appstore.imports AS r WHERE r.import_id = change_import.import_id AND r.state <> 'loading' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no import %', quote_nullable(change_import.import_id) USING ERRCODE = 'no_data_found';
    ELSIF v_was.state = 'done' OR (v_was.state = 'stopped' AND change_import.state = 'paused') THEN
        RAISE EXCEPTION 'import % is %', change_import.import_id, v_was.state USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF v_was.state = change_import.state THEN
        RETURN;
    ELSIF appstore.is_expired(v_was) THEN
        RAISE EXCEPTION 'the ids of import % were deleted 90 days after its end', change_import.import_id
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Load the file again.';
    END IF;
    UPDATE appstore.imports AS r
    SET state = change_import.state, ended_at = CASE change_import.state WHEN 'stopped' THEN clock_timestamp() END
    WHERE r.import_id = change_import.import_id;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (clock_timestamp(), appstore.actor(), 'change_import', '{}',
            jsonb_build_object('import', change_import.import_id, 'state', change_import.state, 'was', v_was.state));
    -- The last answer may have come meanwhile.
    PERFORM appstore.end_import(change_import.import_id);
END
$$;

COMMENT ON FUNCTION appstore.change_import(import_id integer, state text) IS 'Lets an import become running, paused or stopped. A worker ends after the request in flight. A stopped one can run again, for 90 days.';

CREATE FUNCTION appstore.check_argument(is_valid boolean, message text, hint text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF is_valid IS NOT TRUE THEN
        RAISE EXCEPTION '%', message USING ERRCODE = 'invalid_parameter_value', HINT = hint;
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.check_argument(is_valid boolean, message text, hint text) IS 'Fails with invalid_parameter_value, this message and this hint unless is_valid is true.';

CREATE TABLE appstore.endpoints (
    name text NOT NULL COLLATE pg_catalog."C",
    endpoint_id uuid DEFAULT gen_random_uuid() NOT NULL,
    url text NOT NULL,
    format text NOT NULL COLLATE pg_catalog."C",
    types text[] COLLATE pg_catalog."C",
    bundle_ids text[] COLLATE pg_catalog."C",
    environments appstore.environment[],
    with_wrong_bundle boolean NOT NULL,
    keeps_order boolean NOT NULL,
    max_in_flight integer NOT NULL,
    max_per_second integer,
    timeout_seconds integer NOT NULL,
    state text DEFAULT 'enabled'::text NOT NULL COLLATE pg_catalog."C",
    why text,
    state_since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    "position" bigint NOT NULL,
    open_upto bigint DEFAULT 0 NOT NULL,
    due_from timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    secret_generation integer DEFAULT 1 NOT NULL,
    rotated_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    epoch bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    leased_until timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    open_until timestamp with time zone,
    probes integer DEFAULT 0 NOT NULL,
    succeeded_at timestamp with time zone,
    last_error text,
    CONSTRAINT endpoints_filters_let_something_through CHECK (((COALESCE(cardinality(types), 1) > 0) AND (COALESCE(cardinality(bundle_ids), 1) > 0) AND (COALESCE(cardinality(environments), 1) > 0))),
    CONSTRAINT endpoints_format_is_known CHECK ((format = ANY (ARRAY['event'::text, 'raw'::text]))),
    CONSTRAINT endpoints_name_is_a_name CHECK ((name ~ '^[a-z][a-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT endpoints_rate_sensible CHECK (((max_per_second >= 1) AND (max_per_second <= 10000))),
    CONSTRAINT endpoints_raw_has_no_types CHECK (((format = 'event'::text) OR (types IS NULL))),
    CONSTRAINT endpoints_state_is_known CHECK ((state = ANY (ARRAY['enabled'::text, 'paused'::text, 'disabled'::text, 'behind'::text]))),
    CONSTRAINT endpoints_timeout_sensible CHECK (((timeout_seconds >= 1) AND (timeout_seconds <= 60))),
    CONSTRAINT endpoints_url_is_http CHECK (((url ~ '^https?://[^/?#@[:space:]]+([/?][^#[:space:]]*)?$'::text) AND (octet_length(url) <= 2000))),
    CONSTRAINT endpoints_why_not_enabled CHECK (((state = 'enabled'::text) = (why IS NULL))),
    CONSTRAINT endpoints_window_sensible CHECK (((max_in_flight >= 1) AND (max_in_flight <= 64))),
    CONSTRAINT endpoints_wrong_bundle_is_raw CHECK (((format = 'raw'::text) OR (NOT with_wrong_bundle)))
)
WITH (fillfactor='25', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE appstore.endpoints IS 'Receivers of the feed by HTTP. A worker leases an endpoint: epoch is counted up, and a worker that returns with an older epoch is refused. The only index is the key, so that moving a cursor touches no index.';

COMMENT ON COLUMN appstore.endpoints.name IS 'A name of yours: lower-case letters, digits, and . _ -';

COMMENT ON COLUMN appstore.endpoints.endpoint_id IS 'What its secrets are derived from, with the master secret and secret_generation.';

COMMENT ON COLUMN appstore.endpoints.url IS 'Where to POST.';

COMMENT ON COLUMN appstore.endpoints.format IS 'event: entries as JSON; raw: the bodies of notifications as Apple sent them.';

COMMENT ON COLUMN appstore.endpoints.types IS 'Which types it gets, as in appstore.feed_wants; null: all but those for operators.';

COMMENT ON COLUMN appstore.endpoints.bundle_ids IS 'Of which apps; null: all.';

COMMENT ON COLUMN appstore.endpoints.environments IS 'Of which environments; null: both.';

COMMENT ON COLUMN appstore.endpoints.with_wrong_bundle IS 'raw: also notifications of apps that are not configured here.';

COMMENT ON COLUMN appstore.endpoints.keeps_order IS 'Whether entries of one subject are sent one at a time, in order.';

COMMENT ON COLUMN appstore.endpoints.max_in_flight IS 'How many requests at a time.';

COMMENT ON COLUMN appstore.endpoints.max_per_second IS 'How many requests in a second; null: any number.';

COMMENT ON COLUMN appstore.endpoints.timeout_seconds IS 'How long a request may take as a whole.';

COMMENT ON COLUMN appstore.endpoints.state IS 'enabled; paused (by an operator); disabled (410, or five days of failures); behind (the next entry has aged).';

COMMENT ON COLUMN appstore.endpoints.why IS 'Why it is not enabled.';

COMMENT ON COLUMN appstore.endpoints.state_since IS 'Since when it has this state.';

COMMENT ON COLUMN appstore.endpoints."position" IS 'The cursor: each entry up to here is delivered, not wanted, or in open_deliveries. Later ones may be, too.';

COMMENT ON COLUMN appstore.endpoints.open_upto IS 'No later entry has or had a row in open_deliveries, so that its success need not look there.';

COMMENT ON COLUMN appstore.endpoints.due_from IS 'No open delivery is due earlier. Dead index entries lie before it: they must not be read ten times a second while a snapshot is held. Each writer of open_deliveries.run_at locks the endpoint, and lowers this.';

COMMENT ON COLUMN appstore.endpoints.secret_generation IS 'Counted up by rotate_endpoint_secret.';

COMMENT ON COLUMN appstore.endpoints.rotated_at IS 'When that was; for 24 hours the previous secret signs, too.';

COMMENT ON COLUMN appstore.endpoints.created_at IS 'When it was made.';

COMMENT ON COLUMN appstore.endpoints.epoch IS 'Counted up by each lease. It begins with the microseconds of now, so that no lease outlives an endpoint that is removed and made again.';

COMMENT ON COLUMN appstore.endpoints.leased_until IS 'Until when a worker has it; null: none.';

COMMENT ON COLUMN appstore.endpoints.failures IS 'How many attempts in a row failed.';

COMMENT ON COLUMN appstore.endpoints.failing_since IS 'Since when no attempt succeeded; null while it works.';

COMMENT ON COLUMN appstore.endpoints.open_until IS 'The breaker is open: only a probe is sent, at this time. Null: it is closed.';

COMMENT ON COLUMN appstore.endpoints.probes IS 'How many probes failed since the breaker opened.';

COMMENT ON COLUMN appstore.endpoints.succeeded_at IS 'When an attempt succeeded last.';

COMMENT ON COLUMN appstore.endpoints.last_error IS 'The error of the attempt that failed last.';

CREATE FUNCTION appstore.check_endpoint(e appstore.endpoints) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
    PERFORM appstore.check_argument(e.name ~ '^[a-z][a-z0-9_.-]{0,62}$', 'name must begin with a letter',
                                    'It has up to 63 lower-case letters, digits, and . _ -');
    PERFORM appstore.check_argument(
        e.url ~ '^https?://[^/?#@[:space:]]+([/?][^#[:space:]]*)?$' AND octet_length(e.url) <= 2000,
        'url must begin with https:// or http:// and have a host, without a user, a password or a fragment', 'It has at most 2,000 bytes.');
    PERFORM appstore.check_argument(e.format IN ('event', 'raw'), 'format must be event or raw', 'raw forwards the notifications of Apple.');
    PERFORM appstore.check_feed_types(e.types);
    PERFORM appstore.check_argument(e.format = 'event' OR e.types IS NULL, 'a raw endpoint has no types', 'It gets notifications.');
    PERFORM appstore.check_argument(e.format = 'raw' OR NOT e.with_wrong_bundle, 'with_wrong_bundle is for raw endpoints',
                                    'Others ask for the type notification.rejected.');
    PERFORM appstore.check_argument(e.with_wrong_bundle IS NOT NULL AND e.keeps_order IS NOT NULL,
                                    'with_wrong_bundle and keeps_order must be true or false', 'Omit them for false and true.');
    PERFORM appstore.check_argument(coalesce(cardinality(e.bundle_ids), 1) > 0 AND coalesce(cardinality(e.environments), 1) > 0,
                                    'bundle_ids and environments must not be empty', 'Omit them for all.');
    PERFORM appstore.check_argument(array_position(e.bundle_ids, NULL) IS NULL AND array_position(e.environments, NULL) IS NULL,
                                    'bundle_ids and environments must have no null', 'Omit them for all.');
    PERFORM appstore.check_argument(e.max_in_flight BETWEEN 1 AND 64, 'max_in_flight must be 1 to 64', 'Omit it for 8.');
    PERFORM appstore.check_argument(coalesce(e.max_per_second, 1) BETWEEN 1 AND 10000, 'max_per_second must be 1 to 10000', 'Omit it for no limit.');
    PERFORM appstore.check_argument(e.timeout_seconds BETWEEN 1 AND 60, 'timeout_seconds must be 1 to 60', 'Omit it for 15.');
END
$_$;

COMMENT ON FUNCTION appstore.check_endpoint(e appstore.endpoints) IS 'Fails with invalid_parameter_value where a setting of an endpoint is wrong.';

CREATE FUNCTION appstore.check_environment(environment appstore.environment) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM appstore.check_argument(environment IS NOT NULL, 'environment must not be null', 'Environments are Production and Sandbox.');
END
$$;

COMMENT ON FUNCTION appstore.check_environment(environment appstore.environment) IS 'Fails with invalid_parameter_value when the environment is null.';

CREATE FUNCTION appstore.check_feed_types(types text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_unknown text := (
        SELECT string_agg(quote_nullable(asked.type), ', ') FROM unnest(types) AS asked (type)
        WHERE NOT EXISTS (SELECT FROM unnest(appstore.feed_types()) AS known (type)
                          WHERE asked.type IN (known.type, split_part(known.type, '.', 1) || '.*')));
BEGIN
    PERFORM appstore.check_argument(v_unknown IS NULL, 'there is no type ' || v_unknown,
                                    'Types are ' || array_to_string(appstore.feed_types(), ', ') || '; effect.* stands for all that begin so.');
    PERFORM appstore.check_argument(types IS NULL OR cardinality(types) > 0, 'types must not be empty', 'Omit them for the usual ones.');
END
$$;

COMMENT ON FUNCTION appstore.check_feed_types(types text[]) IS 'Fails with invalid_parameter_value where one of them is neither a type nor a pattern such as effect.*.';

CREATE FUNCTION appstore.check_repair(action text, filter appstore.repair_filter, note text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_conditions jsonb := jsonb_strip_nulls(to_jsonb(filter));
BEGIN
    IF coalesce(v_conditions, '{}') = '{}' THEN
        RAISE EXCEPTION 'a repair needs at least one condition' USING ERRCODE = 'invalid_parameter_value', HINT =
            'Conditions are result, reason, notification_type, subtype, environment, bundle_id, received_from and received_before.';
    ELSIF action IS NULL OR action NOT IN ('requeue', 'discard') THEN
        RAISE EXCEPTION 'there is no repair %', quote_nullable(action) USING ERRCODE = 'invalid_parameter_value', HINT =
            'Repairs are requeue and discard.';
    ELSIF action = 'discard' AND coalesce(btrim(note), '') = '' THEN
        RAISE EXCEPTION 'a discard needs a reason' USING ERRCODE = 'invalid_parameter_value', HINT =
            'It becomes the reason of the outcomes.';
    END IF;
    RETURN v_conditions;
END
$$;

COMMENT ON FUNCTION appstore.check_repair(action text, filter appstore.repair_filter, note text) IS 'Returns the conditions of a repair as JSON, without nulls. Fails for invalid or contradictory conditions.';

CREATE FUNCTION appstore.classify_history(p_after bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_batch CONSTANT integer := 1000;
    v_ids     bigint[];
    v_settled bigint[];
    v_classes text[];
    v_count   record;
BEGIN
    v_ids := ARRAY(SELECT r.event_id FROM appstore.history_records AS r WHERE r.is_open AND r.event_id > p_after ORDER BY r.event_id LIMIT c_batch);
    SELECT coalesce(array_agg(s.event_id), '{}'), coalesce(array_agg(s.class), '{}') INTO v_settled, v_classes
    FROM (SELECT r.event_id,
                 CASE WHEN o.result = 'duplicate' THEN 'confirmed' WHEN o.result IN ('rejected', 'failed') THEN 'refused_here'
                      ELSE r.class END AS class
          FROM appstore.history_records AS r
          CROSS JOIN LATERAL (SELECT o.result FROM appstore.outcomes AS o WHERE o.event_id = r.event_id OFFSET 0) AS o
          WHERE r.is_open AND r.event_id = ANY (v_ids)
            -- The next windows list it again and tell whether the attempt failed.
            AND (r.class <> 'in_flight' OR o.result IN ('duplicate', 'rejected', 'failed')
                 OR r.listed_at < clock_timestamp() - interval '2 hours')
          ORDER BY r.event_id FOR UPDATE OF r SKIP LOCKED) AS s;
    FOR v_count IN
        WITH classed AS (
            UPDATE appstore.history_records AS r SET class = v_classes[array_position(v_settled, r.event_id)], is_open = false
            WHERE r.is_open AND r.event_id = ANY (v_settled)
            RETURNING r.bundle_id, r.environment, r.mode, r.class
        )
        SELECT c.bundle_id, c.environment, c.mode, c.class, count(*) AS records FROM classed AS c GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    LOOP
        PERFORM appstore.count_history(v_count.bundle_id, v_count.environment, v_count.mode, v_count.class, v_count.records);
    END LOOP;
    RETURN v_ids[c_batch];
END
$$;

COMMENT ON FUNCTION appstore.classify_history(p_after bigint) IS 'Gives the next 1,000 open records after an event their class, where their event has an outcome. Returns the last event, null when there are no more.';

CREATE FUNCTION appstore.close_history_window(p_window_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_window appstore.history_windows;
BEGIN
    UPDATE appstore.history_windows AS w SET state = 'done', closed_at = clock_timestamp(), is_leased = false WHERE w.window_id = p_window_id
    RETURNING w.* INTO v_window;
    UPDATE appstore.history_cursors AS c
    SET covered = c.covered + tstzmultirange(tstzrange(v_window.starts_at, v_window.ends_at)),
        overlap = CASE WHEN v_window.kind = 'second' AND v_window.stored > 0 THEN least(c.overlap * 2, interval '24 hours') ELSE c.overlap END
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
END
$$;

COMMENT ON FUNCTION appstore.close_history_window(p_window_id bigint) IS 'Closes a window that was read completely: its time is covered. What a second walk found first doubles the overlap.';

CREATE FUNCTION appstore.compare_history_window(p_window_id bigint, p_epoch bigint, p_seconds integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_batch  CONSTANT integer := 2000;
    v_window appstore.history_windows;
    v_cursor appstore.history_cursors;
    v_ids    bigint[];
    v_times  timestamptz[];
    v_mode   text;
    v_rows   bigint;
BEGIN
    SELECT w.* INTO v_window FROM appstore.history_windows AS w
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' AND w.is_read FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
    -- 1. What was settled on that day, in the order of the outcomes.
    SELECT coalesce(array_agg(next.event_id), '{}'), coalesce(array_agg(next.settled_at), '{}') INTO v_ids, v_times
    FROM (SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
          WHERE o.settled_at >= coalesce(v_window.compared_to, v_window.starts_at) AND o.settled_at < v_window.ends_at
            AND (o.settled_at, o.event_id) > (coalesce(v_window.compared_to, v_window.starts_at), coalesce(v_window.compared_event, 0))
          ORDER BY o.settled_at, o.event_id LIMIT c_batch) AS next;
    -- 2. What of it was pushed and is in no record. A requeued event is not a push of that day.
    v_mode := CASE WHEN v_cursor.mode = 'beside' OR v_window.starts_at < v_cursor.walks_since THEN 'beside' ELSE 'walk' END;
    INSERT INTO appstore.history_records (environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, attempts)
    SELECT v_window.environment, o.notification_uuid, v_window.bundle_id, 'unlisted', false, v_mode, o.event_id, p_window_id, clock_timestamp(), 0
    FROM appstore.outcomes AS o
    WHERE o.event_id = ANY (v_ids) AND o.source = 'notification_v2' AND o.notification_uuid IS NOT NULL
      AND o.environment = v_window.environment::text AND o.bundle_id = v_window.bundle_id
      AND o.result NOT IN ('duplicate', 'rejected', 'failed', 'discarded') AND o.received_at >= v_window.starts_at - interval '1 day'
    ON CONFLICT (notification_uuid, environment) DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    UPDATE appstore.history_windows AS w
    SET compared_to = coalesce(v_times[cardinality(v_times)], w.compared_to), compared_event = coalesce(v_ids[cardinality(v_ids)], w.compared_event),
        run_at = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE w.window_id = p_window_id;
    IF cardinality(v_ids) < c_batch THEN
        PERFORM appstore.close_history_window(p_window_id);
    END IF;
    PERFORM appstore.count_history(v_window.bundle_id, v_window.environment, v_mode, 'unlisted', v_rows);
    RETURN cardinality(v_ids) < c_batch;
END
$$;

COMMENT ON FUNCTION appstore.compare_history_window(p_window_id bigint, p_epoch bigint, p_seconds integer) IS 'Compares the next 2,000 outcomes of a day with what its second walk listed: what was pushed and is in no record becomes an unlisted one. Closes the window after the last. Returns whether it did, null when another lease has begun.';

CREATE FUNCTION appstore.console_session(session_hash bytea) RETURNS TABLE(session_id bigint, person text, role text, shows_bodies boolean, expires_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT s.session_id, s.person, s.role, s.shows_bodies AND appstore.has_console_role(s.person, 'bodies'), s.expires_at
    FROM appstore.console_sessions AS s
    WHERE s.session_hash = console_session.session_hash AND s.ended_at IS NULL AND s.expires_at > clock_timestamp()
      AND appstore.has_console_role(s.person, s.role)
$$;

COMMENT ON FUNCTION appstore.console_session(session_hash bytea) IS 'The session of a cookie; no row when there is none, it has ended, or the person has lost the role since.';

CREATE FUNCTION appstore.consumer_statistics() RETURNS TABLE(name text, lag bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT c.name, h.position - c.position FROM appstore.feed_consumers AS c CROSS JOIN appstore.feed_head AS h
$$;

COMMENT ON FUNCTION appstore.consumer_statistics() IS 'How many entries each named consumer has not taken.';

CREATE FUNCTION appstore.consumption_answered(environment appstore.environment, transaction_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_asked timestamptz;
    v_now   timestamptz;
BEGIN
    PERFORM appstore.check_environment(environment);
    SELECT c.asked_at INTO v_asked FROM appstore.consumption_obligations AS c
    WHERE c.transaction_id = consumption_answered.transaction_id AND c.environment = consumption_answered.environment FOR UPDATE;
    IF v_asked IS NULL THEN
        RAISE EXCEPTION 'Apple has not asked about transaction % in %', quote_nullable(transaction_id), environment
            USING ERRCODE = 'no_data_found', HINT = 'appstore.consumption_requests lists what Apple asks.';
    END IF;
    v_now := greatest(clock_timestamp(), v_asked);
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'replaced', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_key = consumption_answered.environment || '/' || consumption_answered.transaction_id AND o.kind = 'consumption'
      AND (o.state = 'open') IS TRUE;
    INSERT INTO appstore.consumption_decisions (environment, transaction_id, decided_at, decided_by, origin, result, settled_at)
    VALUES (consumption_answered.environment, consumption_answered.transaction_id, v_now, appstore.actor(), 'elsewhere', 'answered', v_now);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'consumption_answered', '{}',
            jsonb_build_object('environment', consumption_answered.environment, 'transaction_id', consumption_answered.transaction_id));
END
$$;

COMMENT ON FUNCTION appstore.consumption_answered(environment appstore.environment, transaction_id text) IS 'Records that another program has told Apple how a purchase was consumed; an answer that waits to be sent is discarded. It can be repeated. It fails with no_data_found when Apple has not asked about the transaction.';

CREATE FUNCTION appstore.consumption_body(answer appstore.consumption_answer, token uuid, is_advanced_commerce boolean) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN is_advanced_commerce THEN
        jsonb_build_object(
            'customerConsented', true, 'sampleContentProvided', (answer).sample, 'appAccountToken', coalesce(token::text, ''),
            'consumptionStatus', CASE WHEN (answer).percentage IS NULL THEN 0 WHEN (answer).percentage = 0 THEN 1
                                      WHEN (answer).percentage < 100000 THEN 2 ELSE 3 END,
            'deliveryStatus', CASE (answer).delivery WHEN 'DELIVERED' THEN 0 WHEN 'UNDELIVERED_QUALITY_ISSUE' THEN 1
                                                     WHEN 'UNDELIVERED_WRONG_ITEM' THEN 2 WHEN 'UNDELIVERED_SERVER_OUTAGE' THEN 3 ELSE 5 END,
            'refundPreference', CASE (answer).preference WHEN 'GRANT_FULL' THEN 1 WHEN 'DECLINE' THEN 2 ELSE 0 END,
            'accountTenure', 0, 'playTime', 0, 'lifetimeDollarsPurchased', 0, 'lifetimeDollarsRefunded', 0, 'platform', 0, 'userStatus', 0)
        || coalesce((answer).details, '{}')
    ELSE
        jsonb_strip_nulls(jsonb_build_object(
            'customerConsented', true, 'deliveryStatus', (answer).delivery, 'sampleContentProvided', (answer).sample,
            'consumptionPercentage', (answer).percentage, 'refundPreference', (answer).preference))
    END
$$;

COMMENT ON FUNCTION appstore.consumption_body(answer appstore.consumption_answer, token uuid, is_advanced_commerce boolean) IS 'What Apple is sent: ConsumptionRequest, or ConsumptionRequestV1 for a purchase of the Advanced Commerce API, where what is not given is 0, undeclared.';

CREATE FUNCTION appstore.consumption_documents(environment appstore.environment, transaction_id text, bundle_ids text[], states text[], max_requests integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT json_build_object(
        'environment', r.environment, 'transactionId', r.transaction_id, 'state', r.state, 'askedAt', appstore.instant_text(r.asked_at),
        'dueAt', appstore.instant_text(r.due_at), 'reason', r.reason, 'originalTransactionId', r.original_transaction_id,
        'bundleId', r.bundle_id, 'product', r.product_id, 'user', r.user_id, 'orderNo', r.order_no,
        'isAdvancedCommerce', r.is_advanced_commerce, 'decidedAt', appstore.instant_text(r.decided_at), 'decidedBy', r.decided_by,
        'consented', r.consented, 'delivery', r.delivery, 'percentage', r.percentage, 'preference', r.preference,
        'answeredAt', appstore.instant_text(r.answered_at), 'refusedWith', r.refused_with, 'outcome', r.outcome,
        'outcomeAt', appstore.instant_text(r.outcome_at), 'refundedPercentage', r.refunded_percentage)::text
    FROM appstore.consumption_requests AS r
    WHERE (consumption_documents.transaction_id IS NULL AND r.due_at > statement_timestamp() AND r.outcome IS NULL
           OR r.transaction_id = consumption_documents.transaction_id)
      AND (r.environment = consumption_documents.environment OR consumption_documents.environment IS NULL)
      AND (r.bundle_id = ANY (consumption_documents.bundle_ids) OR consumption_documents.bundle_ids IS NULL)
      AND (r.state = ANY (consumption_documents.states) OR consumption_documents.states IS NULL)
    -- Without an order where there is one: the planner would look for it in the order of due_at.
    ORDER BY CASE WHEN consumption_documents.transaction_id IS NULL THEN r.due_at END LIMIT max_requests;
END
$$;

COMMENT ON FUNCTION appstore.consumption_documents(environment appstore.environment, transaction_id text, bundle_ids text[], states text[], max_requests integer) IS 'Requests as JSON, with the members of the HTTP API, the most urgent first: the one about a transaction, else those that Apple waits for. Null environment, bundle_ids and states are any.';

CREATE TABLE appstore.consumption_policies (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text COLLATE pg_catalog."C",
    mode text NOT NULL COLLATE pg_catalog."C",
    delivery text COLLATE pg_catalog."C",
    sample boolean,
    percentage integer,
    preference text COLLATE pg_catalog."C",
    CONSTRAINT consumption_policies_answer_of_default CHECK ((((mode = 'default'::text) = (delivery IS NOT NULL)) AND ((mode = 'default'::text) = (sample IS NOT NULL)) AND ((mode = 'default'::text) OR ((percentage IS NULL) AND (preference IS NULL))))),
    CONSTRAINT consumption_policies_delivery_is_known CHECK ((delivery = ANY (ARRAY['DELIVERED'::text, 'UNDELIVERED_QUALITY_ISSUE'::text, 'UNDELIVERED_WRONG_ITEM'::text, 'UNDELIVERED_SERVER_OUTAGE'::text, 'UNDELIVERED_OTHER'::text]))),
    CONSTRAINT consumption_policies_mode_is_known CHECK ((mode = ANY (ARRAY['off'::text, 'backend'::text, 'default'::text]))),
    CONSTRAINT consumption_policies_percentage_in_range CHECK (((percentage >= 0) AND (percentage <= 100000))),
    CONSTRAINT consumption_policies_preference_is_known CHECK ((preference = ANY (ARRAY['DECLINE'::text, 'GRANT_FULL'::text, 'GRANT_PRORATED'::text]))),
    CONSTRAINT consumption_policies_undelivered_is_unused CHECK (((delivery = 'DELIVERED'::text) OR (COALESCE(percentage, 0) = 0)))
);

COMMENT ON TABLE appstore.consumption_policies IS 'How Apple''s consumption requests about an app''s purchases are answered: rows that the operator writes. The row of the product counts, else that of the app without a product, else off.';

COMMENT ON COLUMN appstore.consumption_policies.product_id IS 'The product; null for all products of the app without a row of their own.';

COMMENT ON COLUMN appstore.consumption_policies.mode IS 'off: nothing is sent. backend: what appstore.answer_consumption decides is sent. default: that, and the answer of this row where nothing was decided two hours before the request is due and the user''s consent is in appstore.consents.';

COMMENT ON COLUMN appstore.consumption_policies.delivery IS 'Apple''s deliveryStatus in the answer of mode default.';

COMMENT ON COLUMN appstore.consumption_policies.sample IS 'Apple''s sampleContentProvided in that answer.';

COMMENT ON COLUMN appstore.consumption_policies.percentage IS 'Apple''s consumptionPercentage in that answer, in thousandths of a percent; left out for auto-renewable subscriptions.';

COMMENT ON COLUMN appstore.consumption_policies.preference IS 'Apple''s refundPreference in that answer.';

CREATE FUNCTION appstore.consumption_policy(bundle_id text, product_id text) RETURNS appstore.consumption_policies
    LANGUAGE sql STABLE
    AS $$
    SELECT p FROM appstore.consumption_policies AS p
    WHERE p.bundle_id = consumption_policy.bundle_id AND (p.product_id = consumption_policy.product_id OR p.product_id IS NULL)
    ORDER BY p.product_id IS NULL LIMIT 1
$$;

COMMENT ON FUNCTION appstore.consumption_policy(bundle_id text, product_id text) IS 'The policy for a product; null where there is none, which means off.';

CREATE FUNCTION appstore.consumption_statistics(OUT open bigint, OUT due interval, OUT missed bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    SELECT count(*), min(next.due_at) FILTER (WHERE next.state IN ('waiting', 'refused')) - statement_timestamp() INTO open, due
    FROM (SELECT r.due_at, r.state FROM appstore.consumption_requests AS r
          WHERE r.due_at > statement_timestamp() AND r.outcome IS NULL AND r.state IN ('waiting', 'decided', 'sending', 'refused') AND r.is_expected
          ORDER BY r.due_at LIMIT 10000) AS next;
    missed := coalesce((SELECT s.event_id FROM appstore.maintenance_state AS s WHERE s.task = 'consumption'), 0);
END
$$;

COMMENT ON FUNCTION appstore.consumption_statistics(OUT open bigint, OUT due interval, OUT missed bigint) IS 'Of the requests that are to be answered by policy: how many Apple waits for, up to 10,000, which then means as many or more; the time until the first one without a decision, or with a refused one, is due; and how many were missed so far.';

CREATE FUNCTION appstore.consumption_violation(answer appstore.consumption_answer, is_subscription boolean, ownership text, is_advanced_commerce boolean, OUT rule text, OUT message text) RETURNS record
    LANGUAGE sql STABLE
    AS $$
    SELECT checked.rule, checked.message
    FROM (VALUES
        (1, 'family_shared', ownership IS DISTINCT FROM 'FAMILY_SHARED',
         'Apple takes no answer about what a family member shares (4000185)'),
        (2, 'assigned', ownership IS DISTINCT FROM 'ASSIGNED',
         'Apple takes no answer about what was assigned to another customer (4000227)'),
        (3, 'delivery', (answer).delivery IN ('DELIVERED', 'UNDELIVERED_QUALITY_ISSUE', 'UNDELIVERED_WRONG_ITEM', 'UNDELIVERED_SERVER_OUTAGE',
                                              'UNDELIVERED_OTHER'),
         'delivery must be DELIVERED, UNDELIVERED_QUALITY_ISSUE, UNDELIVERED_WRONG_ITEM, UNDELIVERED_SERVER_OUTAGE or UNDELIVERED_OTHER'),
        (4, 'sample', (answer).sample IS NOT NULL, 'sample must say whether sample content was provided before the purchase'),
        (5, 'percentage', coalesce((answer).percentage, 0) BETWEEN 0 AND 100000,
         'percentage must be from 0 to 100000, in thousandths of a percent'),
        (6, 'preference', coalesce((answer).preference, 'DECLINE') IN ('DECLINE', 'GRANT_FULL', 'GRANT_PRORATED'),
         'preference must be DECLINE, GRANT_FULL or GRANT_PRORATED, or left out'),
        (7, 'percentage_of_subscription', (answer).percentage IS NULL OR NOT is_subscription OR is_advanced_commerce,
         'Apple takes no percentage for an auto-renewable subscription (4000209)'),
        (8, 'percentage_of_undelivered', (answer).delivery = 'DELIVERED' OR coalesce((answer).percentage, 0) = 0,
         'what was not delivered cannot be consumed: percentage must be 0 or left out'),
        (9, 'prorated_of_version_1', NOT is_advanced_commerce OR (answer).preference IS DISTINCT FROM 'GRANT_PRORATED',
         'Apple knows no GRANT_PRORATED for a purchase of the Advanced Commerce API'),
        (10, 'prorated_percentage',
         (answer).preference IS DISTINCT FROM 'GRANT_PRORATED' OR is_subscription
         OR coalesce((answer).percentage > 0 AND (answer).percentage < 100000, false),
         'GRANT_PRORATED of anything but an auto-renewable subscription needs a percentage between 0 and 100000 (4000044)'),
        (11, 'details', (answer).details IS NULL OR (is_advanced_commerce AND NOT EXISTS (
                SELECT FROM jsonb_each(CASE jsonb_typeof((answer).details) WHEN 'object' THEN (answer).details ELSE '{"":0}' END) AS given (name, value)
                WHERE NOT EXISTS (
                    SELECT FROM (VALUES ('accountTenure', 7), ('playTime', 7), ('lifetimeDollarsPurchased', 7), ('lifetimeDollarsRefunded', 7),
                                        ('platform', 2), ('userStatus', 4)) AS known (name, most)
                    CROSS JOIN generate_series(0, known.most) AS number
                    WHERE known.name = given.name AND number::text = given.value::text))),
         'details are for purchases of the Advanced Commerce API: accountTenure, playTime, lifetimeDollarsPurchased and lifetimeDollarsRefunded '
         'from 0 to 7, platform from 0 to 2, userStatus from 0 to 4')
    ) AS checked (place, rule, holds, message)
    WHERE checked.holds IS NOT TRUE
    ORDER BY checked.place LIMIT 1
$$;

COMMENT ON FUNCTION appstore.consumption_violation(answer appstore.consumption_answer, is_subscription boolean, ownership text, is_advanced_commerce boolean, OUT rule text, OUT message text) IS 'The first of Apple''s rules that an answer breaks, and what it says, with Apple''s error number where that is known; nulls when it breaks none. Consent is checked by appstore.decide_consumption.';

CREATE FUNCTION appstore.contract_claims(p_environment appstore.environment, p_contract text) RETURNS TABLE(kind appstore.claim_kind, source_id text, user_id text, effective_at timestamp with time zone)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    WITH paid AS (
        -- 1. order: a user's order was paid by one of the contract's periods.
        SELECT 'order'::appstore.claim_kind AS kind, paid.order_no::text AS source_id, paid.user_id, paid.paid_at AS effective_at
        FROM (
            SELECT o.order_no, o.user_id, o.paid_at FROM appstore.orders AS o
            WHERE o.original_transaction_id = p_contract AND o.environment = p_environment
              AND (o.order_no = o.period_no) IS FALSE OFFSET 0 -- the condition of the index, word for word
        ) AS paid
        WHERE paid.user_id IS NOT NULL
        UNION ALL
        -- 2. token: a transaction got another token later, which is an order of the shop (made in Production for either environment). The
        --    token pays nothing, but claims the contract for the order's user.
        SELECT 'token', t.transaction_id, ordered.user_id, t.purchase_date
        FROM appstore.transactions AS t
        CROSS JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o
            WHERE o.order_no = t.app_account_token AND o.environment = 'Production' AND o.ordered_at IS NOT NULL OFFSET 0
        ) AS ordered
        WHERE t.environment = p_environment AND t.original_transaction_id = p_contract AND t.app_account_token <> t.first_token
          AND t.is_purchased
    ), stated AS (
        SELECT paid.* FROM paid
        UNION ALL
        -- 3. link: a command of an operator or the shop that was not taken back; of several at one instant the last. That of an import never
        --    overrides what was paid with a token before.
        (SELECT DISTINCT ON (l.linked_at) 'link'::appstore.claim_kind, lpad((extract(epoch FROM l.linked_at) * 1000000)::bigint::text, 20, '0'),
                l.user_id, l.linked_at
         FROM appstore.owner_links AS l
         WHERE l.environment = p_environment AND l.original_transaction_id = p_contract AND l.user_id IS NOT NULL
           AND l.linked_at > ALL (SELECT back.linked_at FROM appstore.owner_links AS back
                                  WHERE back.environment = p_environment AND back.original_transaction_id = p_contract AND back.user_id IS NULL)
           AND (l.import_id IS NULL OR NOT EXISTS (SELECT FROM paid WHERE paid.effective_at <= l.linked_at))
         ORDER BY l.linked_at, l.link_id DESC)
        UNION ALL
        -- 4. receipt: an app posted a receipt soon after a purchase and named it as just made, before any other post did. The claim moves the
        --    contract. Renewals are excluded, since no app makes them: by the JWS, or because they begin when another period ends.
        (SELECT DISTINCT ON (s.transaction_id) 'receipt'::appstore.claim_kind, s.transaction_id, s.user_id, charge.purchase_date
         FROM appstore.client_posts AS s
         CROSS JOIN LATERAL (
             SELECT t.purchase_date, t.original_transaction_id FROM appstore.transactions AS t
             WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL
               AND t.transaction_reason IS DISTINCT FROM 'RENEWAL' OFFSET 0
         ) AS charge
         WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND s.is_receipt
           AND charge.original_transaction_id = p_contract
           AND s.received_at <= charge.purchase_date + interval '72 hours'
           AND NOT EXISTS (SELECT FROM appstore.transactions AS before
                           WHERE before.original_transaction_id = p_contract AND before.environment = p_environment
                             AND before.transaction_id <> s.transaction_id
                             AND date_trunc('second', before.expires_date) = date_trunc('second', charge.purchase_date))
         ORDER BY s.transaction_id, s.received_at, s.event_id)
    ), posted AS (
    -- 5. client: a user posted a transaction without token as their own, soon after its purchase and before all others. It never overrides
    --    another claim: Apple's signature proves the purchase, not who holds it.
    SELECT 'client'::appstore.claim_kind AS kind, s.transaction_id AS source_id, s.user_id, charge.purchase_date AS effective_at,
            s.received_at, s.event_id
     FROM appstore.client_posts AS s
     CROSS JOIN LATERAL (
         SELECT t.purchase_date, t.original_transaction_id FROM appstore.transactions AS t
         WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL OFFSET 0
     ) AS charge
     WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND NOT s.is_receipt
       AND charge.original_transaction_id = p_contract AND s.received_at <= charge.purchase_date + interval '72 hours'
       AND NOT EXISTS (SELECT FROM stated WHERE stated.effective_at <= charge.purchase_date)
    UNION ALL
    -- 6. restored: an app posted a receipt that holds the contract, however old, while the contract had no owner.
    SELECT 'restored', p_contract, s.user_id, s.received_at, s.received_at, s.event_id
     FROM appstore.client_posts AS s
     WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND s.is_receipt
       AND NOT EXISTS (SELECT FROM stated WHERE stated.effective_at <= s.received_at)
    )
    SELECT stated.* FROM stated
    UNION ALL
    -- The first received of the posts without a stronger claim before them.
    (SELECT posted.kind, posted.source_id, posted.user_id, posted.effective_at FROM posted ORDER BY posted.received_at, posted.event_id LIMIT 1)
$$;

COMMENT ON FUNCTION appstore.contract_claims(p_environment appstore.environment, p_contract text) IS 'The claims to a contract that orders, later tokens, links and client posts make.';

CREATE FUNCTION appstore.contracts_of(user_id text) RETURNS TABLE(environment appstore.environment, original_transaction_id text, is_owned boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT found.environment, found.id, bool_or(found.is_owned)
    FROM (
        SELECT k.environment, k.original_transaction_id, true FROM appstore.ownership_claims AS k WHERE k.user_id = contracts_of.user_id
        UNION ALL -- links, also those that were taken back; one in force is a claim
        SELECT l.environment, l.original_transaction_id, false FROM appstore.owner_links AS l WHERE l.user_id = contracts_of.user_id
        UNION ALL
        SELECT m.environment, m.original_transaction_id, true FROM appstore.contracts AS m WHERE m.user_id = contracts_of.user_id
        UNION ALL -- charges that name an order of the user, paid by them or not
        SELECT o.environment, t.original_transaction_id, true
        FROM appstore.orders AS o
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.first_token = o.order_no AND t.environment = o.environment
            UNION ALL
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.app_account_token = o.order_no AND t.environment = o.environment AND t.app_account_token <> t.first_token
        ) AS t
        WHERE o.user_id = contracts_of.user_id AND o.ordered_at IS NOT NULL
        UNION ALL
        SELECT p.environment, p.original_transaction_id, false FROM appstore.client_posts AS p WHERE p.user_id = contracts_of.user_id
    ) AS found (environment, id, is_owned)
    GROUP BY found.environment, found.id
$$;

COMMENT ON FUNCTION appstore.contracts_of(user_id text) IS 'The contracts of a user, in both environments. is_owned: the user is or was the owner, or paid for it; otherwise the user only posted a transaction or receipt of it, or a link to the user was taken back.';

CREATE FUNCTION appstore.count_history(p_bundle_id text, p_environment appstore.environment, p_mode text, p_class text, p_records bigint) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO appstore.history_counts AS c (bundle_id, environment, mode, class, records)
    SELECT p_bundle_id, p_environment, p_mode, p_class, p_records WHERE p_records > 0
    ON CONFLICT (bundle_id, environment, mode, class) DO UPDATE SET records = c.records + excluded.records
$$;

COMMENT ON FUNCTION appstore.count_history(p_bundle_id text, p_environment appstore.environment, p_mode text, p_class text, p_records bigint) IS 'Counts records whose class is certain.';

CREATE TABLE appstore.import_chunks (
    import_id integer NOT NULL,
    first_line integer NOT NULL,
    end_line integer NOT NULL,
    phase text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment NOT NULL,
    run_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    is_leased boolean DEFAULT false NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    last_error text,
    silent_since timestamp with time zone,
    link_at timestamp with time zone,
    waiting integer DEFAULT 0 NOT NULL,
    found integer DEFAULT 0 NOT NULL,
    covered integer DEFAULT 0 NOT NULL,
    unknown integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    reported_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT import_chunks_is_a_range CHECK ((first_line < end_line)),
    CONSTRAINT import_chunks_link_at_last CHECK (((phase <> 'link'::text) OR (link_at IS NOT NULL))),
    CONSTRAINT import_chunks_phase_is_known CHECK ((phase = ANY (ARRAY['ask'::text, 'again'::text, 'link'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

COMMENT ON TABLE appstore.import_chunks IS 'The parts of an import that are being worked on, at most 200 lines each. A worker leases a part as it leases a call; a worker with an older epoch changes nothing. A part whose items are all settled is deleted.';

COMMENT ON COLUMN appstore.import_chunks.import_id IS 'The import.';

COMMENT ON COLUMN appstore.import_chunks.first_line IS 'Its first line.';

COMMENT ON COLUMN appstore.import_chunks.end_line IS 'The line after its last one.';

COMMENT ON COLUMN appstore.import_chunks.phase IS 'ask: its open items are asked. again: those that Apple did not know are asked once more. link: nothing is left to ask, and only its users wait.';

COMMENT ON COLUMN appstore.import_chunks.environment IS 'Where its next items are asked.';

COMMENT ON COLUMN appstore.import_chunks.run_at IS 'When it is due: at once, at the end of a lease or of its back-off.';

COMMENT ON COLUMN appstore.import_chunks.is_leased IS 'Whether a worker has it until run_at.';

COMMENT ON COLUMN appstore.import_chunks.epoch IS 'Number of leases so far.';

COMMENT ON COLUMN appstore.import_chunks.failures IS 'Leases in a row that failed.';

COMMENT ON COLUMN appstore.import_chunks.last_error IS 'Why the latest lease ended early; null after one that did not.';

COMMENT ON COLUMN appstore.import_chunks.silent_since IS 'When a request first got no answer of Apple''s; null after one that was answered. After a day such failures count, also while Apple answers nothing.';

COMMENT ON COLUMN appstore.import_chunks.link_at IS 'When the users of its items that were found become owners, whatever its phase, unless it is leased; null while there are none.';

COMMENT ON COLUMN appstore.import_chunks.waiting IS 'Items that are asked once more.';

COMMENT ON COLUMN appstore.import_chunks.found IS 'Items that became found since reported_at; this column and the following ones are added to the import every few seconds, not with each item.';

COMMENT ON COLUMN appstore.import_chunks.covered IS 'Items that became covered since then, in any chunk.';

COMMENT ON COLUMN appstore.import_chunks.unknown IS 'Items that became unknown_to_apple since then.';

COMMENT ON COLUMN appstore.import_chunks.failed IS 'Items that failed since then.';

COMMENT ON COLUMN appstore.import_chunks.reported_at IS 'When these numbers were added to the import.';

CREATE FUNCTION appstore.count_in_import_chunk(p_chunk appstore.import_chunks, p_found integer, p_covered integer, p_unknown integer, p_failed integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_found + p_covered + p_unknown + p_failed = 0 THEN
        RETURN;
    END IF;
    UPDATE appstore.import_chunks AS c
    SET found = c.found + p_found, covered = c.covered + p_covered, unknown = c.unknown + p_unknown, failed = c.failed + p_failed
    WHERE c.import_id = p_chunk.import_id AND c.first_line = p_chunk.first_line;
    -- Not with each item: all workers would wait for the row of the import.
    IF p_chunk.reported_at < clock_timestamp() - interval '5 seconds' THEN
        PERFORM appstore.report_import_chunk(p_chunk.import_id, p_chunk.first_line);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.count_in_import_chunk(p_chunk appstore.import_chunks, p_found integer, p_covered integer, p_unknown integer, p_failed integer) IS 'Counts settled items, and reports them to the import every five seconds.';

CREATE FUNCTION appstore.count_repair(action text, filter appstore.repair_filter, at_most integer DEFAULT NULL::integer) RETURNS TABLE(result appstore.result, events bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_repair(action, filter, '-');
    RETURN QUERY
    SELECT o.result, count(*)
    FROM appstore.find_outcomes(action, filter, at_most) AS f (event_id)
    JOIN appstore.outcomes AS o ON o.event_id = f.event_id
    GROUP BY o.result ORDER BY o.result;
    IF NOT FOUND THEN
        PERFORM appstore.suggest_reasons(filter);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.count_repair(action text, filter appstore.repair_filter, at_most integer) IS 'How many outcomes of each result a repair (requeue or discard) would take now; it stops at at_most, if given. Of none: a notice suggests reasons that occur.';

CREATE FUNCTION appstore.create_order(user_id text, product_id text, order_no uuid DEFAULT gen_random_uuid(), bundle_id text DEFAULT NULL::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_no   uuid;
    v_made appstore.orders;
BEGIN
    v_no := coalesce(create_order.order_no, gen_random_uuid());
    PERFORM appstore.check_argument(char_length(user_id) BETWEEN 1 AND 255, 'user_id must have 1 to 255 characters',
                                    'Give the id that your own system has for the user.'),
            appstore.check_argument(char_length(product_id) BETWEEN 1 AND 255, 'product_id must have 1 to 255 characters',
                                    'Give the id that the product has in App Store Connect.'),
            appstore.check_argument(bundle_id IS NULL OR char_length(bundle_id) BETWEEN 1 AND 255, 'bundle_id must have 1 to 255 characters',
                                    'Omit it when any app may pay the order.'),
            -- Numbers of periods are version 5 UUIDs derived from Apple's data: an order with such a number would block the merge of a purchase.
            appstore.check_argument(substr(v_no::text, 15, 1) <> '5', format('order_no %s is a version 5 UUID, as orders of renewals have', v_no),
                                    'Omit order_no, or make it with gen_random_uuid().');
    PERFORM appstore.lock_for_order(v_no);
    INSERT INTO appstore.orders AS o (environment, order_no, user_id, product_id, bundle_id, ordered_at)
    VALUES ('Production', v_no, create_order.user_id, create_order.product_id, create_order.bundle_id, clock_timestamp())
    ON CONFLICT (order_no, environment) DO UPDATE
    SET user_id = excluded.user_id, product_id = excluded.product_id, bundle_id = excluded.bundle_id, ordered_at = excluded.ordered_at
    WHERE o.ordered_at IS NULL AND o.order_no IS DISTINCT FROM o.period_no;
    SELECT o.* INTO v_made FROM appstore.orders AS o WHERE o.order_no = v_no AND o.environment = 'Production';
    IF (v_made.user_id, v_made.product_id, v_made.bundle_id)
       IS DISTINCT FROM (create_order.user_id, create_order.product_id, create_order.bundle_id) THEN
        RAISE EXCEPTION 'order % exists for another user, product or bundle', v_no
            USING ERRCODE = 'unique_violation', HINT = 'Omit order_no to get a new number.';
    END IF;
    PERFORM appstore.derive_ledger('Production', '{}', '{}', ARRAY[v_no]);

    -- The Sandbox twin, and contracts of Sandbox that a later token of this number claims.
    UPDATE appstore.orders AS twin
    SET user_id = v_made.user_id, product_id = v_made.product_id, bundle_id = v_made.bundle_id, ordered_at = v_made.ordered_at
    WHERE twin.order_no = v_no AND twin.environment = 'Sandbox' AND (twin.period_no IS NULL OR twin.order_no <> twin.period_no);
    IF FOUND OR EXISTS (SELECT FROM appstore.transactions AS t
                        WHERE t.app_account_token = v_no AND t.environment = 'Sandbox' AND t.app_account_token <> t.first_token) THEN
        PERFORM appstore.derive_ledger('Sandbox', '{}', '{}', ARRAY[v_no]);
    END IF;
    RETURN v_no;
END
$$;

COMMENT ON FUNCTION appstore.create_order(user_id text, product_id text, order_no uuid, bundle_id text) IS 'Makes an order in Production and returns its number, which the app passes to StoreKit as appAccountToken. The purchase may have arrived before. Repeating a call with the same number changes nothing; it fails with unique_violation when the number was used for another user, product or bundle, and with invalid_parameter_value for a version 5 UUID. Where it fails with 40P01 or 55P03, call it again.';

CREATE FUNCTION appstore.decide_consumption(environment appstore.environment, transaction_id text, answer appstore.consumption_answer, origin text, actor text, OUT refusal text, OUT message text) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_key     text := decide_consumption.environment || '/' || decide_consumption.transaction_id;
    v_answer  appstore.consumption_answer := decide_consumption.answer;
    v_request appstore.consumption_obligations;
    v_sold    appstore.transactions;
    v_last    appstore.consumption_decisions;
    v_consent appstore.consents;
    v_user    text;
    v_call    bigint;
BEGIN
    PERFORM appstore.demand_read_committed(), appstore.check_environment(environment);
    -- The deadline passes once: the decision must be on disk before the backend believes that it is made.
    PERFORM appstore.begin_to_store();

    -- 1. The request. Its row is locked, so that a decision of Apple's that is merged concurrently is seen here, or discards the call.
    SELECT c.* INTO v_request FROM appstore.consumption_obligations AS c
    WHERE c.transaction_id = decide_consumption.transaction_id AND c.environment = decide_consumption.environment FOR UPDATE;
    SELECT t.* INTO v_sold FROM appstore.transactions AS t
    WHERE t.transaction_id = decide_consumption.transaction_id AND t.environment = decide_consumption.environment;
    SELECT d.* INTO v_last FROM appstore.consumption_decisions AS d
    WHERE d.transaction_id = decide_consumption.transaction_id AND d.environment = decide_consumption.environment
      AND d.decided_at >= v_request.asked_at
    ORDER BY d.decided_at DESC, d.decision_id DESC LIMIT 1; -- by decision_id alone, the planner might read all decisions in its order
    IF NOT v_answer.consented THEN
        v_answer := ROW(false, NULL, NULL, NULL, NULL, v_answer.evidence, NULL);
    ELSIF decide_consumption.origin = 'policy' AND v_sold.is_subscription AND NOT v_request.is_advanced_commerce THEN
        v_answer.percentage := NULL;
    END IF;
    IF v_request.outcome IS NULL AND v_last.answer = v_answer AND (v_last.result IS NULL OR v_last.result = 'answered') THEN
        RETURN; -- the same decision again
    END IF;
    SELECT refused.code, refused.message INTO refusal, message
    FROM (VALUES
        (1, 'not_asked', v_request.asked_at IS NULL OR v_sold.transaction_id IS NULL,
         format('Apple has not asked about transaction %s in %s', quote_nullable(decide_consumption.transaction_id),
                decide_consumption.environment)),
        (2, 'apple_decided', v_request.outcome IS NOT NULL, format('Apple has decided about the refund: %s', v_request.outcome)),
        (3, 'answered', v_last.result = 'answered', 'Apple has taken an answer to this request'),
        (4, 'past_due', v_request.due_at <= clock_timestamp(), format('the answer was due at %s', v_request.due_at)),
        (5, 'consent', v_answer.consented IS NULL, 'consented must be true or false: nothing is assumed (4000035)'),
        (6, 'evidence', char_length(v_answer.evidence) NOT BETWEEN 1 AND 1000, 'evidence must have 1 to 1000 characters'),
        (7, 'policy_off', v_answer.consented AND coalesce((appstore.consumption_policy(v_sold.bundle_id, v_sold.product_id)).mode, 'off') = 'off',
         format('appstore.consumption_policies has nothing sent about product %s of %s', v_sold.product_id, v_sold.bundle_id))
    ) AS refused (place, code, is_so, message)
    WHERE refused.is_so ORDER BY refused.place LIMIT 1;

    -- 2. Apple's rules. Without consent nothing is sent, so they do not matter.
    IF refusal IS NULL AND v_answer.consented THEN
        SELECT broken.rule, broken.message INTO refusal, message
        FROM appstore.consumption_violation(v_answer, v_sold.is_subscription, v_sold.in_app_ownership_type, v_request.is_advanced_commerce)
             AS broken;
    END IF;

    -- 3. The user's consent, which cannot be withdrawn between this check and the commit.
    v_user := coalesce(
        (SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = v_sold.order_no AND o.environment = decide_consumption.environment),
        (SELECT m.user_id FROM appstore.contracts AS m
         WHERE m.original_transaction_id = v_request.original_transaction_id AND m.environment = decide_consumption.environment));
    IF refusal IS NULL AND v_answer.consented THEN
        SELECT k.* INTO v_consent FROM appstore.consents AS k WHERE k.user_id = v_user
        ORDER BY k.withdrawn_at DESC NULLS FIRST LIMIT 1 FOR SHARE;
        IF v_consent.withdrawn_at IS NOT NULL THEN
            refusal := 'consent_withdrawn';
            message := format('the user withdrew the consent at %s: only appstore.give_consent makes it good again (4000035)',
                              v_consent.withdrawn_at);
        ELSIF v_consent.consent_id IS NULL AND v_answer.evidence IS NULL THEN
            refusal := 'consent_unknown';
            message := 'appstore.consents has no consent of the user, and evidence does not say how it was given (4000035)';
        END IF;
    END IF;
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;

    -- 4. The decision and its call. An earlier call that was not sent is replaced.
    -- IS TRUE: as in settle_call.sql.
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'replaced', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_key = v_key AND o.kind = 'consumption' AND (o.state = 'open') IS TRUE;
    IF v_answer.consented THEN
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, environment, priority, deadline_at, payload)
        VALUES ('consumption', v_key, v_sold.bundle_id, decide_consumption.environment, 0, v_request.due_at,
                convert_to(jsonb_build_object(
                    'transactionId', decide_consumption.transaction_id, 'version', CASE WHEN v_request.is_advanced_commerce THEN 1 ELSE 2 END,
                    'askedAt', floor(extract(epoch FROM v_request.asked_at) * 1000)::bigint,
                    'body', appstore.consumption_body(v_answer, v_sold.app_account_token, v_request.is_advanced_commerce))::text, 'UTF8'))
        RETURNING call_id INTO v_call;
    END IF;
    INSERT INTO appstore.consumption_decisions (environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id)
    VALUES (decide_consumption.environment, decide_consumption.transaction_id, greatest(clock_timestamp(), v_request.asked_at), actor,
            decide_consumption.origin, v_user, v_answer, v_call);
END
$$;

COMMENT ON FUNCTION appstore.decide_consumption(environment appstore.environment, transaction_id text, answer appstore.consumption_answer, origin text, actor text, OUT refusal text, OUT message text) IS 'Decides how a request is answered: writes the decision and the call that sends it, or returns why not, which is a state of the request or a rule that the answer breaks. The same decision again changes nothing.';

CREATE FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_events  bigint[] := ARRAY(
        SELECT unnest(posts)
        UNION
        SELECT o.event_id FROM unnest(contracts) AS c (environment, id) CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.original_transaction_id = c.id AND o.environment = c.environment::text OFFSET 0
        ) AS o
        UNION -- events about several contracts
        SELECT e.event_id FROM unnest(contracts) AS c (environment, id) CROSS JOIN LATERAL (
            SELECT e.event_id FROM appstore.event_contracts AS e
            WHERE e.original_transaction_id = c.id AND e.environment = c.environment OFFSET 0
        ) AS e
        UNION -- answers about the customer's download of the app, which name the transaction that was asked about
        SELECT o.event_id FROM unnest(contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT t.transaction_id FROM appstore.transactions AS t
            WHERE t.original_transaction_id = c.id AND t.environment = c.environment OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.original_transaction_id = t.transaction_id AND o.environment = c.environment::text AND o.source = 'app_transaction' OFFSET 0
        ) AS o);
    v_keys    text[] := ARRAY(
        SELECT place.name || ':' || id.id FROM unnest(contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT c.id
            UNION
            SELECT t.transaction_id FROM appstore.transactions AS t
            WHERE t.original_transaction_id = c.id AND t.environment = c.environment
        ) AS id (id)
        CROSS JOIN LATERAL (VALUES (lower(c.environment::text)), ('any')) AS place (name));
    v_calls   bigint[];
    v_answers bigint[];
BEGIN
    -- 1. Questions and changes whose answers would come afterwards, and what would ask again. Extensions have other keys, and no answer that is
    --    stored.
    DELETE FROM appstore.reconcile_watches AS w USING unnest(contracts) AS c (environment, id)
    WHERE w.original_transaction_id = c.id AND w.environment = c.environment;
    UPDATE appstore.outbox AS c SET state = 'discarded', reason = 'forgotten', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (ARRAY(
              SELECT o.call_id FROM unnest(v_keys) AS asked (call_key)
              CROSS JOIN LATERAL (SELECT o.call_id, o.kind FROM appstore.outbox AS o WHERE o.call_key = asked.call_key AND o.state = 'open' OFFSET 0) AS o
              WHERE o.kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction',
                               'set_app_account_token')))
      AND (c.state = 'open') IS TRUE;

    -- 2. Calls that are made from those bodies. Where another event requested the same call, the call uses its body from now on. The others
    --    are discarded; the bodies of their answers and fallback events are deleted as well. Calls are found by their ids, hence IS TRUE: an
    --    index of open calls seems cheaper while statistics know of none.
    v_calls := ARRAY(SELECT c.call_id FROM appstore.outbox AS c WHERE c.event_id = ANY (v_events) ORDER BY c.call_id FOR UPDATE);
    UPDATE appstore.outbox AS c SET event_id = heir.event_id
    FROM unnest(v_calls) AS call (id)
    CROSS JOIN LATERAL (
        SELECT min(i.event_id) AS event_id
        FROM appstore.outbox AS asked JOIN appstore.inbox AS i ON i.event_id = ANY (asked.asked_by)
        WHERE asked.call_id = call.id AND i.event_id <> ALL (v_events)
    ) AS heir
    WHERE c.call_id = call.id AND heir.event_id IS NOT NULL;
    UPDATE appstore.outbox AS c SET state = 'discarded', reason = 'forgotten', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND (c.state = 'open') IS TRUE;
    v_answers := ARRAY(SELECT answer.event_id
                       FROM appstore.outbox AS c CROSS JOIN LATERAL unnest(ARRAY[c.answer_event_id, c.fallback_event_id]) AS answer (event_id)
                       WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND answer.event_id IS NOT NULL);
    PERFORM appstore.discard_waiting_posts(v_answers);

    -- 3. Bodies of settled events. An outcome that is locked cannot be requeued.
    v_events := ARRAY(SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_events || v_answers)
                      ORDER BY o.event_id FOR UPDATE);
    v_events := ARRAY(SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events) ORDER BY i.event_id);
    DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events);
    RETURN v_events;
END
$$;

COMMENT ON FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) IS 'Deletes the bodies of these posts and of all settled events about these contracts, and ends the calls that were made of them, and questions about the contracts. Returns the events whose bodies were deleted.';

CREATE FUNCTION appstore.demand_read_committed() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- Where an order and its purchase are committed concurrently, the second must see the first. A snapshot from before its lock would not
    -- show it.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'this must see what other transactions commit meanwhile: call it in READ COMMITTED, not in %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Begin the transaction with BEGIN ISOLATION LEVEL READ COMMITTED.';
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.demand_read_committed() IS 'Fails with invalid_transaction_state unless the transaction is at READ COMMITTED.';

CREATE FUNCTION appstore.derive_claims(p_environment appstore.environment, p_contracts text[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_changed text[];
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT contract.id, c.*
        FROM unnest(p_contracts) AS contract (id) CROSS JOIN LATERAL appstore.contract_claims(p_environment, contract.id) AS c
    ), made AS (
        INSERT INTO appstore.ownership_claims AS c (environment, original_transaction_id, kind, source_id, user_id, effective_at)
        SELECT p_environment, wanted.*
        FROM wanted
        WHERE NOT EXISTS (
            SELECT FROM appstore.ownership_claims AS same
            WHERE same.original_transaction_id = wanted.id AND same.environment = p_environment AND same.kind = wanted.kind
              AND (same.source_id, same.user_id, same.effective_at) = (wanted.source_id, wanted.user_id, wanted.effective_at) OFFSET 0)
        ORDER BY wanted.id, wanted.kind, wanted.source_id
        ON CONFLICT (original_transaction_id, environment, kind, source_id) DO UPDATE
        SET user_id = excluded.user_id, effective_at = excluded.effective_at
        RETURNING c.original_transaction_id
    ), dropped AS (
        DELETE FROM appstore.ownership_claims AS c
        WHERE c.original_transaction_id = ANY (p_contracts) AND c.environment = p_environment
          AND NOT EXISTS (SELECT FROM wanted WHERE (wanted.id, wanted.kind, wanted.source_id) = (c.original_transaction_id, c.kind, c.source_id))
        RETURNING c.original_transaction_id
    )
    SELECT coalesce(array_agg(DISTINCT changed.original_transaction_id), '{}') INTO v_changed
    FROM (TABLE made UNION ALL TABLE dropped) AS changed;
    -- Derive the users of all periods of contracts whose claims changed.
    IF cardinality(v_changed) > 0 THEN
        WITH by_period AS MATERIALIZED (
            SELECT DISTINCT t.period_no, owner.user_id
            FROM unnest(v_changed) AS changed (id)
            CROSS JOIN LATERAL (
                SELECT t.period_no FROM appstore.transactions AS t
                WHERE t.original_transaction_id = changed.id AND t.environment = p_environment OFFSET 0
            ) AS t
            CROSS JOIN LATERAL (
                SELECT known.original_transaction_id, known.paid_at FROM appstore.orders AS known
                WHERE known.order_no = t.period_no AND known.environment = p_environment AND known.period_no = known.order_no
                  AND known.original_transaction_id = changed.id OFFSET 0
            ) AS known
            LEFT JOIN LATERAL appstore.period_user(p_environment, known.original_transaction_id, known.paid_at) AS owner ON true
        )
        UPDATE appstore.orders AS o SET user_id = by_period.user_id
        FROM by_period
        WHERE o.order_no = ANY (ARRAY(SELECT by_period.period_no FROM by_period)) AND o.order_no = by_period.period_no
          AND o.environment = p_environment AND o.user_id IS DISTINCT FROM by_period.user_id;
    END IF;
    RETURN v_changed;
END
$$;

COMMENT ON FUNCTION appstore.derive_claims(p_environment appstore.environment, p_contracts text[]) IS 'Derives the claims to these contracts, and the users of the periods of those whose claims changed; returns their ids.';

CREATE FUNCTION appstore.derive_conflicts(p_environment appstore.environment, p_contracts text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH post AS MATERIALIZED (
        -- 1. The posts of these contracts.
        SELECT contract.id AS contract, p.*
        FROM unnest(p_contracts) AS contract (id)
        CROSS JOIN LATERAL (
            SELECT p.is_receipt, p.transaction_id, p.user_id, p.received_at, p.event_id, p.conflict FROM appstore.client_posts AS p
            WHERE p.original_transaction_id = contract.id AND p.environment = p_environment OFFSET 0
        ) AS p
    ), disputed AS MATERIALIZED (
        -- 2. Without the contracts that only one user posts and claims, which are most.
        SELECT posted.contract
        FROM (SELECT post.contract, min(post.user_id) AS first_user, max(post.user_id) AS last_user, bool_or(post.conflict IS NOT NULL) AS is_listed
              FROM post GROUP BY post.contract) AS posted
        CROSS JOIN LATERAL (
            SELECT min(c.user_id) AS first_user, max(c.user_id) AS last_user FROM appstore.ownership_claims AS c
            WHERE c.original_transaction_id = posted.contract AND c.environment = p_environment
        ) AS claimed
        WHERE posted.is_listed
           OR (posted.first_user, posted.last_user) IS DISTINCT FROM (claimed.first_user, claimed.last_user)
           OR claimed.first_user <> claimed.last_user
    ), refused AS (
        -- 3. Each user's first post of a purchase that another user owns, or of a family member's transaction without an owner. A consumable
        --    or a contract in a receipt counts when the post names its transaction as just made, or when the contract had another owner then
        --    as well. Excluded: posts before a later link, and contracts with a paid period without a user, which are listed themselves.
        SELECT DISTINCT ON (post.contract, post.user_id) post.contract, post.user_id, post.is_receipt, post.transaction_id,
               CASE WHEN owner.user_id IS NULL THEN 'too_late' ELSE 'owner_conflict' END AS conflict
        FROM post
        JOIN disputed ON disputed.contract = post.contract
        CROSS JOIN LATERAL (
            SELECT m.user_id, m.current_transaction_id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = post.contract AND m.environment = p_environment OFFSET 0
        ) AS m
        CROSS JOIN LATERAL (
            SELECT t.order_no, t.is_purchased, t.confers_access FROM appstore.transactions AS t
            WHERE t.transaction_id = coalesce(post.transaction_id, m.current_transaction_id) AND t.environment = p_environment
              AND t.original_transaction_id = post.contract OFFSET 0
        ) AS t
        LEFT JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o
            WHERE o.order_no = t.order_no AND o.environment = p_environment AND post.transaction_id IS NOT NULL OFFSET 0
        ) AS o ON true
        CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
        WHERE CASE WHEN post.transaction_id IS NOT NULL THEN owner.user_id <> post.user_id OR (owner.user_id IS NULL AND NOT t.is_purchased)
                   ELSE owner.user_id <> post.user_id AND t.confers_access AND post.user_id IS DISTINCT FROM (
                       SELECT c.user_id FROM appstore.ownership_claims AS c
                       WHERE c.original_transaction_id = post.contract AND c.environment = p_environment
                         AND c.effective_at <= post.received_at
                       ORDER BY c.effective_at DESC, c.kind DESC, c.source_id DESC LIMIT 1) END
          AND NOT EXISTS (SELECT FROM appstore.ownership_claims AS l
                          WHERE l.original_transaction_id = post.contract AND l.environment = p_environment AND l.kind = 'link'
                            AND l.effective_at >= post.received_at OFFSET 0)
          AND NOT EXISTS (SELECT FROM appstore.orders AS u
                          WHERE u.original_transaction_id = post.contract AND u.environment = p_environment
                            AND u.user_id IS NULL AND u.status IN ('paid', 'partly_refunded') OFFSET 0)
        ORDER BY post.contract, post.user_id, post.received_at, post.event_id, post.is_receipt, post.transaction_id
    ), changed AS MATERIALIZED (
        SELECT post.contract, post.user_id, post.is_receipt, post.transaction_id, refused.conflict
        FROM post
        JOIN disputed ON disputed.contract = post.contract
        LEFT JOIN refused ON (refused.contract, refused.user_id, refused.is_receipt) = (post.contract, post.user_id, post.is_receipt)
            AND refused.transaction_id IS NOT DISTINCT FROM post.transaction_id
        WHERE post.conflict IS DISTINCT FROM refused.conflict
    )
    UPDATE appstore.client_posts AS p SET conflict = changed.conflict
    FROM changed
    WHERE p.original_transaction_id = ANY (ARRAY(SELECT changed.contract FROM changed)) -- uses the key's index under any statistics
      AND (p.original_transaction_id, p.user_id, p.is_receipt) = (changed.contract, changed.user_id, changed.is_receipt)
      AND p.environment = p_environment AND p.transaction_id IS NOT DISTINCT FROM changed.transaction_id;
END
$$;

COMMENT ON FUNCTION appstore.derive_conflicts(p_environment appstore.environment, p_contracts text[]) IS 'Derives client_posts.conflict of these contracts, whose rows are locked and derived.';

CREATE FUNCTION appstore.derive_contracts(p_environment appstore.environment, p_contracts text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_contracts text[]; -- those that are left
BEGIN
    -- 1. Delete contracts without a charge that gives access and without any other fact.
    WITH deleted AS (
        DELETE FROM appstore.contracts AS m
        WHERE m.original_transaction_id = ANY (p_contracts) AND m.environment = p_environment AND m.renewal_signed_date IS NULL
          AND NOT EXISTS (SELECT FROM appstore.transactions AS t
                          WHERE t.original_transaction_id = m.original_transaction_id AND t.environment = p_environment AND t.confers_access OFFSET 0)
          AND NOT EXISTS (SELECT FROM appstore.v1_renewals AS l
                          WHERE l.original_transaction_id = m.original_transaction_id AND l.environment = p_environment OFFSET 0)
          AND NOT EXISTS (SELECT FROM appstore.client_posts AS p
                          WHERE p.original_transaction_id = m.original_transaction_id AND p.environment = p_environment OFFSET 0)
          AND NOT EXISTS (SELECT FROM appstore.owner_links AS l
                          WHERE l.original_transaction_id = m.original_transaction_id AND l.environment = p_environment OFFSET 0)
        RETURNING m.original_transaction_id AS id
    )
    SELECT ARRAY(SELECT unnest(p_contracts) EXCEPT SELECT deleted.id FROM deleted) INTO v_contracts;
    IF cardinality(v_contracts) = 0 THEN
        RETURN;
    END IF;
    -- 2. Owner, current charge, access. A revoked current period falls back to the newest unrevoked one that ended when it began: the refund
    --    of a renewal that was charged early does not end the period before it.
    UPDATE appstore.contracts AS m
    SET user_id = new.user_id, owner_since = new.owner_since, is_contested = new.is_contested, bundle_id = new.bundle_id,
        product_id = new.product_id, product_type = new.product_type, status = new.status, will_renew = new.will_renew,
        started_at = new.started_at, current_transaction_id = new.current_transaction_id, current_period_start = new.current_period_start,
        current_period_end = new.current_period_end, revoked_at = new.revoked_at, access_until = new.access_until
    FROM (
        SELECT renewal.place, owner.user_id, owner.effective_at AS owner_since, contested.is_contested, (current.charge).bundle_id,
               coalesce((current.charge).product_id, (renewal.register).renewal_product_id) AS product_id, (current.charge).product_type,
               appstore.renewal_status(current.charge, renewal.register, v1.register) AS status,
               CASE WHEN appstore.v1_counts(renewal.register, v1.register) THEN (v1.register).auto_renew_status
                    ELSE (renewal.register).auto_renew_status END = 1 AS will_renew,
               first.purchase_date AS started_at, (current.charge).transaction_id AS current_transaction_id,
               (current.charge).purchase_date AS current_period_start, (current.charge).expires_date AS current_period_end,
               (current.charge).revocation_date AS revoked_at,
               greatest(
                   appstore.access_until(current.charge, renewal.register, v1.register),
                   CASE WHEN (current.charge).revocation_date IS NOT NULL AND (current.charge).is_subscription THEN (
                       SELECT max(t.expires_date) FROM appstore.transactions AS t
                       WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
                         AND t.revocation_date IS NULL AND t.expires_date <= (current.charge).purchase_date)
                   END) AS access_until
        FROM unnest(v_contracts) AS contract (id)
        LEFT JOIN LATERAL (
            SELECT t AS charge FROM appstore.transactions AS t
            WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
            ORDER BY t.purchase_date DESC, t.expires_date DESC NULLS LAST, length(t.transaction_id) DESC, t.transaction_id DESC LIMIT 1
        ) AS current ON true
        LEFT JOIN LATERAL (
            SELECT t.purchase_date FROM appstore.transactions AS t
            WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
            ORDER BY t.purchase_date, t.expires_date NULLS FIRST, length(t.transaction_id), t.transaction_id LIMIT 1
        ) AS first ON true
        LEFT JOIN LATERAL (
            SELECT s AS register, s.ctid AS place FROM appstore.contracts AS s
            WHERE s.original_transaction_id = contract.id AND s.environment = p_environment OFFSET 0
        ) AS renewal ON true
        LEFT JOIN LATERAL (
            SELECT l AS register FROM appstore.v1_renewals AS l
            WHERE l.original_transaction_id = contract.id AND l.environment = p_environment
              AND l.bundle_id = (current.charge).bundle_id OFFSET 0
        ) AS v1 ON true
        LEFT JOIN LATERAL (
            SELECT c.user_id, c.effective_at FROM appstore.ownership_claims AS c
            WHERE c.original_transaction_id = contract.id AND c.environment = p_environment
            ORDER BY c.effective_at DESC, c.kind DESC, c.source_id DESC LIMIT 1
        ) AS owner ON true
        CROSS JOIN LATERAL (
            SELECT EXISTS (SELECT FROM appstore.v1_renewals AS l
                           WHERE l.original_transaction_id = contract.id AND l.environment = p_environment OFFSET 0)
                OR EXISTS (SELECT FROM appstore.client_posts AS p
                           WHERE p.original_transaction_id = contract.id AND p.environment = p_environment OFFSET 0)
                OR EXISTS (SELECT FROM appstore.transactions AS t
                           WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
                             AND t.app_account_token <> t.first_token OFFSET 0) AS is_contested
        ) AS contested
    ) AS new
    WHERE m.ctid = new.place -- the locked row that this statement has read: another look-up would read its old versions again
      AND (m.user_id, m.owner_since, m.is_contested, m.bundle_id, m.product_id, m.product_type, m.status, m.will_renew, m.started_at,
           m.current_transaction_id, m.current_period_start, m.current_period_end, m.revoked_at, m.access_until)
          IS DISTINCT FROM
          (new.user_id, new.owner_since, new.is_contested, new.bundle_id, new.product_id, new.product_type, new.status, new.will_renew,
           new.started_at, new.current_transaction_id, new.current_period_start, new.current_period_end, new.revoked_at, new.access_until);
    IF EXISTS (SELECT FROM appstore.contracts AS m
               WHERE m.original_transaction_id = ANY (v_contracts) AND m.environment = p_environment AND m.is_contested) THEN
        PERFORM appstore.derive_conflicts(p_environment, v_contracts);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.derive_contracts(p_environment appstore.environment, p_contracts text[]) IS 'Derives owner, current period, access and is_contested of these contracts, whose rows are locked, and deletes those without facts.';

CREATE FUNCTION appstore.derive_ledger(p_environment appstore.environment, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[] DEFAULT '{}'::uuid[], p_renewals text[] DEFAULT '{}'::text[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    SET jit TO 'off'
    AS $$ -- nested loops only: a plan cached for small tables would read whole indexes later
DECLARE
    v_affected         record;
    v_locked_tokens    uuid[] := '{}';
    v_locked_contracts text[] := '{}';
    v_tokens           uuid[];
    v_contracts        text[];
    v_is_told          boolean;
BEGIN
    -- 1. Lock the affected rows, until a query under the locks finds no more. Only the first round waits for locks of orders.
    LOOP
        SELECT * INTO v_affected
        FROM appstore.affected_rows(p_environment, p_transaction_ids, p_contract_ids, p_tokens, p_renewals);
        v_tokens := ARRAY(SELECT unnest(v_affected.tokens) EXCEPT SELECT unnest(v_locked_tokens) ORDER BY 1);
        v_contracts := ARRAY(SELECT unnest(v_affected.contracts) COLLATE "C" EXCEPT SELECT unnest(v_locked_contracts) COLLATE "C" ORDER BY 1);
        EXIT WHEN cardinality(v_tokens) = 0 AND cardinality(v_contracts) = 0;
        IF cardinality(v_tokens) > 0 THEN
            PERFORM appstore.lock_orders(p_environment, v_tokens, cardinality(v_locked_tokens) + cardinality(v_locked_contracts) = 0);
        END IF;
        IF cardinality(v_contracts) > 0 THEN
            PERFORM appstore.lock_contracts(p_environment, v_contracts);
        END IF;
        v_locked_tokens := v_locked_tokens || v_tokens;
        v_locked_contracts := v_locked_contracts || v_contracts;
    END LOOP;
    -- 2. Each step reads the result of the one before it.
    IF cardinality(v_affected.unsure) > 0 THEN
        PERFORM appstore.derive_token_orders(p_environment, v_affected.unsure);
    END IF;
    IF cardinality(v_affected.claimed) > 0 THEN
        PERFORM appstore.derive_claims(p_environment, v_affected.claimed);
    END IF;
    IF cardinality(v_affected.periods) > 0 THEN
        PERFORM appstore.derive_period_orders(p_environment, v_affected.periods, p_transaction_ids);
    END IF;
    IF cardinality(v_affected.contracts) > 0 THEN
        PERFORM appstore.derive_contracts(p_environment, v_affected.contracts);
    END IF;
    -- 3. Tell what may have changed; the sequencer compares it with what was told.
    v_is_told := (SELECT s.is_on FROM appstore.feed_switch AS s);
    IF v_is_told THEN
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'order', p_environment, changed.order_no::text FROM unnest(v_affected.unsure) AS changed (order_no)
        UNION ALL
        SELECT 'contract', p_environment, changed.id FROM unnest(v_affected.contracts) AS changed (id);
    END IF;
    RETURN v_is_told;
END
$$;

COMMENT ON FUNCTION appstore.derive_ledger(p_environment appstore.environment, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) IS 'Brings orders, claims and contracts up to date after changes of these transactions (p_transaction_ids), posts and links (p_contract_ids), orders made (p_tokens) and renewal registers (p_renewals). The caller has locked the contracts that it knows of. Fails with deadlock_detected where another transaction holds a row that it needs; the caller then repeats its transaction. Returns whether the feed is on.';

CREATE FUNCTION appstore.derive_period_orders(p_environment appstore.environment, p_periods uuid[], p_transaction_ids text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_moved   text[];   -- charges whose order differs
    v_foreign bigint;   -- those of them that this transaction has not written
    v_had     bigint;
BEGIN
    -- 1. Make an order under its own number for every paid period without a token. Its user is the owner of the contract at the purchase.
    INSERT INTO appstore.orders AS o (environment, order_no, user_id, status, period_no, transaction_id, original_transaction_id,
                                      web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency)
    SELECT p_environment, period.order_no, owner.user_id, paid.status, period.order_no, paid.transaction_id, paid.original_transaction_id,
           paid.web_order_line_item_id, paid.product_id, paid.paid_at, paid.quantity, paid.price, paid.currency
    FROM unnest(p_periods) AS period (order_no)
    CROSS JOIN LATERAL appstore.paid_period(p_environment, period.order_no) AS paid
    LEFT JOIN LATERAL appstore.period_user(p_environment, paid.original_transaction_id, paid.paid_at) AS owner ON true
    WHERE NOT EXISTS (
        SELECT FROM appstore.orders AS by_token
        WHERE by_token.period_no = period.order_no AND by_token.environment = p_environment AND by_token.order_no <> by_token.period_no OFFSET 0)
    ORDER BY period.order_no
    ON CONFLICT (order_no, environment) DO UPDATE
    SET user_id = excluded.user_id, status = excluded.status, transaction_id = excluded.transaction_id,
        original_transaction_id = excluded.original_transaction_id, web_order_line_item_id = excluded.web_order_line_item_id,
        paid_product_id = excluded.paid_product_id, paid_at = excluded.paid_at, quantity = excluded.quantity, price = excluded.price,
        currency = excluded.currency
    WHERE (o.user_id, o.status, o.transaction_id, o.original_transaction_id, o.web_order_line_item_id, o.paid_product_id, o.paid_at,
           o.quantity, o.price, o.currency)
          IS DISTINCT FROM
          (excluded.user_id, excluded.status, excluded.transaction_id, excluded.original_transaction_id, excluded.web_order_line_item_id,
           excluded.paid_product_id, excluded.paid_at, excluded.quantity, excluded.price, excluded.currency);
    -- 2. Delete such orders of all other periods.
    DELETE FROM appstore.orders AS needless
    WHERE needless.order_no = ANY (p_periods) AND needless.environment = p_environment AND needless.period_no = needless.order_no
      AND (EXISTS (SELECT FROM appstore.orders AS by_token
                   WHERE by_token.period_no = needless.order_no AND by_token.environment = p_environment
                     AND by_token.order_no <> by_token.period_no OFFSET 0)
           OR NOT EXISTS (SELECT FROM appstore.transactions AS t
                          WHERE t.period_no = needless.order_no AND t.environment = p_environment AND t.is_purchased OFFSET 0));
    -- 3. Point each charge to its order: the one that its own first token names, else the one that its period pays.
    SELECT coalesce(array_agg(charge.transaction_id ORDER BY charge.transaction_id), '{}'),
           count(*) FILTER (WHERE charge.transaction_id <> ALL (p_transaction_ids))
    INTO v_moved, v_foreign
    FROM unnest(p_periods) AS period (order_no)
    CROSS JOIN LATERAL (
        SELECT t.transaction_id, t.first_token, t.is_purchased, t.order_no, t.token_changed
        FROM appstore.transactions AS t WHERE t.period_no = period.order_no AND t.environment = p_environment OFFSET 0
    ) AS charge
    WHERE charge.token_changed
       OR charge.order_no IS DISTINCT FROM appstore.order_of(p_environment, period.order_no, charge.first_token, charge.is_purchased);
    IF v_foreign > 0 THEN
        -- A transaction that holds a charge will wait for its contract, which is locked here: waiting for the charge would be a deadlock.
        PERFORM FROM appstore.transactions AS t
        WHERE t.transaction_id = ANY (v_moved) AND t.environment = p_environment FOR UPDATE SKIP LOCKED;
        GET DIAGNOSTICS v_had = ROW_COUNT;
        IF v_had < cardinality(v_moved) THEN
            PERFORM appstore.give_way();
        END IF;
    END IF;
    IF cardinality(v_moved) > 0 THEN
        UPDATE appstore.transactions AS t
        SET order_no = appstore.order_of(p_environment, t.period_no, t.first_token, t.is_purchased),
            token_changed = false, left_token = NULL
        WHERE t.transaction_id = ANY (v_moved) AND t.environment = p_environment;
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.derive_period_orders(p_environment appstore.environment, p_periods uuid[], p_transaction_ids text[]) IS 'Derives the orders of these periods and points their charges to them. p_transaction_ids are the charges that this transaction has written.';

CREATE FUNCTION appstore.derive_refund_requests(environment appstore.environment, transaction_ids text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    -- Including the transactions that these requests were about until a copy named another.
    v_ids text[] := ARRAY(
        SELECT merged.id COLLATE "C" FROM unnest(derive_refund_requests.transaction_ids) AS merged (id)
        UNION
        SELECT left_by.id
        FROM unnest(derive_refund_requests.transaction_ids) AS merged (id)
        CROSS JOIN LATERAL (
            SELECT r.left_transaction_id AS id FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment
              AND r.left_transaction_id IS NOT NULL OFFSET 0
        ) AS left_by
        ORDER BY 1);
BEGIN
    PERFORM appstore.demand_read_committed();
    -- 1. Lock the rows in the order of their keys. A transaction that merges another notification of the same purchase waits here; its next
    --    statement reads what was committed meanwhile. A false WHERE locks a row and writes nothing.
    INSERT INTO appstore.consumption_obligations (environment, transaction_id)
    SELECT derive_refund_requests.environment, merged.id FROM unnest(v_ids) AS merged (id) ORDER BY merged.id COLLATE "C"
    ON CONFLICT (transaction_id, environment) DO UPDATE SET asked_at = NULL WHERE false;
    -- 2. The latest request, from its first notification on: the first one after the decision before the last one. And the latest decision since.
    UPDATE appstore.consumption_obligations AS c
    SET original_transaction_id = latest.original_transaction_id, asked_at = latest.asked_at, due_at = latest.asked_at + interval '12 hours',
        reason = latest.reason, is_advanced_commerce = coalesce(latest.is_advanced_commerce, false), outcome = latest.outcome,
        outcome_at = latest.outcome_at
    FROM unnest(v_ids) AS merged (id)
    LEFT JOIN LATERAL (
        SELECT first.original_transaction_id, first.signed_date AS asked_at, first.reason, first.is_advanced_commerce, decision.kind AS outcome,
               decision.signed_date AS outcome_at
        FROM (
            SELECT max(r.signed_date) AS signed_date FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment AND r.kind = 'asked'
        ) AS last
        CROSS JOIN LATERAL (
            SELECT r.original_transaction_id, r.signed_date, r.reason, r.is_advanced_commerce FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment AND r.kind = 'asked'
              AND r.signed_date > coalesce((
                      SELECT max(d.signed_date) FROM appstore.refund_requests AS d
                      WHERE d.transaction_id = merged.id AND d.environment = derive_refund_requests.environment AND d.kind <> 'asked'
                        AND d.signed_date < last.signed_date),
                  '-infinity')
            ORDER BY r.signed_date, r.notification_uuid LIMIT 1
        ) AS first
        LEFT JOIN LATERAL (
            SELECT r.kind, r.signed_date FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment AND r.kind <> 'asked'
              AND r.signed_date >= last.signed_date
            ORDER BY r.signed_date DESC, r.notification_uuid DESC LIMIT 1
        ) AS decision ON true
    ) AS latest ON true
    WHERE c.transaction_id = ANY (v_ids) AND c.transaction_id = merged.id
      AND c.environment = derive_refund_requests.environment
      AND (c.original_transaction_id, c.asked_at, c.reason, c.is_advanced_commerce, c.outcome, c.outcome_at)
          IS DISTINCT FROM (latest.original_transaction_id, latest.asked_at, latest.reason, coalesce(latest.is_advanced_commerce, false),
                            latest.outcome, latest.outcome_at);
    -- 3. Delete the rows of copies that do not count.
    DELETE FROM appstore.consumption_obligations AS c
    WHERE c.transaction_id = ANY (v_ids) AND c.environment = derive_refund_requests.environment AND c.asked_at IS NULL
      AND NOT EXISTS (SELECT FROM appstore.refund_requests AS r
                      WHERE r.transaction_id = c.transaction_id AND r.environment = c.environment OFFSET 0);
    -- 4. Discard answers that wait to be sent: Apple has decided. A decision that is made concurrently waits for the lock and sees it.
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'apple_decided', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_id = ANY (ARRAY(
            SELECT d.call_id FROM appstore.consumption_obligations AS c
            CROSS JOIN LATERAL (
                SELECT d.call_id FROM appstore.consumption_decisions AS d
                WHERE d.transaction_id = c.transaction_id AND d.environment = c.environment AND d.call_id IS NOT NULL AND d.result IS NULL
                  AND (c.outcome IS NOT NULL OR d.decided_at < c.asked_at) OFFSET 0
            ) AS d
            WHERE c.transaction_id = ANY (v_ids) AND c.environment = derive_refund_requests.environment AND c.asked_at IS NOT NULL
            ORDER BY d.call_id))
      AND (o.state = 'open') IS TRUE;
END
$$;

COMMENT ON FUNCTION appstore.derive_refund_requests(environment appstore.environment, transaction_ids text[]) IS 'Brings consumption_obligations up to date for these transactions, after rows of refund_requests about them were merged. Discards the calls that would answer requests which Apple has decided.';

CREATE FUNCTION appstore.derive_token_orders(p_environment appstore.environment, p_tokens uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- 1. Delete orders that the shop did not make and no first token names any more, and their twins: only a later token named them.
    DELETE FROM appstore.orders AS unmade
    WHERE unmade.order_no = ANY (p_tokens) AND unmade.environment = p_environment
      AND (unmade.ordered_at IS NULL OR p_environment = 'Sandbox') AND (unmade.period_no IS NULL OR unmade.order_no <> unmade.period_no)
      AND NOT EXISTS (SELECT FROM appstore.transactions AS t
                      WHERE t.first_token = unmade.order_no AND t.environment = p_environment AND t.is_purchased OFFSET 0);
    -- 2. Update the others from their payer.
    UPDATE appstore.orders AS o
    SET status = new.status, reason = new.reason, period_no = new.period_no, transaction_id = new.transaction_id,
        original_transaction_id = new.original_transaction_id, web_order_line_item_id = new.web_order_line_item_id,
        paid_product_id = new.product_id, paid_at = new.paid_at, quantity = new.quantity, price = new.price, currency = new.currency
    FROM (
        SELECT token.order_no, coalesce(paid.status, 'pending') AS status,
               CASE WHEN payer.period_no IS NULL AND EXISTS (
                        SELECT FROM appstore.transactions AS t
                        WHERE t.first_token = token.order_no AND t.environment = p_environment AND t.is_purchased OFFSET 0)
                    THEN 'product_mismatch' END AS reason,
               payer.period_no, paid.transaction_id, paid.original_transaction_id, paid.web_order_line_item_id, paid.product_id, paid.paid_at,
               paid.quantity, paid.price, paid.currency
        FROM unnest(p_tokens) AS token (order_no)
        LEFT JOIN LATERAL appstore.payer(p_environment, token.order_no) AS payer ON true
        LEFT JOIN LATERAL appstore.paid_period(p_environment, payer.period_no) AS paid ON true
    ) AS new
    WHERE o.order_no = ANY (p_tokens) AND o.order_no = new.order_no AND o.environment = p_environment
      AND (o.status, o.reason, o.period_no, o.transaction_id, o.original_transaction_id, o.web_order_line_item_id, o.paid_product_id,
           o.paid_at, o.quantity, o.price, o.currency)
          IS DISTINCT FROM
          (new.status, new.reason, new.period_no, new.transaction_id, new.original_transaction_id, new.web_order_line_item_id, new.product_id,
           new.paid_at, new.quantity, new.price, new.currency);
END
$$;

COMMENT ON FUNCTION appstore.derive_token_orders(p_environment appstore.environment, p_tokens uuid[]) IS 'Derives the orders with these tokens, whose rows are locked, from the periods that pay them.';

CREATE FUNCTION appstore.disable_feed() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
DECLARE
    v_dropped bigint;
    v_readers text;
BEGIN
    PERFORM appstore.demand_read_committed();
    LOCK TABLE appstore.feed_switch IN ACCESS EXCLUSIVE MODE;
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RAISE NOTICE 'the feed is off';
        RETURN;
    END IF;
    v_readers := (SELECT string_agg(r.name, ', ' ORDER BY r.name)
                  FROM (SELECT 'endpoint ' || e.name FROM appstore.endpoints AS e
                        UNION ALL SELECT 'consumer ' || c.name FROM appstore.feed_consumers AS c) AS r (name));
    IF v_readers IS NOT NULL THEN
        RAISE EXCEPTION 'the feed is read by %', v_readers USING ERRCODE = 'object_not_in_prerequisite_state', HINT =
            'They would miss what is not told. Remove them first: appstore.remove_endpoint(…), appstore.remove_consumer(…).';
    END IF;
    SELECT count(*) INTO v_dropped FROM appstore.tells;
    IF v_dropped > 0 THEN
        RAISE NOTICE '% changes have no position yet and are not told', v_dropped;
    END IF;
    UPDATE appstore.feed_switch SET is_on = false;
    TRUNCATE appstore.tells, appstore.told_access, appstore.told_orders;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids) VALUES (clock_timestamp(), appstore.actor(), 'disable_feed', '{}');
END
$$;

COMMENT ON FUNCTION appstore.disable_feed() IS 'Turns the feed off. What is in it stays until it ages; what was not numbered yet is dropped. enable_feed starts a new generation. Fails while there are endpoints.';

CREATE PROCEDURE appstore.discard_all(IN why text, IN result appstore.result DEFAULT NULL::appstore.result, IN reason text DEFAULT NULL::text, IN notification_type text DEFAULT NULL::text, IN subtype text DEFAULT NULL::text, IN environment appstore.environment DEFAULT NULL::appstore.environment, IN bundle_id text DEFAULT NULL::text, IN received_from timestamp with time zone DEFAULT NULL::timestamp with time zone, IN received_before timestamp with time zone DEFAULT NULL::timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
BEGIN
    CALL appstore.repair_all(
        'discard', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before), why);
END
$$;

COMMENT ON PROCEDURE appstore.discard_all(IN why text, IN result appstore.result, IN reason text, IN notification_type text, IN subtype text, IN environment appstore.environment, IN bundle_id text, IN received_from timestamp with time zone, IN received_before timestamp with time zone) IS 'Discards all failed, rejected and unhandled events that meet every given condition and were settled before the call. It commits every 1,000 events and can be ended and repeated. Call it outside of a transaction and without a statement_timeout.';

CREATE FUNCTION appstore.discard_event(event_id bigint, reason text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_queued appstore.inbox_queue;
BEGIN
    IF coalesce(btrim(reason), '') = '' THEN
        RAISE EXCEPTION 'a discard needs a reason' USING ERRCODE = 'invalid_parameter_value', HINT = 'It becomes the reason of the outcome.';
    END IF;
    SELECT q.* INTO v_queued FROM appstore.inbox_queue AS q WHERE q.event_id = discard_event.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(), v_queued.run, v_queued.attempts, 'discarded', discard_event.reason,
               v_queued.last_error
        FROM appstore.inbox AS i WHERE i.event_id = discard_event.event_id;
        DELETE FROM appstore.inbox_queue AS q WHERE q.event_id = discard_event.event_id;
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
        VALUES (clock_timestamp(), appstore.actor(), 'discard', ARRAY[discard_event.event_id], discard_event.reason);
    ELSIF EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = discard_event.event_id) THEN
        RETURN appstore.repair_held(event_id);
    ELSIF appstore.repair_outcomes('discard', ARRAY[event_id], 'infinity', '0', reason, NULL) = '{}' THEN
        RAISE EXCEPTION 'event % is neither waiting nor failed, rejected or unhandled', event_id USING ERRCODE = 'no_data_found', HINT =
            coalesce((SELECT format('Its result is %s, which a discard cannot undo.', o.result)
                      FROM appstore.outcomes AS o WHERE o.event_id = discard_event.event_id), 'There is no such event.');
    END IF;
    RETURN 1;
END
$$;

COMMENT ON FUNCTION appstore.discard_event(event_id bigint, reason text) IS 'Discards an event that waits, failed, was rejected or unhandled: it does not run again. Its body may be gone. Returns 1, or 0 with a notice when a worker holds it. The reason is kept for ever: appstore.forget does not erase it.';

CREATE FUNCTION appstore.discard_events(why text, result appstore.result DEFAULT NULL::appstore.result, reason text DEFAULT NULL::text, notification_type text DEFAULT NULL::text, subtype text DEFAULT NULL::text, environment appstore.environment DEFAULT NULL::appstore.environment, bundle_id text DEFAULT NULL::text, received_from timestamp with time zone DEFAULT NULL::timestamp with time zone, received_before timestamp with time zone DEFAULT NULL::timestamp with time zone, max_events integer DEFAULT 1000, dry_run boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.repair_events(
        'discard', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before),
        max_events, dry_run, why);
END
$$;

COMMENT ON FUNCTION appstore.discard_events(why text, result appstore.result, reason text, notification_type text, subtype text, environment appstore.environment, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean) IS 'Discards the failed, rejected and unhandled events that meet every given condition, at most max_events (1 to 1,000), and returns how many. why becomes their reason. dry_run only counts them, all of them when max_events is null. appstore.discard_all takes all.';

CREATE FUNCTION appstore.discard_waiting_posts(posts bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
BEGIN
    LOOP
        PERFORM FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (posts) ORDER BY q.event_id FOR UPDATE;
        WITH ended AS (
            DELETE FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (posts) RETURNING q.event_id, q.run, q.attempts
        )
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(), ended.run, ended.attempts, 'discarded', 'forgotten'
        FROM ended CROSS JOIN LATERAL (
            SELECT i.event_id, i.source, i.received_at FROM appstore.inbox AS i WHERE i.event_id = ended.event_id OFFSET 0
        ) AS i;
        PERFORM FROM appstore.outcomes AS o WHERE o.event_id = ANY (posts) ORDER BY o.event_id FOR UPDATE;
        EXIT WHEN NOT EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (posts));
    END LOOP;
END
$$;

COMMENT ON FUNCTION appstore.discard_waiting_posts(posts bigint[]) IS 'Discards those of the events that wait, and locks the outcomes of all, so that none can run or be requeued before the end of the transaction. Waits for a worker that holds one.';

CREATE FUNCTION appstore.drop_aged_partition() RETURNS TABLE(did text, partition text, events bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    c_checked  CONSTANT integer := 50000; -- the most events that a step checks
    c_kept     CONSTANT integer := 100;   -- the most events that move to the default partition
    c_repaired CONSTANT integer := 10000; -- the most repairs since the check began that are read under the lock
    c_overlap  CONSTANT interval := '1 hour';
    v_now      timestamptz := clock_timestamp();
    v_ages     appstore.retention;
    v_part     record;
    v_state    appstore.maintenance_state;
    v_checked  bigint;
    v_lowest   bigint;
    v_kept     bigint[];
    v_did      text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'drop_aged_partition works in READ COMMITTED only' USING ERRCODE = 'invalid_transaction_state', HINT =
            'It must see what others committed before it got their lock.';
    ELSIF NOT appstore.maintenance_lock() THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT * FROM appstore.drop_detached_partition();
    IF FOUND THEN
        RETURN;
    END IF;

    -- 1. Find the first partition that gets no new events and whose age is limited. Outcomes are dropped when all bodies of their events are
    --    gone: then no event waits or can be requeued.
    SELECT r.* INTO v_ages FROM appstore.retention AS r;
    SELECT p.parent, p.partition, p.from_id, p.to_id, v_now - CASE p.parent WHEN 'inbox' THEN v_ages.bodies ELSE v_ages.outcomes END AS cutoff
    INTO v_part
    FROM appstore.inbox_partitions AS p LEFT JOIN appstore.maintenance_state AS s ON s.task = p.partition
    WHERE p.is_past AND coalesce(s.not_before, '-infinity') <= v_now
      AND CASE p.parent WHEN 'inbox' THEN v_ages.bodies IS NOT NULL
                        ELSE v_ages.outcomes IS NOT NULL
                             AND NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id >= p.from_id AND i.event_id < p.to_id) END
    ORDER BY p.parent, p.from_id LIMIT 1;
    IF v_part.partition IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO appstore.maintenance_state AS s (task, started_at, event_id) VALUES (v_part.partition, v_now, v_part.to_id)
    ON CONFLICT (task) DO UPDATE
    SET started_at = excluded.started_at, event_id = excluded.event_id, kept = '{}', not_before = '-infinity' WHERE s.not_before > '-infinity';
    SELECT s.* INTO v_state FROM appstore.maintenance_state AS s WHERE s.task = v_part.partition;

    -- 2. Check the next events in descending order: the youngest events, which keep the partition, are found first.
    EXECUTE format(
        'SELECT count(*), min(c.event_id), coalesce(array_agg(c.event_id) FILTER (WHERE NOT c.has_aged), ''{}'') '
        'FROM (SELECT p.event_id, %s AS has_aged FROM appstore.%I AS p WHERE p.event_id < $2 ORDER BY p.event_id DESC LIMIT $3) AS c',
        CASE v_part.parent WHEN 'outcomes' THEN 'p.settled_at < $1'
             ELSE 'EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = p.event_id AND o.settled_at < $1 OFFSET 0)' END,
        v_part.partition)
    INTO v_checked, v_lowest, v_kept USING v_part.cutoff, v_state.event_id, c_checked;
    v_kept := v_state.kept || v_kept;
    v_did := CASE
        WHEN cardinality(v_kept) > c_kept
             OR EXISTS (SELECT FROM appstore.outcome_history AS h WHERE h.replaced_at >= v_state.started_at - c_overlap
                        ORDER BY h.replaced_at OFFSET c_repaired - 1 LIMIT 1) THEN 'postponed'
        WHEN v_checked = c_checked THEN 'checked'
        ELSE 'detached' END;

    -- 3. Under an exclusive lock, add the events that were repaired since the check began. A requeue reads the inbox. Earlier requeues have
    --    committed when the lock is granted: their events are in the queue or, if they have run again, in the history. Later ones wait, and
    --    find no body. A discard also writes the history, where it is found unless its transaction took longer than c_overlap.
    IF v_did = 'detached' THEN
        EXECUTE format('LOCK TABLE ONLY appstore.%I IN ACCESS EXCLUSIVE MODE', v_part.parent);
        v_kept := ARRAY(
            SELECT unnest(v_kept)
            UNION SELECT q.event_id FROM appstore.inbox_queue AS q WHERE q.event_id >= v_part.from_id AND q.event_id < v_part.to_id
            UNION SELECT h.event_id FROM appstore.outcome_history AS h
            WHERE h.replaced_at >= v_state.started_at - c_overlap AND h.event_id >= v_part.from_id AND h.event_id < v_part.to_id);
        v_did := CASE WHEN cardinality(v_kept) > c_kept THEN 'postponed' ELSE 'detached' END;
    END IF;
    RETURN QUERY SELECT v_did, v_part.partition, cardinality(v_kept)::bigint;
    IF v_did = 'checked' THEN
        UPDATE appstore.maintenance_state AS s SET event_id = v_lowest, kept = v_kept WHERE s.task = v_part.partition;
        RETURN;
    ELSIF v_did = 'postponed' THEN
        UPDATE appstore.maintenance_state AS s SET not_before = v_now + interval '1 hour', kept = '{}' WHERE s.task = v_part.partition;
        RETURN;
    END IF;

    -- 4. Detach it.
    DELETE FROM appstore.maintenance_state AS s WHERE s.task = v_part.partition;
    EXECUTE format('ALTER TABLE appstore.%I DETACH PARTITION appstore.%I', v_part.parent, v_part.partition);
    EXECUTE format('INSERT INTO appstore.%I SELECT p.* FROM appstore.%I AS p WHERE p.event_id = ANY ($1)', v_part.parent, v_part.partition)
    USING v_kept;
    EXECUTE format('ALTER TABLE appstore.%I RENAME TO %I', v_part.partition, 'aged_' || v_part.partition);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, 'retention', 'drop_partition', '{}',
            jsonb_build_object('partition', v_part.partition, 'from', v_part.from_id, 'to', v_part.to_id, 'kept', cardinality(v_kept)));
END
$_$;

COMMENT ON FUNCTION appstore.drop_aged_partition() IS 'Takes the next step to drop a partition of the inbox, or of the outcomes, whose events have aged: checks a part of it; when the whole of it has at most 100 events to keep, moves these to the default partition and detaches it; the next call drops it. Returns checked, postponed, detached, expired or dropped, with the number of events, or no row. Detaching locks the table exclusively for milliseconds; the call fails after 100 ms (55P03) without any change.';

CREATE FUNCTION appstore.drop_detached_partition() RETURNS TABLE(did text, partition text, events bigint)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_name  text := (SELECT c.relname FROM pg_class AS c
                     WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'aged\_%' ORDER BY c.relname LIMIT 1);
    v_first bigint;
    v_last  bigint;
    v_ids   bigint[];
BEGIN
    IF v_name IS NULL THEN
        RETURN;
    ELSIF v_name LIKE 'aged\_outcomes\_%' THEN
        -- Delete the rows that belong to the outcomes first, step by step. Outcomes that must be kept are in the default partition.
        EXECUTE format('SELECT min(p.event_id), max(p.event_id) FROM appstore.%I AS p', v_name) INTO v_first, v_last;
        v_ids := ARRAY(
            SELECT a.event_id
            FROM (SELECT h.event_id FROM appstore.outcome_history AS h WHERE h.event_id BETWEEN v_first AND v_last
                  UNION ALL
                  SELECT e.event_id FROM appstore.event_contracts AS e WHERE e.event_id BETWEEN v_first AND v_last) AS a
            WHERE NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = a.event_id OFFSET 0)
            LIMIT 5000);
        IF v_ids <> '{}' THEN
            DELETE FROM appstore.outcome_history AS h WHERE h.event_id = ANY (v_ids);
            DELETE FROM appstore.event_contracts AS e WHERE e.event_id = ANY (v_ids);
            RETURN QUERY SELECT 'expired', substr(v_name, 6), cardinality(v_ids)::bigint;
            RETURN;
        END IF;
    END IF;
    EXECUTE format('DROP TABLE appstore.%I', v_name);
    RETURN QUERY SELECT 'dropped', substr(v_name, 6), 0::bigint;
END
$$;

COMMENT ON FUNCTION appstore.drop_detached_partition() IS 'Drops a partition that was detached; of outcomes first their history and contracts, at most 5,000 in a step. Returns what it did, or no row.';

CREATE FUNCTION appstore.effect_entries(p_kinds text[], p_refs text[], p_now timestamp with time zone) RETURNS TABLE(place bigint, entry appstore.feed)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL, e.effect_id, 'effect.' || e.kind, e.environment, coalesce(t.bundle_id, m.bundle_id, e.vouched_bundle_id),
               e.original_transaction_id,
               coalesce(o.user_id, CASE WHEN e.vouched_bundle_id IS NULL OR m.bundle_id = e.vouched_bundle_id THEN m.user_id END), NULL,
               e.occurred_at, p_now,
               jsonb_build_object(
                   'effect_subject', e.subject, 'learned_at', e.recorded_at, 'product_id', e.product_id, 'event_id', e.event_id::text,
                   'transaction', CASE WHEN t.transaction_id IS NOT NULL THEN jsonb_build_object(
                       'transaction_id', t.transaction_id, 'web_order_line_item_id', t.web_order_line_item_id, 'product_id', t.product_id,
                       'product_type', t.product_type, 'purchased_at', t.purchase_date, 'expires_at', t.expires_date, 'quantity', t.quantity,
                       'price_milliunits', t.price, 'currency', t.currency, 'storefront', t.storefront, 'offer_type', t.offer_type,
                       'offer_discount_type', t.offer_discount_type, 'ownership', t.in_app_ownership_type, 'reason', t.transaction_reason,
                       'revoked_at', t.revocation_date, 'revoked_percentage', t.revocation_percentage) END,
                   'order', CASE WHEN o.order_no IS NOT NULL THEN jsonb_build_object('no', o.order_no, 'status', o.status) END,
                   'renewal', CASE WHEN m.status IS NOT NULL THEN jsonb_build_object(
                       'status', m.status, 'will_renew', m.will_renew, 'renews_as', m.auto_renew_product_id,
                       'grace_until', m.grace_period_expires_date) END,
                   'access', coalesce((
                       SELECT jsonb_agg(jsonb_build_object('entitlement', a.entitlement, 'active', a.active, 'why', a.why,
                                                           'until', CASE WHEN isfinite(a.until) THEN a.until END) ORDER BY a.entitlement)
                       FROM appstore.access_of(e.environment, e.original_transaction_id, p_now) AS a), '[]')))::appstore.feed
    FROM unnest(p_kinds, p_refs) WITH ORDINALITY AS tell (kind, ref, place)
    CROSS JOIN LATERAL (SELECT e.* FROM appstore.effect_log AS e WHERE e.effect_id = tell.ref::uuid OFFSET 0) AS e
    LEFT JOIN LATERAL (
        SELECT t.* FROM appstore.transactions AS t WHERE t.transaction_id = e.transaction_id AND t.environment = e.environment OFFSET 0
    ) AS t ON true
    LEFT JOIN LATERAL (
        SELECT o.order_no, o.status, o.user_id FROM appstore.orders AS o
        WHERE o.order_no = t.order_no AND o.environment = e.environment OFFSET 0
    ) AS o ON true
    LEFT JOIN LATERAL (
        SELECT m.* FROM appstore.contracts AS m
        WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = e.environment OFFSET 0
    ) AS m ON true
    WHERE tell.kind = 'effect';
END
$$;

COMMENT ON FUNCTION appstore.effect_entries(p_kinds text[], p_refs text[], p_now timestamp with time zone) IS 'The entries of effects: the order and the user of now, the charge, the state of the renewal, and the access that the contract gives.';

CREATE FUNCTION appstore.enable_feed(with_past boolean DEFAULT false) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    AS $$
DECLARE
    v_now        timestamptz := clock_timestamp();
    v_generation integer;
BEGIN
    PERFORM appstore.demand_read_committed();
    LOCK TABLE appstore.feed_switch IN ACCESS EXCLUSIVE MODE;
    IF (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RAISE NOTICE 'the feed is on';
        RETURN (SELECT h.generation FROM appstore.feed_head AS h);
    END IF;
    UPDATE appstore.feed_switch SET is_on = true;
    UPDATE appstore.feed_head AS h
    SET generation = appstore.next_generation(h.generation), cluster = appstore.feed_cluster(), told_snapshot = NULL, target_snapshot = NULL, enabled_at = v_now,
        turned_to = '-infinity'
    RETURNING h.generation INTO v_generation;
    INSERT INTO appstore.feed_generations (generation, from_position, began_at, is_complete)
    SELECT v_generation, h.position + 1, v_now, with_past FROM appstore.feed_head AS h;
    IF with_past THEN
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'effect', e.environment, e.effect_id::text FROM appstore.effect_log AS e ORDER BY e.occurred_at, e.event_id, e.effect_id;
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'order', o.environment, o.order_no::text FROM appstore.orders AS o
        WHERE o.ordered_at IS NOT NULL AND o.status <> 'pending' ORDER BY o.paid_at, o.order_no;
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'contract', m.environment, m.original_transaction_id FROM appstore.contracts AS m
        WHERE m.user_id IS NOT NULL ORDER BY m.started_at, m.original_transaction_id;
    ELSE
        INSERT INTO appstore.told_access (environment, original_transaction_id, entitlement, user_id, active, until, why, turns_at, changes)
        SELECT m.environment, m.original_transaction_id, a.entitlement, a.user_id, a.active, a.until, a.why, a.turns_at, 0
        FROM appstore.contracts AS m
        CROSS JOIN LATERAL appstore.access_of(m.environment, m.original_transaction_id, v_now) AS a
        WHERE m.user_id IS NOT NULL;
        INSERT INTO appstore.told_orders (environment, order_no, status, changes)
        SELECT o.environment, o.order_no, o.status, 0 FROM appstore.orders AS o WHERE o.ordered_at IS NOT NULL AND o.status <> 'pending';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'enable_feed', '{}', jsonb_build_object('generation', v_generation, 'with_past', with_past));
    RETURN v_generation;
END
$$;

COMMENT ON FUNCTION appstore.enable_feed(with_past boolean) IS 'Turns the feed on and returns its generation. From now, or, with_past, with all effects of the past first, in the order in which they happened, then the orders and the access of now. Reads the whole ledger, while workers and create_order wait, up to their lock_timeout, after which they fail and try again: SET statement_timeout = 0 for a large one.';

CREATE FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_argument(state IN ('refused', 'given_up'), format('state %L does not end a call without an answer', state),
                                    'States are refused and given_up.');
    UPDATE appstore.outbox AS c
    SET state = end_call.state, reason = end_call.reason, settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1
    WHERE c.call_id = end_call.call_id AND c.epoch = end_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF falls_back THEN
        PERFORM appstore.fall_back(ARRAY[end_call.call_id]);
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) IS 'Settles a call without an answer, and uses its fallback unless Apple refused the receipt. Returns false, without effect, when the lease of that epoch has been lost.';

CREATE FUNCTION appstore.end_consent(user_id text, actor text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_ended boolean;
BEGIN
    -- A decision that relies on the consent holds a lock on its row, or finds it withdrawn.
    PERFORM appstore.demand_read_committed();
    UPDATE appstore.consents AS k SET withdrawn_at = greatest(clock_timestamp(), k.given_at), withdrawn_by = actor
    WHERE k.user_id = end_consent.user_id AND k.withdrawn_at IS NULL;
    v_ended := FOUND;
    -- Also those whose consent only the evidence of a decision tells.
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'consent_withdrawn', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_id = ANY (ARRAY( -- OFFSET 0: for the order, the planner would read the calls of all users
        SELECT d.call_id
        FROM (SELECT d.call_id, d.result FROM appstore.consumption_decisions AS d WHERE d.user_id = end_consent.user_id OFFSET 0) AS d
        WHERE d.call_id IS NOT NULL AND d.result IS NULL ORDER BY d.call_id))
      AND (o.state = 'open') IS TRUE;
    RETURN v_ended OR FOUND;
END
$$;

COMMENT ON FUNCTION appstore.end_consent(user_id text, actor text) IS 'Ends the consent of a user and discards the answers that wait to be sent; false where there is neither.';

CREATE FUNCTION appstore.end_console_session(session_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_person text;
BEGIN
    UPDATE appstore.console_sessions AS s SET ended_at = v_now, ended_by = appstore.actor()
    WHERE s.session_id = end_console_session.session_id AND s.ended_at IS NULL AND s.expires_at > v_now
    RETURNING s.person INTO v_person;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (v_now, appstore.actor(), 'end_console_session', '{}', v_person, jsonb_build_object('session_id', end_console_session.session_id));
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.end_console_session(session_id bigint) IS 'Ends a session of the console. Returns false when there is none that lives.';

CREATE FUNCTION appstore.end_import(p_import_id integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE appstore.imports AS r SET state = 'done', ended_at = clock_timestamp()
    WHERE r.import_id = p_import_id AND r.state = 'running' AND r.next_line > r.last_line
      AND NOT EXISTS (SELECT FROM appstore.import_chunks AS c WHERE c.import_id = p_import_id);
END
$$;

COMMENT ON FUNCTION appstore.end_import(p_import_id integer) IS 'An import that runs is done when its lines have been cut into chunks and none of these is left. Call it under the lock of the import.';

CREATE FUNCTION appstore.end_import_lease(p_import_id integer, p_first_line integer, p_epoch bigint, p_reason text, p_delay interval, p_counts boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_chunk appstore.import_chunks;
    v_items record;
    v_phase text;
BEGIN
    SELECT c.* INTO v_chunk FROM appstore.import_chunks AS c
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line AND c.epoch = p_epoch FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT count(*) FILTER (WHERE i.state = 'open') AS open, count(*) FILTER (WHERE i.state = 'again') AS again,
           count(*) FILTER (WHERE i.state IN ('found', 'covered') AND i.user_id IS NOT NULL AND i.reason IS NULL) AS unlinked,
           bool_or(i.state = 'open' AND i.environment = 'Production') AS open_in_production,
           bool_or(i.state = 'again' AND i.environment = 'Production') AS again_in_production,
           bool_or(i.state IN ('open', 'again') AND i.environment = v_chunk.environment) AS is_left
    INTO v_items
    FROM appstore.import_items AS i
    WHERE i.import_id = p_import_id AND i.line >= p_first_line AND i.line < v_chunk.end_line;
    v_phase := CASE WHEN v_items.open > 0 THEN 'ask' WHEN v_items.again > 0 THEN 'again' WHEN v_items.unlinked > 0 THEN 'link' END;
    IF v_phase IS NULL THEN
        PERFORM appstore.remove_import_chunk(v_chunk);
        RETURN true;
    END IF;
    -- A day is begun once: asked again, a chunk stays in this phase.
    UPDATE appstore.import_chunks AS c
    SET phase = v_phase, waiting = v_items.again, is_leased = false,
        last_error = CASE WHEN v_phase = c.phase THEN p_reason END, silent_since = CASE WHEN v_phase = c.phase THEN c.silent_since END,
        link_at = CASE WHEN v_items.unlinked > 0 THEN least(c.link_at, v_now) END,
        failures = CASE WHEN p_reason IS NULL AND NOT p_counts THEN 0 ELSE c.failures + p_counts::integer END,
        environment = CASE WHEN CASE v_phase WHEN 'again' THEN v_items.again_in_production ELSE v_items.open_in_production END
                           THEN 'Production' ELSE 'Sandbox' END::appstore.environment,
        run_at = CASE WHEN v_phase = 'again' AND c.phase <> 'again' THEN v_now + interval '1 day'
                      WHEN v_items.is_left THEN v_now + p_delay ELSE v_now END
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line;
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.end_import_lease(p_import_id integer, p_first_line integer, p_epoch bigint, p_reason text, p_delay interval, p_counts boolean) IS 'Ends a lease: the chunk is due again after p_delay where items of its environment are left, a day later where only those are that Apple did not know; it is removed when all are settled and no user waits. With p_counts it is a failure. False when another lease has begun.';

CREATE FUNCTION appstore.endpoint_entries(p_kinds text[], p_refs text[], p_told_at timestamp with time zone[], p_now timestamp with time zone) RETURNS TABLE(place bigint, entry appstore.feed)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL, appstore.feed_id(jsonb_build_array(tell.kind, tell.told_at, tell.ref)),
               CASE tell.kind WHEN 'test' THEN 'test' ELSE 'endpoint.disabled' END, NULL, NULL, NULL, NULL, NULL, tell.told_at, p_now,
               jsonb_build_object('endpoint', split_part(tell.ref, ' ', 1))
                   || CASE tell.kind WHEN 'test' THEN '{}'
                           ELSE jsonb_build_object('why', substr(tell.ref, strpos(tell.ref, ' ') + 1)) END)::appstore.feed
    FROM unnest(p_kinds, p_refs, p_told_at) WITH ORDINALITY AS tell (kind, ref, told_at, place)
    WHERE tell.kind IN ('test', 'disabled');
END
$$;

COMMENT ON FUNCTION appstore.endpoint_entries(p_kinds text[], p_refs text[], p_told_at timestamp with time zone[], p_now timestamp with time zone) IS 'The entries test, with the id that appstore.test_endpoint returned, and endpoint.disabled.';

CREATE FUNCTION appstore.endpoint_named(p_name text) RETURNS appstore.endpoints
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_endpoint appstore.endpoints;
BEGIN
    SELECT e.* INTO v_endpoint FROM appstore.endpoints AS e WHERE e.name = p_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no endpoint %', quote_nullable(p_name) USING ERRCODE = 'no_data_found', HINT =
            coalesce((SELECT 'Endpoints are ' || string_agg(e.name, ', ' ORDER BY e.name) || '.' FROM appstore.endpoints AS e),
                     'There is none yet: SELECT appstore.make_endpoint(…).');
    END IF;
    RETURN v_endpoint;
END
$$;

COMMENT ON FUNCTION appstore.endpoint_named(p_name text) IS 'The endpoint of that name. Fails with no_data_found.';

CREATE FUNCTION appstore.endpoint_statistics() RETURNS TABLE(name text, state text, lag bigint, oldest_undelivered_seconds double precision, open_deliveries bigint, given_up bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    RETURN QUERY
    SELECT s.name, s.state, s.lag, extract(epoch FROM s.oldest_undelivered)::double precision, s.open, s.given_up FROM appstore.endpoint_status AS s;
END
$$;

COMMENT ON FUNCTION appstore.endpoint_statistics() IS 'Each endpoint in numbers: how many entries are behind its cursor, since when the oldest one that it has not got was told, and what is open or given up, up to 10,000.';

CREATE FUNCTION appstore.endpoint_wants(e appstore.endpoints, f appstore.feed) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN f.type = 'test' THEN f.data ->> 'endpoint' = e.name
                ELSE appstore.feed_wants(
                    f.type, f.environment, f.bundle_id,
                    CASE WHEN e.format = 'event' THEN e.types
                         WHEN e.with_wrong_bundle THEN '{notification.received,notification.rejected}' ELSE '{notification.received}' END,
                    e.bundle_ids, e.environments) END
$$;

COMMENT ON FUNCTION appstore.endpoint_wants(e appstore.endpoints, f appstore.feed) IS 'Whether an endpoint gets an entry. A test is for the endpoint that it names.';

CREATE FUNCTION appstore.entitlements_at(at timestamp with time zone) RETURNS SETOF appstore.entitlement
    LANGUAGE sql STABLE
    AS $$
    SELECT e.environment, e.user_id, e.product_id, e.entitlement, coalesce(at < e.until, false), e.until,
           CASE WHEN at < e.until THEN CASE WHEN at >= e.grace_from THEN 'grace_period' ELSE 'active' END ELSE e.why_ended END,
           coalesce(at >= e.grace_from AND at < e.until, false),
           e.will_renew, e.original_transaction_id, e.bundle_id
    FROM appstore.entitlement_terms AS e
    WHERE e.user_id IS NOT NULL
$$;

COMMENT ON FUNCTION appstore.entitlements_at(at timestamp with time zone) IS 'The entitlements of each user at an instant, active and ended, by the facts known today.';

CREATE FUNCTION appstore.entries_about(environment appstore.environment, original_transaction_id text) RETURNS TABLE(occurred_at timestamp with time zone, learned_at timestamp with time zone, event_id bigint, what text, transaction_id text, product_id text, order_no uuid, user_id text, detail text)
    LANGUAGE sql STABLE
    AS $$
    -- The planner expects a contract to have few charges. Where there may be hundreds, they are looked up by an index, which is never quadratic.
    WITH charge AS MATERIALIZED ( -- 1. the contract's charges
        SELECT t.*, 'price=' || trim_scale(t.price / 1000.0) || coalesce(' ' || t.currency, '') AS cost
        FROM appstore.transactions AS t
        WHERE t.environment = entries_about.environment AND t.original_transaction_id = entries_about.original_transaction_id
    ), effect AS MATERIALIZED (
        -- 2. Effects and their events. A requeued event has its outcome in the history until it runs again.
        SELECT e.*, coalesce(o.received_at, h.received_at, e.recorded_at) AS learned_at,
               coalesce(o.notification_type, h.notification_type) || coalesce('/' || coalesce(o.subtype, h.subtype), '') AS type
        FROM appstore.effects AS e
        LEFT JOIN LATERAL (
            SELECT o.received_at, o.notification_type, o.subtype FROM appstore.outcomes AS o WHERE o.event_id = e.event_id OFFSET 0
        ) AS o ON true
        LEFT JOIN LATERAL (
            SELECT h.received_at, h.notification_type, h.subtype
            FROM appstore.outcome_history AS h WHERE h.event_id = e.event_id ORDER BY h.run DESC LIMIT 1
        ) AS h ON true
        WHERE e.environment = entries_about.environment AND e.original_transaction_id = entries_about.original_transaction_id
    ), granted AS MATERIALIZED ( -- of each period the first event that told of it
        SELECT DISTINCT ON (t.period_no) t.period_no, e.learned_at, e.event_id
        FROM effect AS e
        CROSS JOIN LATERAL (
            SELECT t.period_no FROM appstore.transactions AS t
            WHERE t.transaction_id = e.transaction_id AND t.environment = entries_about.environment
              AND t.original_transaction_id = entries_about.original_transaction_id OFFSET 0
        ) AS t
        WHERE e.kind = 'granted'
        ORDER BY t.period_no, e.learned_at, e.event_id
    ), claim AS MATERIALIZED ( -- 3. the claims to the contract
        SELECT k.* FROM appstore.ownership_claims AS k
        WHERE k.environment = entries_about.environment AND k.original_transaction_id = entries_about.original_transaction_id
    ), entry AS (
        SELECT e.occurred_at, e.learned_at, e.event_id, e.kind AS what, e.transaction_id, e.product_id, c.order_no, e.user_id,
               CASE
                   WHEN e.kind = 'granted' THEN concat_ws(', ',
                       'expires=' || to_char(c.expires_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), c.cost,
                       CASE WHEN c.quantity > 1 THEN 'quantity=' || c.quantity END, CASE WHEN NOT c.is_purchased THEN 'family_shared' END)
                   WHEN e.kind NOT IN ('refunded', 'revoked') THEN coalesce(CASE e.kind WHEN 'consumption_asked' THEN (
                       SELECT r.reason FROM appstore.refund_requests AS r
                       WHERE r.environment = e.environment AND r.notification_uuid = e.subject::uuid) END, e.type)
                   -- Receipts have whole seconds.
                   WHEN date_trunc('second', c.revocation_date) = date_trunc('second', e.occurred_at) THEN concat_ws(', ',
                       'revocation_reason=' || c.revocation_reason, 'percentage=' || trim_scale(c.revocation_percentage / 1000.0))
                   ELSE 'reversed'
               END AS detail,
               CASE e.kind WHEN 'granted' THEN 3 ELSE 7 END AS rank
        FROM effect AS e LEFT JOIN charge AS c ON c.transaction_id = e.transaction_id
        UNION ALL -- 4. the shop's orders that the charges name
        SELECT o.ordered_at, o.ordered_at, NULL, 'order_made', NULL, o.product_id, o.order_no, o.user_id, o.bundle_id, 1
        FROM (SELECT c.first_token FROM charge AS c UNION SELECT c.app_account_token FROM charge AS c) AS named (order_no)
        JOIN appstore.orders AS o ON o.environment = entries_about.environment AND o.order_no = named.order_no
        WHERE o.ordered_at IS NOT NULL
        UNION ALL -- 5. the paid periods, at the later time of charge and order
        SELECT o.paid_at, CASE WHEN g.learned_at IS NOT NULL THEN greatest(g.learned_at, o.ordered_at) END, g.event_id, 'order_paid',
               o.transaction_id, o.paid_product_id, o.order_no, o.user_id,
               concat_ws(', ', 'price=' || trim_scale(c.price / 1000.0) || coalesce(' ' || c.currency, ''),
                         CASE WHEN o.user_id IS NULL THEN 'owner_unknown' END, nullif(o.status, 'paid')), 4
        FROM (SELECT DISTINCT c.order_no FROM charge AS c) AS paid
        JOIN appstore.orders AS o ON o.environment = entries_about.environment AND o.order_no = paid.order_no
        LEFT JOIN LATERAL (
            SELECT t.price, t.currency FROM appstore.transactions AS t
            WHERE t.transaction_id = o.transaction_id AND t.environment = o.environment OFFSET 0
        ) AS c ON true
        LEFT JOIN granted AS g ON g.period_no = o.period_no
        WHERE o.original_transaction_id = entries_about.original_transaction_id
        UNION ALL
        (SELECT DISTINCT ON (o.order_no) c.purchase_date, NULL::timestamptz, NULL::bigint, 'order_not_paid', c.transaction_id, c.product_id,
                o.order_no, o.user_id, concat_ws(', ', o.reason, 'ordered=' || o.product_id, 'bundle_id=' || o.bundle_id), 5
         FROM charge AS c JOIN appstore.orders AS o ON o.environment = entries_about.environment AND o.order_no = c.first_token
         WHERE c.is_purchased AND o.reason IS NOT NULL
         ORDER BY o.order_no, c.purchase_date, length(c.transaction_id), c.transaction_id)
        UNION ALL -- 6. client posts, and links by the shop or an operator
        SELECT p.received_at, p.received_at, p.event_id, CASE WHEN p.is_receipt THEN 'receipt_submitted' ELSE 'submitted' END,
               p.transaction_id, c.product_id, c.order_no, p.user_id,
               CASE WHEN EXISTS (SELECT FROM claim AS k
                                 WHERE k.user_id = p.user_id
                                   AND CASE k.kind WHEN 'client' THEN NOT p.is_receipt AND k.source_id = p.transaction_id
                                                   WHEN 'receipt' THEN p.is_receipt AND k.source_id = p.transaction_id
                                                   WHEN 'restored' THEN p.is_receipt AND k.effective_at = p.received_at END) THEN 'claimed'
                    WHEN owner.user_id IS NULL THEN 'owner_unknown'
                    WHEN owner.user_id = p.user_id THEN 'owned'
                    ELSE 'owner_conflict, owner=' || owner.user_id END, 2
        FROM appstore.client_posts AS p
        LEFT JOIN charge AS c ON c.transaction_id = p.transaction_id
        LEFT JOIN appstore.orders AS o ON o.environment = entries_about.environment AND o.order_no = c.order_no
        LEFT JOIN appstore.contracts AS m
            ON m.environment = entries_about.environment AND m.original_transaction_id = entries_about.original_transaction_id
        LEFT JOIN LATERAL ( -- of a receipt that names no purchase: the owner when it was posted
            SELECT k.user_id FROM claim AS k WHERE p.transaction_id IS NULL AND k.effective_at <= p.received_at
            ORDER BY k.effective_at DESC, k.kind DESC, k.source_id DESC LIMIT 1
        ) AS owned ON true
        CROSS JOIN LATERAL (SELECT coalesce(o.user_id, owned.user_id, m.user_id) AS user_id) AS owner
        WHERE p.environment = entries_about.environment AND p.original_transaction_id = entries_about.original_transaction_id
        UNION ALL
        SELECT l.linked_at, l.linked_at, NULL, CASE WHEN l.user_id IS NULL THEN 'unlinked' ELSE 'linked' END, NULL, NULL, NULL, l.user_id,
               concat_ws(', ', 'by=' || l.actor, 'note=' || l.note), 6
        FROM appstore.owner_links AS l
        WHERE l.environment = entries_about.environment AND l.original_transaction_id = entries_about.original_transaction_id
        UNION ALL
        SELECT k.effective_at, NULL, NULL, 'claimed', c.transaction_id, c.product_id, c.app_account_token, k.user_id, 'later_token', 6
        FROM claim AS k JOIN charge AS c ON k.kind = 'token' AND k.source_id = c.transaction_id
        UNION ALL -- 7. answers to Apple
        SELECT a.settled_at, a.settled_at, NULL, 'consumption_answered', a.transaction_id, c.product_id, c.order_no, NULL,
               concat_ws(', ', 'by=' || a.decided_by, 'preference=' || (a.answer).preference), 8
        FROM charge AS c
        CROSS JOIN LATERAL (
            SELECT a.transaction_id, a.settled_at, a.decided_by, a.answer FROM appstore.consumption_decisions AS a
            WHERE a.transaction_id = c.transaction_id AND a.environment = entries_about.environment AND a.result = 'answered' OFFSET 0
        ) AS a
        UNION ALL -- 8. events about the contract that had no effect
        SELECT o.received_at, o.received_at, o.event_id, 'event_' || o.result, o.transaction_id, NULL, NULL, NULL,
               concat_ws(', ', o.notification_type || coalesce('/' || o.subtype, ''), o.reason), 9
        FROM (
            SELECT o.* FROM appstore.outcomes AS o WHERE o.original_transaction_id = entries_about.original_transaction_id OFFSET 0
        ) AS o
        WHERE o.environment = entries_about.environment::text AND o.result IN ('unhandled', 'rejected', 'failed', 'discarded')
        UNION ALL -- 9. the end of access
        SELECT DISTINCT t.until, NULL::timestamptz, NULL::bigint, CASE WHEN t.until > now() THEN 'access_will_end' ELSE 'access_ended' END,
               NULL, t.product_id, NULL::uuid, t.user_id, CASE WHEN t.until <= now() THEN t.why_ended WHEN t.will_renew THEN 'will_renew' END, 10
        FROM appstore.entitlement_terms AS t
        WHERE t.environment = entries_about.environment AND t.original_transaction_id = entries_about.original_transaction_id
          AND t.until < 'infinity'
    )
    SELECT t.occurred_at, t.learned_at, t.event_id, t.what, t.transaction_id, t.product_id, t.order_no, t.user_id, nullif(t.detail, '')
    FROM entry AS t
    ORDER BY t.occurred_at, t.rank, t.learned_at, t.event_id, t.what, t.transaction_id, t.user_id
$$;

COMMENT ON FUNCTION appstore.entries_about(environment appstore.environment, original_transaction_id text) IS 'What appstore.timeline returns, for statements about many contracts.';

CREATE FUNCTION appstore.events_not_exactly_once() RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT i.event_id FROM appstore.inbox AS i
    WHERE NOT EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = i.event_id)
      AND NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = i.event_id)
    UNION ALL
    SELECT q.event_id FROM appstore.inbox_queue AS q
    WHERE EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = q.event_id)
       OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = q.event_id)
$$;

COMMENT ON FUNCTION appstore.events_not_exactly_once() IS 'The events that violate the invariant, normally none: every event of the inbox waits or has an outcome, never both, and an event that waits has its body. An outcome may outlive its body. Reads all events.';

CREATE FUNCTION appstore.expire(walk text) RETURNS TABLE(checked bigint, deleted bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    c_batch     CONSTANT integer := 500;
    v_rejected  boolean := expire.walk LIKE 'rejected\_%';
    v_imported  boolean := expire.walk = 'imported_bodies';
    v_of_bodies boolean := expire.walk LIKE '%\_bodies';
    v_cutoff    timestamptz;
    v_state     appstore.maintenance_state;
    v_checked   bigint;
    v_is_over   boolean := false;
    v_ids       bigint[];
BEGIN
    IF walk IS NULL OR walk NOT IN ('rejected_bodies', 'rejected_outcomes', 'default_bodies', 'default_outcomes', 'imported_bodies') THEN
        RAISE EXCEPTION 'there is no walk %', quote_nullable(walk) USING ERRCODE = 'invalid_parameter_value', HINT =
            'Walks are rejected_bodies, rejected_outcomes, default_bodies, default_outcomes and imported_bodies.';
    ELSIF NOT appstore.maintenance_lock() THEN
        RETURN;
    END IF;
    SELECT clock_timestamp() - CASE expire.walk WHEN 'rejected_bodies' THEN r.rejected_bodies WHEN 'rejected_outcomes' THEN r.rejected_outcomes
                                                WHEN 'default_bodies' THEN r.bodies WHEN 'imported_bodies' THEN r.import_bodies
                                                ELSE r.outcomes END
    INTO v_cutoff FROM appstore.retention AS r;
    IF v_cutoff IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO appstore.maintenance_state (task) VALUES (expire.walk) ON CONFLICT (task) DO NOTHING;
    SELECT s.* INTO v_state FROM appstore.maintenance_state AS s WHERE s.task = expire.walk;

    -- 1. The next rows. Rejected and imported ones in the order of their outcomes: a requeued event gets a new outcome, so the walk never goes
    --    back. The walks over default partitions start over when they reach recent events.
    IF v_imported THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), coalesce(max(next.settled_at), v_state.settled_at),
               coalesce((array_agg(next.event_id ORDER BY next.settled_at DESC, next.event_id DESC))[1], v_state.event_id)
        INTO v_checked, v_ids, v_state.settled_at, v_state.event_id
        FROM (SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
              WHERE o.source IN ('imported_status', 'imported_transaction') AND o.settled_at < v_cutoff
                AND o.settled_at >= v_state.settled_at AND (o.settled_at, o.event_id) > (v_state.settled_at, v_state.event_id)
              ORDER BY o.settled_at, o.event_id LIMIT c_batch) AS next;
    ELSIF v_rejected THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), coalesce(max(next.settled_at), v_state.settled_at),
               coalesce((array_agg(next.event_id ORDER BY next.settled_at DESC, next.event_id DESC))[1], v_state.event_id)
        INTO v_checked, v_ids, v_state.settled_at, v_state.event_id
        FROM (SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
              WHERE o.result = 'rejected' AND o.settled_at < v_cutoff
                AND o.settled_at >= v_state.settled_at AND (o.settled_at, o.event_id) > (v_state.settled_at, v_state.event_id)
              ORDER BY o.settled_at, o.event_id LIMIT c_batch) AS next;
    ELSE
        EXECUTE format('SELECT count(*), coalesce(array_agg(next.event_id), ''{}''), coalesce(bool_and(next.received_at >= $1), true), '
                       'max(next.event_id) FROM (SELECT d.event_id, d.received_at FROM appstore.%I AS d WHERE d.event_id > $2 '
                       'ORDER BY d.event_id LIMIT $3) AS next', CASE WHEN v_of_bodies THEN 'inbox_default' ELSE 'outcomes_default' END)
        INTO v_checked, v_ids, v_is_over, v_state.event_id USING v_cutoff, v_state.event_id, c_batch;
        IF v_is_over THEN
            v_checked := 0;
            v_state.event_id := 0;
        END IF;
    END IF;

    -- 2. Those of them that have aged. An outcome that is locked here cannot be requeued before the commit.
    v_ids := ARRAY(
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.event_id = ANY (v_ids) AND o.settled_at < v_cutoff
          AND CASE WHEN v_rejected -- and unverified: anyone could have posted it
                   THEN o.result = 'rejected' AND o.notification_type IS NULL AND o.notification_uuid IS NULL AND o.environment IS NULL
                        AND o.bundle_id IS NULL AND o.transaction_id IS NULL
                   WHEN v_imported -- and of no use: the others can be requeued, and Apple is not asked again where it was read to the end
                   THEN o.result NOT IN ('failed', 'rejected', 'unhandled')
                   ELSE v_of_bodies OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0) END
        ORDER BY o.event_id FOR UPDATE);
    IF v_rejected OR v_of_bodies THEN
        DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_ids);
    END IF;
    IF NOT v_of_bodies THEN
        DELETE FROM appstore.outcome_history AS h WHERE h.event_id = ANY (v_ids);
        DELETE FROM appstore.event_contracts AS e WHERE e.event_id = ANY (v_ids);
        DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids);
    END IF;
    UPDATE appstore.maintenance_state AS s SET settled_at = v_state.settled_at, event_id = v_state.event_id WHERE s.task = expire.walk;
    RETURN QUERY SELECT v_checked, cardinality(v_ids)::bigint;
END
$_$;

COMMENT ON FUNCTION appstore.expire(walk text) IS 'Deletes the next aged rows of a walk: rejected_bodies and rejected_outcomes of events in which nothing could be verified; default_bodies and default_outcomes of the default partitions, which are never dropped; imported_bodies of imports. Checks at most 500, returns how many it checked and deleted; no row when nothing of the kind ages.';

CREATE FUNCTION appstore.expire_attempts(p_walk text, p_before timestamp with time zone, p_delivered_only boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    c_batch   CONSTANT integer := 1000;
    v_after   bigint := coalesce((SELECT s.event_id FROM appstore.maintenance_state AS s WHERE s.task = p_walk), 0);
    v_last    bigint;
    v_rows    bigint;
BEGIN
    -- Up to the first that is not aged: times may be out of order.
    SELECT max(next.attempt_id), count(*) INTO v_last, v_rows
    FROM (SELECT a.attempt_id, bool_and(a.at < p_before) OVER (ORDER BY a.attempt_id) AS is_aged
          FROM (SELECT a.attempt_id, a.at FROM appstore.delivery_attempts AS a WHERE a.attempt_id > v_after ORDER BY a.attempt_id LIMIT c_batch)
              AS a) AS next
    WHERE next.is_aged;
    IF v_rows > 0 THEN
        DELETE FROM appstore.delivery_attempts AS a
        WHERE a.attempt_id > v_after AND a.attempt_id <= v_last AND (NOT p_delivered_only OR a.result = 'delivered');
        INSERT INTO appstore.maintenance_state (task, event_id) VALUES (p_walk, v_last)
        ON CONFLICT (task) DO UPDATE SET event_id = excluded.event_id;
    END IF;
    RETURN v_rows;
END
$$;

COMMENT ON FUNCTION appstore.expire_attempts(p_walk text, p_before timestamp with time zone, p_delivered_only boolean) IS 'Takes the next step of a walk over delivery_attempts: deletes those older than p_before, or only the successful ones of them. Returns how many it has passed.';

CREATE FUNCTION appstore.expire_calls() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_awaited  bigint[];
    v_given_up bigint;
    v_deleted  bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    v_awaited := ARRAY(SELECT c.call_id FROM appstore.outbox AS c
                       WHERE c.state = 'open' AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
                         AND c.asked_at < statement_timestamp() - interval '1 minute'
                       ORDER BY c.asked_at, c.call_id LIMIT 500 FOR UPDATE SKIP LOCKED);
    PERFORM appstore.fall_back(v_awaited);
    UPDATE appstore.outbox AS c
    SET state = 'given_up', reason = 'no_worker', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state = 'open' AND old.deadline_at < statement_timestamp() - interval '1 hour'
                                   AND old.run_at < statement_timestamp() - interval '1 hour'
                                 ORDER BY old.deadline_at, old.call_id LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_given_up = ROW_COUNT;
    DELETE FROM appstore.outbox AS c
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state <> 'open' AND old.settled_at < statement_timestamp() - interval '30 days'
                                 ORDER BY old.settled_at, old.call_id LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    RETURN cardinality(v_awaited) + v_given_up + v_deleted;
END
$$;

COMMENT ON FUNCTION appstore.expire_calls() IS 'Uses the fallback of calls that had no attempt for a minute, gives up calls that no worker took for an hour after their deadline, and deletes calls that were settled 30 days ago: at most 500 of each. Returns how many.';

CREATE FUNCTION appstore.expire_deliveries() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_ages   appstore.retention;
    v_first  bigint := coalesce((SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1),
                                (SELECT h.position + 1 FROM appstore.feed_head AS h));
    v_locked text[];
    v_aged   text[];
    v_rows   bigint;
    v_result bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    -- 1. Attempts, in the order of their numbers: two walks that never go back.
    SELECT r.* INTO v_ages FROM appstore.retention AS r;
    v_result := appstore.expire_attempts('deliveries', v_now - v_ages.deliveries, true)
        + appstore.expire_attempts('failed_deliveries', v_now - v_ages.failed_deliveries, false);
    -- 2. Deliveries whose entry is gone. Those that were given up stay for a day more, so that what aged can be seen.
    DELETE FROM appstore.open_deliveries AS d
    WHERE d.ctid = ANY (ARRAY(
        SELECT old.ctid FROM appstore.endpoints AS e CROSS JOIN LATERAL (
            SELECT d.ctid FROM appstore.open_deliveries AS d
            WHERE d.endpoint = e.name AND d.given_up_at IS NOT NULL AND d.position < v_first AND d.given_up_at < v_now - interval '1 day'
            ORDER BY d.position LIMIT 500 FOR UPDATE SKIP LOCKED) AS old));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_result := v_result + v_rows;
    v_locked := ARRAY(
        SELECT e.name FROM appstore.endpoints AS e
        WHERE EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.position < v_first)
        FOR UPDATE SKIP LOCKED);
    WITH aged AS (
        UPDATE appstore.open_deliveries AS d SET given_up_at = v_now, last_error = 'aged', last_status = NULL
        WHERE d.ctid = ANY (ARRAY(
            SELECT old.ctid FROM unnest(v_locked) AS e (name) CROSS JOIN LATERAL (
                SELECT d.ctid FROM appstore.open_deliveries AS d
                WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.position < v_first
                ORDER BY d.position LIMIT 500 FOR UPDATE SKIP LOCKED) AS old))
        RETURNING d.endpoint, d.subject
    )
    SELECT count(*), array_agg(DISTINCT ARRAY[aged.endpoint, aged.subject]) FILTER (WHERE aged.subject IS NOT NULL) INTO v_rows, v_aged FROM aged;
    v_result := v_result + v_rows;
    PERFORM appstore.release_subject(v_aged[n][1], v_aged[n][2], true, v_now) FROM generate_subscripts(v_aged, 1) AS n;
    UPDATE appstore.endpoints AS e SET due_from = least(e.due_from, v_now) WHERE e.name = ANY (v_locked) AND v_aged IS NOT NULL;
    -- 3. Redeliveries that ended.
    DELETE FROM appstore.redeliveries AS r WHERE r.ended_at < v_now - interval '30 days';
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_result + v_rows;
END
$$;

COMMENT ON FUNCTION appstore.expire_deliveries() IS 'Deletes aged attempts, at most 1,000 of each kind, gives up deliveries whose entry is gone, deletes these a day later, and redeliveries 30 days after their end. Returns how many rows.';

CREATE FUNCTION appstore.expire_feed() RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$
DECLARE
    v_name   text;
    v_to     bigint; -- the first position of the next partition
    v_newest timestamptz;
    v_age    interval := (SELECT r.feed FROM appstore.retention AS r);
    v_head   appstore.feed_head;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN NULL;
    END IF;
    -- 1. Close the newest partition after four days. It may be large, after a burst, and would age as a whole.
    SELECT h.* INTO v_head FROM appstore.feed_head AS h FOR UPDATE SKIP LOCKED;
    IF v_head.partition_since < clock_timestamp() - interval '4 days' AND v_head.position >= v_head.partition_from
       AND v_head.position + 1 < v_head.partition_to THEN
        v_name := 'feed_from_' || v_head.partition_from;
        EXECUTE format('ALTER TABLE appstore.feed DETACH PARTITION appstore.%I', v_name);
        EXECUTE format('ALTER TABLE appstore.feed ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', v_name, v_head.partition_from,
                       v_head.position + 1);
        UPDATE appstore.feed_head AS h SET partition_to = v_head.position + 1;
    END IF;
    -- 2. Drop the oldest one.
    SELECT p.name, lead(p.from_position) OVER (ORDER BY p.from_position) INTO v_name, v_to
    FROM (SELECT c.relname AS name, substr(c.relname, 11)::bigint AS from_position
          FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'appstore.feed'::regclass) AS p
    ORDER BY p.from_position LIMIT 1;
    IF v_to IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT f.told_at FROM appstore.%I AS f ORDER BY f.position DESC LIMIT 1', v_name) INTO v_newest;
    IF v_newest >= clock_timestamp() - v_age THEN
        RETURN NULL;
    END IF;
    LOCK TABLE appstore.feed IN ACCESS EXCLUSIVE MODE; -- so that no reader that is moved back meanwhile is overlooked
    IF v_newest >= clock_timestamp() - 2 * v_age AND appstore.is_feed_needed(v_to) THEN
        RETURN NULL;
    END IF;
    UPDATE appstore.endpoints AS e
    SET state = 'behind', why = format('entries after position %s have aged', e.position), state_since = clock_timestamp(), leased_until = NULL
    WHERE e.position < v_to - 1 AND e.state <> 'behind';
    UPDATE appstore.redeliveries AS r SET state = 'aged', ended_at = clock_timestamp() WHERE r.state = 'open' AND r.after < v_to - 1;
    EXECUTE format('DROP TABLE appstore.%I', v_name);
    RETURN v_name;
END
$$;

COMMENT ON FUNCTION appstore.expire_feed() IS 'Drops the oldest partition of the feed when all of it has aged, and returns its name, else null. The newest one stays, and is closed after four days, so that the next entry begins another. Needs a lock that readers hold for moments: it fails after 100 ms (55P03) without any change. Endpoints that have not got all of it become behind, redeliveries aged.';

CREATE FUNCTION appstore.expire_history() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_batch  CONSTANT integer := 1000;
    v_cutoff timestamptz := clock_timestamp() - (SELECT r.history FROM appstore.retention AS r);
    v_rows   bigint;
    v_result bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    DELETE FROM appstore.history_records AS r
    WHERE r.ctid = ANY (ARRAY(
        SELECT old.ctid FROM appstore.history_records AS old WHERE old.listed_at < v_cutoff AND NOT old.is_open
        ORDER BY old.listed_at LIMIT c_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_result = ROW_COUNT;
    DELETE FROM appstore.history_windows AS w
    WHERE w.ctid = ANY (ARRAY(
        SELECT old.ctid FROM appstore.history_windows AS old WHERE old.state <> 'open' AND old.closed_at < v_cutoff
        ORDER BY old.closed_at LIMIT c_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_result + v_rows;
END
$$;

COMMENT ON FUNCTION appstore.expire_history() IS 'Deletes aged records of the history, which stay counted, and aged windows that are closed, at most 1,000 of each. Returns how many.';

CREATE FUNCTION appstore.expire_imports() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_import  appstore.imports;
    v_deleted bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    FOR v_import IN
        SELECT r.* FROM appstore.imports AS r
        WHERE r.state = 'loading' AND r.touched_at < clock_timestamp() - interval '1 hour'
           OR appstore.is_expired(r)
        ORDER BY r.import_id FOR UPDATE SKIP LOCKED
    LOOP
        DELETE FROM appstore.import_items AS i
        WHERE i.import_id = v_import.import_id
          AND i.line = ANY (ARRAY(SELECT old.line FROM appstore.import_items AS old WHERE old.import_id = v_import.import_id
                                  ORDER BY old.line LIMIT 5000));
        GET DIAGNOSTICS v_deleted = ROW_COUNT;
        IF v_deleted > 0 THEN
            RETURN v_deleted;
        END IF;
        PERFORM appstore.report_import_chunk(c.import_id, c.first_line) FROM appstore.import_chunks AS c WHERE c.import_id = v_import.import_id;
        DELETE FROM appstore.import_chunks AS c WHERE c.import_id = v_import.import_id;
        DELETE FROM appstore.import_links_due AS d WHERE d.import_id = v_import.import_id;
        IF v_import.state = 'loading' THEN
            DELETE FROM appstore.imports AS r WHERE r.import_id = v_import.import_id;
            RETURN 1;
        END IF;
    END LOOP;
    RETURN 0;
END
$$;

COMMENT ON FUNCTION appstore.expire_imports() IS 'Deletes up to 5,000 items of an import whose file broke off an hour ago, and then the import, or whose end was 90 days ago. Returns how many rows it deleted.';

CREATE FUNCTION appstore.expire_notifications() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_blocks  CONSTANT bigint := 128;
    v_blocks  bigint := pg_relation_size('appstore.seen_notifications') / current_setting('block_size')::bigint;
    v_first   bigint;
    v_deleted bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    SELECT s.event_id INTO v_first FROM appstore.maintenance_state AS s WHERE s.task = 'notifications' AND s.event_id < v_blocks;
    v_first := coalesce(v_first, 0);
    DELETE FROM appstore.seen_notifications AS n
    WHERE n.ctid >= format('(%s,0)', v_first)::tid AND n.ctid < format('(%s,0)', v_first + c_blocks)::tid
      AND n.seen_on < (SELECT (now() AT TIME ZONE 'UTC' - r.notifications)::date FROM appstore.retention AS r);
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    INSERT INTO appstore.maintenance_state (task, event_id) VALUES ('notifications', v_first + c_blocks)
    ON CONFLICT (task) DO UPDATE SET event_id = excluded.event_id;
    RETURN v_deleted;
END
$$;

COMMENT ON FUNCTION appstore.expire_notifications() IS 'Deletes the aged rows in the next 128 blocks of seen_notifications, and starts over after the last block. Returns how many.';

CREATE FUNCTION appstore.explain(event_id bigint, environment text DEFAULT NULL::text, transaction_ids text[] DEFAULT NULL::text[], original_transaction_ids text[] DEFAULT NULL::text[], notification_uuid uuid DEFAULT NULL::uuid, effect_ids uuid[] DEFAULT NULL::uuid[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_inbox       jsonb;
    v_queue       jsonb;
    v_runs        jsonb;
    v_latest      jsonb;
    v_event       jsonb;
    v_is_due      boolean;
    v_is_settled  boolean;
    -- Compared as text: a rejected event may name an environment that the type does not hold.
    v_environment text;
    v_contracts   text[];
    v_charges     text[];
BEGIN
    -- 1. The event, without its body, and each run.
    SELECT jsonb_build_object('source', i.source, 'received_at', i.received_at, 'bytes', octet_length(i.body)) INTO v_inbox
    FROM appstore.inbox AS i WHERE i.event_id = explain.event_id;
    SELECT to_jsonb(q), q.run_at <= statement_timestamp() INTO v_queue, v_is_due
    FROM appstore.inbox_queue AS q WHERE q.event_id = explain.event_id;
    SELECT jsonb_agg(r.row ORDER BY r.run), coalesce(bool_or(r.is_latest), false) INTO v_runs, v_is_settled
    FROM (
        SELECT h.run, to_jsonb(h) AS row, false AS is_latest FROM appstore.outcome_history AS h WHERE h.event_id = explain.event_id
        UNION ALL
        SELECT o.run, to_jsonb(o), true FROM appstore.outcomes AS o WHERE o.event_id = explain.event_id
    ) AS r;
    v_latest := v_runs -> -1;
    v_event := coalesce(v_inbox, jsonb_build_object('source', v_latest -> 'source', 'received_at', v_latest -> 'received_at'));
    IF v_inbox IS NULL AND v_latest IS NULL THEN
        RETURN NULL;
    END IF;

    -- 2. What it is about: as the caller knows it from the body, else by the labels of its latest outcome.
    v_environment := coalesce(explain.environment, v_latest ->> 'environment');
    v_charges := coalesce(transaction_ids, ARRAY[v_latest ->> 'transaction_id']);
    v_contracts := coalesce(original_transaction_ids, ARRAY[v_latest ->> 'original_transaction_id']) || ARRAY(
        SELECT e.original_transaction_id FROM appstore.event_contracts AS e WHERE e.event_id = explain.event_id);

    -- 3. The rows of the ledger that hold it.
    RETURN jsonb_strip_nulls(v_event || jsonb_build_object(
        'event_id', explain.event_id,
        'state', CASE WHEN v_is_settled OR v_queue IS NULL THEN 'settled' WHEN v_is_due THEN 'ready' ELSE 'waiting' END,
        'result', CASE WHEN v_is_settled THEN v_latest -> 'result' END,
        'reason', CASE WHEN v_is_settled THEN v_latest -> 'reason' END,
        'queue', v_queue,
        'outcomes', v_runs,
        'audit_log', (
            SELECT jsonb_agg(to_jsonb(a) - 'event_ids' || jsonb_build_object('events', cardinality(a.event_ids)) ORDER BY a.audit_id)
            FROM appstore.audit_log AS a WHERE a.event_ids @> ARRAY[explain.event_id]),
        'first_event_id', (
            SELECT n.first_event_id FROM appstore.seen_notifications AS n
            WHERE n.notification_uuid = coalesce(explain.notification_uuid, (v_latest ->> 'notification_uuid')::uuid)
              AND n.environment::text = v_environment),
        'contracts', (
            SELECT jsonb_agg(to_jsonb(c) ORDER BY c.original_transaction_id) FROM appstore.contracts AS c
            WHERE c.original_transaction_id = ANY (v_contracts) AND c.environment::text = v_environment),
        'transactions', (
            SELECT jsonb_agg(to_jsonb(t) ORDER BY t.purchase_date, t.transaction_id) FROM appstore.transactions AS t
            WHERE t.transaction_id = ANY (v_charges) AND t.environment::text = v_environment),
        'v1_renewals', (
            SELECT jsonb_agg(to_jsonb(r) ORDER BY r.original_transaction_id, r.bundle_id) FROM appstore.v1_renewals AS r
            WHERE r.original_transaction_id = ANY (v_contracts) AND r.environment::text = v_environment),
        'orders', (
            SELECT jsonb_agg(to_jsonb(o) ORDER BY o.paid_at, o.order_no) FROM appstore.orders AS o
            WHERE o.environment::text = v_environment AND o.order_no = ANY (ARRAY(
                SELECT named.order_no
                FROM appstore.transactions AS t, unnest(ARRAY[t.order_no, t.first_token, t.app_account_token]) AS named (order_no)
                WHERE t.transaction_id = ANY (v_charges) AND t.environment::text = v_environment))),
        'effects', (
            SELECT jsonb_agg(to_jsonb(e) ORDER BY e.occurred_at, e.effect_id)
            FROM (
                SELECT e.* FROM appstore.effects AS e WHERE e.effect_id = ANY (explain.effect_ids)
                UNION
                SELECT e.* FROM appstore.effects AS e
                WHERE e.original_transaction_id = ANY (v_contracts) AND e.environment::text = v_environment
                  AND e.event_id = explain.event_id
            ) AS e),
        'ownership_claims', (
            SELECT jsonb_agg(to_jsonb(k) ORDER BY k.effective_at DESC, k.kind DESC, k.source_id DESC) FROM appstore.ownership_claims AS k
            WHERE k.original_transaction_id = ANY (v_contracts) AND k.environment::text = v_environment),
        'owner_links', (
            SELECT jsonb_agg(to_jsonb(l) ORDER BY l.linked_at DESC, l.link_id DESC) FROM appstore.owner_links AS l
            WHERE l.original_transaction_id = ANY (v_contracts) AND l.environment::text = v_environment),
        'client_posts', (
            SELECT jsonb_agg(to_jsonb(p) ORDER BY p.received_at, p.event_id, p.transaction_id) FROM appstore.client_posts AS p
            WHERE p.original_transaction_id = ANY (v_contracts) AND p.environment::text = v_environment),
        'refund_requests', (
            SELECT jsonb_agg(to_jsonb(r) ORDER BY r.signed_date, r.notification_uuid) FROM appstore.refund_requests AS r
            WHERE r.transaction_id = ANY (v_charges) AND r.environment::text = v_environment),
        'outbox', (
            SELECT jsonb_agg(to_jsonb(c) ORDER BY c.call_id) FROM appstore.outbox_status AS c
            WHERE c.event_id = explain.event_id OR c.answer_event_id = explain.event_id)));
END
$$;

COMMENT ON FUNCTION appstore.explain(event_id bigint, environment text, transaction_ids text[], original_transaction_ids text[], notification_uuid uuid, effect_ids uuid[]) IS 'Everything that the database knows of one event, except its body: how it stands, each run, its repairs, and the rows of the ledger that it is about, named as the tables; members that have nothing to say are absent. null for an unknown event. Without the other arguments, the labels of the latest outcome say what it is about; appstore-inbox explain passes what it reads in the body.';

CREATE FUNCTION appstore.explain_contract(environment appstore.environment, original_transaction_id text, before bigint DEFAULT NULL::bigint, max_rows integer DEFAULT 1000) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := explain_contract.environment;
    v_contract    text := explain_contract.original_transaction_id;
    v_story       jsonb;
    v_length      bigint;
BEGIN
    -- 1. The latest entries of its timeline, numbered from the oldest one.
    SELECT jsonb_agg(to_jsonb(s) - 'length' ORDER BY s.place), max(s.length) INTO v_story, v_length
    FROM (
        SELECT t.*, count(*) OVER () AS length FROM appstore.timeline(v_environment, v_contract) WITH ORDINALITY AS t (
            occurred_at, learned_at, event_id, what, transaction_id, product_id, order_no, user_id, detail, place)
        ORDER BY t.place DESC
    ) AS s
    WHERE s.place < coalesce(before, s.length + 1) AND s.place >= least(coalesce(before, s.length + 1), s.length + 1) - max_rows;
    IF v_story IS NULL AND NOT appstore.is_known_purchase(v_environment, v_contract, NULL) THEN
        RETURN NULL;
    END IF;

    -- 2. The rows of the ledger.
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'original_transaction_id', v_contract,
        'environment', v_environment,
        'entitlements', (
            SELECT jsonb_agg(jsonb_build_object(
                       'entitlement', e.entitlement, 'product_id', e.product_id, 'until', e.until, 'will_renew', e.will_renew,
                       'active', coalesce(e.until > statement_timestamp(), false),
                       'why', CASE WHEN e.until > statement_timestamp()
                                   THEN CASE WHEN statement_timestamp() >= e.grace_from THEN 'grace_period' ELSE 'active' END
                                   ELSE e.why_ended END,
                       'original_transaction_id', e.original_transaction_id, 'bundle_id', e.bundle_id)
                   ORDER BY e.entitlement)
            FROM appstore.entitlement_terms AS e WHERE e.original_transaction_id = v_contract AND e.environment = v_environment),
        'orders', (
            SELECT jsonb_agg(to_jsonb(o) - 'environment' ORDER BY coalesce(o.ordered_at, o.paid_at), o.order_no)
            FROM (
                SELECT s.*
                FROM (
                    SELECT DISTINCT named.order_no
                    FROM appstore.transactions AS t, unnest(ARRAY[t.order_no, t.first_token, t.app_account_token]) AS named (order_no)
                    WHERE t.original_transaction_id = v_contract AND t.environment = v_environment
                ) AS named
                CROSS JOIN LATERAL (
                    SELECT s.* FROM appstore.order_status AS s WHERE s.order_no = named.order_no AND s.environment = v_environment OFFSET 0
                ) AS s
                ORDER BY coalesce(s.ordered_at, s.paid_at) DESC, s.order_no DESC LIMIT max_rows
            ) AS o),
        'contracts', (
            SELECT jsonb_agg(jsonb_build_object(
                       'original_transaction_id', m.original_transaction_id, 'bundle_id', m.bundle_id, 'product_id', m.product_id,
                       'status', m.status, 'will_renew', m.will_renew, 'auto_renew_product_id', m.auto_renew_product_id,
                       'renewal_date', m.renewal_date, 'grace_period_expires_date', m.grace_period_expires_date,
                       'current_period_end', m.current_period_end, 'revoked_at', m.revoked_at, 'access_until', m.access_until,
                       'user_id', m.user_id, 'owner_since', m.owner_since))
            FROM appstore.contracts AS m WHERE m.original_transaction_id = v_contract AND m.environment = v_environment),
        'timeline', v_story,
        'timeline_length', v_length));
END
$$;

COMMENT ON FUNCTION appstore.explain_contract(environment appstore.environment, original_transaction_id text, before bigint, max_rows integer) IS 'Everything that the database knows of a contract, in the form of appstore.explain_user: entitlements, orders, the contract, and its timeline. Of orders and entries of the timeline the latest max_rows; with before, the entries before that place. null for an unknown purchase.';

CREATE FUNCTION appstore.explain_user(user_id text, environment appstore.environment DEFAULT 'Production'::appstore.environment, max_rows integer DEFAULT 1000) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user        text := explain_user.user_id;
    v_environment appstore.environment := explain_user.environment;
    v_contracts   text[];
    v_orders      jsonb;
    v_posts       jsonb;
    v_story       jsonb;
    v_length      bigint;
BEGIN
    -- 1. What the user owns or owned, paid for or posted. The ids of Apple grow: these are the latest purchases.
    v_contracts := ARRAY(
        SELECT c.original_transaction_id FROM appstore.contracts_of(v_user) AS c WHERE c.environment = v_environment
        ORDER BY length(c.original_transaction_id) DESC, c.original_transaction_id DESC LIMIT 100);
    SELECT jsonb_agg(to_jsonb(o) - 'environment' - 'user_id' ORDER BY coalesce(o.ordered_at, o.paid_at), o.order_no) INTO v_orders
    FROM (SELECT u.* FROM appstore.user_orders AS u WHERE u.user_id = v_user AND u.environment = v_environment
          ORDER BY coalesce(u.ordered_at, u.paid_at) DESC, u.order_no DESC LIMIT max_rows) AS o;

    -- 2. Posts that wait or had no effect. The user stands in the body, which the caller may not read: nothing else of it is shown.
    SELECT jsonb_agg(to_jsonb(p) ORDER BY p.event_id) INTO v_posts
    FROM (
        SELECT i.event_id, i.source, i.received_at, o.result, o.reason
        FROM (
            SELECT i.* FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
            UNION ALL
            SELECT i.* FROM appstore.inbox AS i WHERE i.source = 'client_receipt' AND appstore.posted_by(i.body) = v_user
        ) AS i
        LEFT JOIN LATERAL (
            SELECT o.result, o.reason FROM appstore.outcomes AS o WHERE o.event_id = i.event_id OFFSET 0
        ) AS o ON true
        WHERE coalesce(o.result NOT IN ('applied', 'superseded', 'no_effect', 'duplicate'), true)
          AND (SELECT s.environment FROM appstore.posted_scope(i.body) AS s) = v_environment
        ORDER BY i.event_id DESC LIMIT max_rows
    ) AS p;
    IF v_contracts = '{}' AND v_orders IS NULL AND v_posts IS NULL THEN
        RETURN NULL;
    END IF;

    -- 3. The latest entries of all timelines.
    SELECT jsonb_agg(to_jsonb(s) - 'place' - 'length' ORDER BY s.place DESC), max(s.length) INTO v_story, v_length
    FROM (
        SELECT t.occurred_at, t.learned_at, t.event_id, t.what, c.id AS original_transaction_id, t.transaction_id, t.product_id, t.order_no,
               t.user_id, t.detail, row_number() OVER (ORDER BY t.occurred_at DESC, c.id DESC, t.place DESC) AS place, count(*) OVER () AS length
        FROM unnest(v_contracts) AS c (id)
        CROSS JOIN LATERAL (SELECT e.*, row_number() OVER () AS place FROM appstore.entries_about(v_environment, c.id) AS e) AS t
        ORDER BY 11 LIMIT max_rows
    ) AS s;

    RETURN jsonb_strip_nulls(jsonb_build_object(
        'user_id', v_user,
        'environment', v_environment,
        'entitlements', (
            SELECT jsonb_agg(to_jsonb(e) - 'environment' - 'user_id'
                             ORDER BY e.active DESC, e.until DESC NULLS LAST, e.entitlement, e.original_transaction_id)
            FROM appstore.entitlements AS e WHERE e.user_id = v_user AND e.environment = v_environment),
        'orders', v_orders,
        'contracts', (
            SELECT jsonb_agg(jsonb_build_object(
                       'original_transaction_id', m.original_transaction_id, 'bundle_id', m.bundle_id, 'product_id', m.product_id,
                       'status', m.status, 'will_renew', m.will_renew, 'auto_renew_product_id', m.auto_renew_product_id,
                       'renewal_date', m.renewal_date, 'grace_period_expires_date', m.grace_period_expires_date,
                       'current_period_end', m.current_period_end, 'revoked_at', m.revoked_at, 'access_until', m.access_until,
                       'user_id', m.user_id, 'owner_since', m.owner_since)
                   ORDER BY m.started_at, m.original_transaction_id)
            FROM appstore.contracts AS m WHERE m.original_transaction_id = ANY (v_contracts) AND m.environment = v_environment),
        'unmatched', (
            SELECT jsonb_agg(to_jsonb(u) - 'environment' ORDER BY u.purchase_date, u.transaction_id)
            FROM unnest(v_contracts) AS c (id)
            CROSS JOIN LATERAL (
                SELECT u.* FROM appstore.unmatched AS u WHERE u.original_transaction_id = c.id AND u.environment = v_environment OFFSET 0
            ) AS u),
        'posts', v_posts,
        'timeline', v_story,
        'timeline_length', v_length));
END
$$;

COMMENT ON FUNCTION appstore.explain_user(user_id text, environment appstore.environment, max_rows integer) IS 'Everything that the database knows of a user in one environment: entitlements, orders, contracts that are or were the user''s or that the user posted, what of these is unmatched, posts that wait or were refused, and the timelines, oldest first; members that have nothing to say are absent. Of orders, posts and entries of the timeline the latest max_rows, of at most 100 contracts. null for an unknown user.';

CREATE FUNCTION appstore.extend_for_all(product_id text, days integer, reason integer, storefronts text[] DEFAULT NULL::text[], request_identifier text DEFAULT NULL::text, bundle_id text DEFAULT NULL::text, environment appstore.environment DEFAULT 'Production'::appstore.environment) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.request_apple('extend_for_all', product_id, jsonb_strip_nulls(jsonb_build_object(
        'days', days, 'reason', reason, 'storefronts', to_jsonb(storefronts), 'requestIdentifier', request_identifier)), bundle_id, environment,
        appstore.actor(), NULL, NULL);
END
$$;

COMMENT ON FUNCTION appstore.extend_for_all(product_id text, days integer, reason integer, storefronts text[], request_identifier text, bundle_id text, environment appstore.environment) IS 'Extends all active subscriptions to a product, in some storefronts (such as USA) or in all, as extend_renewal_date does, and returns the call. appstore.ask_apple(''extend_status'', …) asks how far Apple is.';

CREATE FUNCTION appstore.extend_renewal_date(original_transaction_id text, days integer, reason integer, request_identifier text DEFAULT NULL::text, bundle_id text DEFAULT NULL::text, environment appstore.environment DEFAULT NULL::appstore.environment) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.request_apple('extend_renewal_date', original_transaction_id, jsonb_strip_nulls(jsonb_build_object(
        'days', days, 'reason', reason, 'requestIdentifier', request_identifier)), bundle_id, environment, appstore.actor(), NULL, NULL);
END
$$;

COMMENT ON FUNCTION appstore.extend_renewal_date(original_transaction_id text, days integer, reason integer, request_identifier text, bundle_id text, environment appstore.environment) IS 'Extends a subscription by 1 to 90 days, and returns the call. Apple mails the customer, allows it twice in 365 days, and cannot undo it. reason: 0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage. An extension with the same request_identifier is made once in 30 days; without one there is one in 24 hours.';

CREATE FUNCTION appstore.failure_entries(p_kinds text[], p_refs text[], p_now timestamp with time zone) RETURNS TABLE(place bigint, entry appstore.feed)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL, appstore.feed_id(jsonb_build_array('failed', o.event_id, o.received_at, o.run)), 'inbox.failed',
               CASE WHEN o.environment IN ('Production', 'Sandbox') THEN o.environment::appstore.environment END, o.bundle_id,
               o.original_transaction_id, NULL, NULL, o.settled_at, p_now,
               jsonb_build_object('event_id', o.event_id::text, 'source', o.source, 'received_at', o.received_at, 'attempts', o.attempts,
                                  'reason', o.reason, 'notification_type', o.notification_type, 'subtype', o.subtype,
                                  'notification_uuid', o.notification_uuid, 'transaction_id', o.transaction_id))::appstore.feed
    FROM unnest(p_kinds, p_refs) WITH ORDINALITY AS tell (kind, ref, place)
    CROSS JOIN LATERAL (
        SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = tell.ref::bigint AND o.result = 'failed' OFFSET 0
    ) AS o
    WHERE tell.kind = 'failed';
END
$$;

COMMENT ON FUNCTION appstore.failure_entries(p_kinds text[], p_refs text[], p_now timestamp with time zone) IS 'The entries inbox.failed of events that are still failed. The error is not in them: the outcome has it.';

CREATE FUNCTION appstore.fall_back(calls bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_call  record;
    v_event bigint;
BEGIN
    FOR v_call IN
        SELECT c.call_id, c.fallback_source, c.event_id FROM appstore.outbox AS c
        WHERE c.call_id = ANY (fall_back.calls) AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
        ORDER BY c.call_id FOR UPDATE
    LOOP
        v_event := (
            SELECT appstore.store(v_call.fallback_source, ARRAY[
                convert_to(json_build_object('receiptData', convert_from(i.body, 'UTF8')::json ->> 'receiptData')::text, 'UTF8')])
            FROM appstore.inbox AS i WHERE i.event_id = v_call.event_id);
        -- Without the body there is no fallback: otherwise appstore.expire_calls would select the call each time.
        UPDATE appstore.outbox AS c
        SET fallback_event_id = v_event, fallback_source = CASE WHEN v_event IS NOT NULL THEN c.fallback_source END
        WHERE c.call_id = v_call.call_id;
    END LOOP;
END
$$;

COMMENT ON FUNCTION appstore.fall_back(calls bigint[]) IS 'Uses a receipt about which Apple has not answered as it is: stores it as an event of the call''s fallback_source, without the user who posted it. Once for each call, whatever its later state.';

CREATE FUNCTION appstore.feed_cloud_event(p_event text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT (jsonb_strip_nulls(jsonb_build_object(
                'specversion', '1.0', 'id', e -> 'id', 'source', '/apple' || coalesce('/' || (e #>> '{data,bundle_id}'), ''), 'type', e -> 'type',
                'subject', e #> '{data,subject}', 'time', e -> 'timestamp', 'datacontenttype', 'application/json',
                'generation', e -> 'generation', 'position', e ->> 'position'))
            || jsonb_build_object('data', e -> 'data'))::text
    FROM (SELECT p_event::jsonb) AS event (e)
$$;

COMMENT ON FUNCTION appstore.feed_cloud_event(p_event text) IS 'A result of appstore.feed_event as a CloudEvent 1.0. position is text, since an integer of CloudEvents has 32 bits.';

CREATE FUNCTION appstore.feed_cluster() RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT concat_ws('/', (SELECT c.system_identifier FROM pg_control_system() AS c), left(pg_walfile_name(pg_current_wal_lsn()), 8),
                     (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()), 'appstore.feed_head'::regclass::oid)
$$;

COMMENT ON FUNCTION appstore.feed_cluster() IS 'The system identifier, the timeline, the database and the table: another value after a failover, a restore or a copy.';

CREATE FUNCTION appstore.feed_end(OUT generation integer, OUT "position" bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    SELECT h.generation, h.position INTO feed_end.generation, feed_end."position" FROM appstore.feed_head AS h;
END
$$;

COMMENT ON FUNCTION appstore.feed_end(OUT generation integer, OUT "position" bigint) IS 'The generation and the latest position. It needs no key, and tells nothing else.';

CREATE FUNCTION appstore.feed_environments(k appstore.api_keys) RETURNS appstore.environment[]
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN NOT k.environments @> enum_range(NULL::appstore.environment) THEN k.environments END
$$;

COMMENT ON FUNCTION appstore.feed_environments(k appstore.api_keys) IS 'The environments of a key as appstore.feed_wants takes them: null where it covers all.';

CREATE FUNCTION appstore.feed_event(f appstore.feed, p_generation integer) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT json_build_object(
        'id', f.id, 'type', f.type, 'timestamp', f.occurred_at, 'generation', p_generation, 'position', f.position, 'api_version', '1',
        'data', jsonb_strip_nulls(jsonb_build_object('from_user', f.from_user_id)) || jsonb_build_object(
            'environment', f.environment, 'bundle_id', f.bundle_id, 'user', f.user_id, 'subject', f.subject, 'occurred_at', f.occurred_at) || f.data)::text
$$;

COMMENT ON FUNCTION appstore.feed_event(f appstore.feed, p_generation integer) IS 'An entry as JSON: id, type, timestamp, generation, position, api_version and data. The same bytes each time, until appstore.forget replaces the user. Of two entries, the one with the greater (generation, position) is the later one.';

CREATE FUNCTION appstore.feed_generation(p_position bigint) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT max(g.generation) FROM appstore.feed_generations AS g WHERE g.from_position <= p_position
$$;

COMMENT ON FUNCTION appstore.feed_generation(p_position bigint) IS 'The generation in which the entry at this position was numbered.';

CREATE FUNCTION appstore.feed_id(p_identity jsonb) RETURNS uuid
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_hash bytea := substr(sha256(convert_to(p_identity::text, 'UTF8')), 1, 16);
BEGIN
    v_hash := set_byte(v_hash, 6, (get_byte(v_hash, 6) & 15) | 128);
    RETURN encode(set_byte(v_hash, 8, (get_byte(v_hash, 8) & 63) | 128), 'hex')::uuid;
END
$$;

COMMENT ON FUNCTION appstore.feed_id(p_identity jsonb) IS 'A UUID of version 8 (RFC 9562) from the SHA-256 of an identity. PostgreSQL itself has no SHA-1 for one of version 5.';

CREATE FUNCTION appstore.feed_place(p_generation integer, p_position bigint, p_since timestamp with time zone, OUT state text, OUT generation integer, OUT head bigint, OUT after bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_head   appstore.feed_head;
    v_oldest bigint; -- the position before the oldest entry
    v_later  bigint := (SELECT g.from_position FROM appstore.feed_generations AS g WHERE g.generation > p_generation ORDER BY g.generation LIMIT 1);
    -- The position before what is told since the feed was off.
    v_since  bigint := (SELECT max(g.from_position) - 1 FROM appstore.feed_generations AS g WHERE g.generation > p_generation AND NOT g.is_complete);
BEGIN
    SELECT h.* INTO v_head FROM appstore.feed_head AS h;
    generation := v_head.generation;
    head := v_head.position;
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        state := 'off';
        RETURN;
    END IF;
    v_oldest := coalesce((SELECT f.position - 1 FROM appstore.feed AS f ORDER BY f.position LIMIT 1), head);
    v_oldest := greatest(v_oldest, v_since);
    IF p_since IS NOT NULL THEN
        after := appstore.feed_position_before(p_since, v_oldest, head);
        state := CASE WHEN after = v_oldest AND v_oldest > 0 THEN 'expired' ELSE 'found' END; -- older entries may have been told since then
    ELSIF p_generation IS NULL AND p_position = 0 THEN
        after := v_oldest;
        state := 'found';
    ELSIF p_generation > v_head.generation OR p_position > head OR p_position >= v_later THEN
        state := 'changed';
        after := CASE
            WHEN v_later <= p_position THEN v_later - 1
            -- A failover lost entries, and the sequencer has not begun the next generation: it will begin behind the head.
            WHEN v_head.cluster <> appstore.feed_cluster() THEN head
            ELSE (SELECT g.from_position - 1 FROM appstore.feed_generations AS g WHERE g.generation = v_head.generation) END;
        after := greatest(after, v_oldest);
    ELSE
        after := coalesce(p_position, head);
        state := CASE WHEN after < v_oldest OR after = v_since THEN 'expired' ELSE 'found' END;
    END IF;
    IF state = 'expired' THEN
        after := v_oldest;
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.feed_place(p_generation integer, p_position bigint, p_since timestamp with time zone, OUT state text, OUT generation integer, OUT head bigint, OUT after bigint) IS 'Where a reader goes on in the feed: after a cursor, at the first entry told at or after p_since, at the oldest one (no generation, position 0), or behind the head (null). state is found, off, changed (after the cursor positions mean something else: after lies before what changed), or expired (what came after the cursor has aged, or was not told while the feed was off: after lies before the oldest entry since then).';

CREATE FUNCTION appstore.feed_position_at(p_at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_low    bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1);
    v_high   bigint := (SELECT h.position + 1 FROM appstore.feed_head AS h);
    v_middle bigint;
BEGIN
    IF p_at IS NULL THEN
        RETURN NULL;
    END IF;
    WHILE v_low < v_high LOOP
        v_middle := (v_low + v_high) / 2;
        IF (SELECT f.told_at FROM appstore.feed AS f WHERE f.position = v_middle) < p_at THEN
            v_low := v_middle + 1;
        ELSE
            v_high := v_middle;
        END IF;
    END LOOP;
    RETURN v_high;
END
$$;

COMMENT ON FUNCTION appstore.feed_position_at(p_at timestamp with time zone) IS 'The position of the first entry that was told at this time or later; the next position where there is none; null for null.';

CREATE FUNCTION appstore.feed_position_before(p_since timestamp with time zone, p_oldest bigint, p_head bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_before bigint := p_oldest;
    v_since  bigint := p_head + 1;
    v_middle bigint;
BEGIN
    WHILE v_since - v_before > 1 LOOP
        v_middle := v_before + (v_since - v_before) / 2;
        IF (SELECT f.told_at < p_since FROM appstore.feed AS f WHERE f.position = v_middle) THEN
            v_before := v_middle;
        ELSE
            v_since := v_middle;
        END IF;
    END LOOP;
    RETURN v_before;
END
$$;

COMMENT ON FUNCTION appstore.feed_position_before(p_since timestamp with time zone, p_oldest bigint, p_head bigint) IS 'The position before the first entry that was told at or after p_since. It halves the range, since entries are told in the order of position.';

CREATE FUNCTION appstore.feed_types() RETURNS text[]
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT '{effect.granted,effect.refunded,effect.revoked,effect.refund_declined,effect.refund_reversed,effect.will_renew,effect.will_not_renew,
        effect.plan_changed,effect.offer_redeemed,effect.billing_retry_started,effect.grace_period_started,effect.grace_period_ended,
        effect.expired,effect.extended,effect.consent_asked,effect.consent_given,effect.consumption_asked,effect.status_found,
        access.changed,owner.changed,order.paid,order.refunded,user.forgotten,test,endpoint.disabled,inbox.failed,notification.received,notification.rejected}'::text[]
$$;

COMMENT ON FUNCTION appstore.feed_types() IS 'The types of entries.';

CREATE FUNCTION appstore.feed_wants(type text, environment appstore.environment, bundle_id text, types text[], bundle_ids text[], environments appstore.environment[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN types IS NULL
                THEN type <> ALL ('{test,endpoint.disabled,inbox.failed,notification.received,notification.rejected}')
                ELSE type = ANY (types) OR split_part(type, '.', 1) || '.*' = ANY (types) END
       AND (type = 'user.forgotten'
            OR (bundle_ids IS NULL OR bundle_id = ANY (bundle_ids)) IS TRUE AND (environments IS NULL OR environment = ANY (environments)) IS TRUE)
$$;

COMMENT ON FUNCTION appstore.feed_wants(type text, environment appstore.environment, bundle_id text, types text[], bundle_ids text[], environments appstore.environment[]) IS 'Whether a reader that asks for these types, apps and environments gets an entry. Null types are all but those for operators (test, endpoint.disabled, inbox.failed, notification.received, notification.rejected); null apps or environments are any. user.forgotten concerns all apps and environments. An entry without app or environment is for readers that do not restrict it.';

CREATE FUNCTION appstore.find_events(filter appstore.repair_filter, only_source text DEFAULT NULL::text, only_contract text DEFAULT NULL::text, only_uuid uuid DEFAULT NULL::uuid, is_waiting boolean DEFAULT false, before_at timestamp with time zone DEFAULT 'infinity'::timestamp with time zone, before_event_id bigint DEFAULT 0, max_rows integer DEFAULT 50) RETURNS TABLE(event_id bigint, received_at timestamp with time zone, settled_at timestamp with time zone, source text, notification_type text, subtype text, environment text, bundle_id text, result appstore.result, reason text, attempts integer, original_transaction_id text, is_found boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    c_checked  CONSTANT integer := 10000; -- the most outcomes that a call checks
    v_checked  integer := 0;
    v_found    integer := 0;
    v_outcome  appstore.outcomes;
    v_fits     boolean := false;
    v_next     record;
    v_outcomes refcursor;
BEGIN
    -- 1. Events without outcome, the latest first.
    IF is_waiting THEN
        RETURN QUERY
        SELECT q.event_id, i.received_at, NULL::timestamptz, i.source, NULL, NULL, NULL, NULL, NULL::appstore.result, q.last_error,
               q.attempts::integer, NULL, true
        FROM (SELECT q.* FROM appstore.inbox_queue AS q WHERE before_event_id = 0 OR q.event_id < before_event_id
              ORDER BY q.event_id DESC LIMIT max_rows) AS q
        CROSS JOIN LATERAL (SELECT i.received_at, i.source FROM appstore.inbox AS i WHERE i.event_id = q.event_id OFFSET 0) AS i
        ORDER BY q.event_id DESC;
        RETURN;
    END IF;

    -- 2. The events about a contract, or with a notificationUUID: the first one, and its duplicates about the same contract.
    IF only_contract IS NOT NULL OR only_uuid IS NOT NULL THEN
        RETURN QUERY
        WITH first AS MATERIALIZED (
            SELECT n.first_event_id AS id FROM appstore.seen_notifications AS n
            WHERE n.notification_uuid = only_uuid
        ), contract AS MATERIALIZED (
            SELECT only_contract AS id WHERE only_contract IS NOT NULL
            UNION
            SELECT o.original_transaction_id FROM first CROSS JOIN LATERAL (
                SELECT o.original_transaction_id FROM appstore.outcomes AS o WHERE o.event_id = first.id OFFSET 0) AS o
            WHERE only_contract IS NULL AND o.original_transaction_id IS NOT NULL
        ), named AS MATERIALIZED (
            SELECT first.id FROM first
            UNION
            SELECT o.event_id FROM contract CROSS JOIN LATERAL (
                SELECT o.event_id FROM appstore.outcomes AS o WHERE o.original_transaction_id = contract.id OFFSET 0) AS o
            UNION -- events about several contracts
            SELECT e.event_id FROM contract CROSS JOIN LATERAL (
                SELECT e.event_id FROM appstore.event_contracts AS e WHERE e.original_transaction_id = contract.id OFFSET 0) AS e
        )
        SELECT o.event_id, o.received_at, o.settled_at, o.source, o.notification_type, o.subtype, o.environment, o.bundle_id, o.result,
               o.reason, o.attempts, o.original_transaction_id, true
        FROM named CROSS JOIN LATERAL (SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = named.id OFFSET 0) AS o
        WHERE appstore.matches_filter(o, filter)
          AND (only_source IS NULL OR o.source = only_source)
          AND (only_uuid IS NULL OR o.notification_uuid = only_uuid)
          AND (o.settled_at, o.event_id) < (before_at, before_event_id)
        ORDER BY o.settled_at DESC, o.event_id DESC LIMIT max_rows;
        RETURN;
    END IF;

    -- 3. The latest outcomes; those that need attention along their own index. An event is settled after it was received.
    IF filter.result IN ('failed', 'rejected', 'unhandled', 'discarded') THEN
        OPEN v_outcomes FOR
            SELECT o AS outcome, (appstore.matches_filter(o, filter) AND (only_source IS NULL OR o.source = only_source)) IS TRUE AS fits
            FROM appstore.outcomes AS o
            WHERE o.result = filter.result AND (o.settled_at, o.event_id) < (before_at, before_event_id)
              AND o.settled_at >= coalesce(filter.received_from, '-infinity')
              AND o.result IN ('failed', 'rejected', 'unhandled', 'discarded')
            ORDER BY o.settled_at DESC, o.event_id DESC LIMIT c_checked;
    ELSE
        OPEN v_outcomes FOR
            SELECT o AS outcome, (appstore.matches_filter(o, filter) AND (only_source IS NULL OR o.source = only_source)) IS TRUE AS fits
            FROM appstore.outcomes AS o
            WHERE (o.settled_at, o.event_id) < (before_at, before_event_id) AND o.settled_at >= coalesce(filter.received_from, '-infinity')
            ORDER BY o.settled_at DESC, o.event_id DESC LIMIT c_checked;
    END IF;
    LOOP
        FETCH v_outcomes INTO v_next;
        EXIT WHEN NOT FOUND;
        v_checked := v_checked + 1;
        CONTINUE WHEN NOT v_next.fits AND v_checked < c_checked;
        v_outcome := v_next.outcome;
        RETURN QUERY
        SELECT v_outcome.event_id, v_outcome.received_at, v_outcome.settled_at, v_outcome.source, v_outcome.notification_type,
               v_outcome.subtype, v_outcome.environment, v_outcome.bundle_id, v_outcome.result, v_outcome.reason, v_outcome.attempts,
               v_outcome.original_transaction_id, v_next.fits;
        v_found := v_found + 1;
        v_fits := v_next.fits;
        EXIT WHEN v_found = max_rows;
    END LOOP;
    -- The place to go on from, where the last outcome that was checked is one of those found.
    IF v_checked = c_checked AND v_found < max_rows AND v_fits THEN
        RETURN QUERY
        SELECT v_outcome.event_id, v_outcome.received_at, v_outcome.settled_at, v_outcome.source, v_outcome.notification_type,
               v_outcome.subtype, v_outcome.environment, v_outcome.bundle_id, v_outcome.result, v_outcome.reason, v_outcome.attempts,
               v_outcome.original_transaction_id, false;
    END IF;
    CLOSE v_outcomes;
END
$$;

COMMENT ON FUNCTION appstore.find_events(filter appstore.repair_filter, only_source text, only_contract text, only_uuid uuid, is_waiting boolean, before_at timestamp with time zone, before_event_id bigint, max_rows integer) IS 'The latest events that meet every condition, at most max_rows, which were settled before (before_at, before_event_id): the place of the last row of the page before. is_waiting: events without outcome instead, in the order of their ids, to which no other condition applies. A call checks 10,000 outcomes at most; where it ends there, its last row is the last outcome that was checked, and is_found is false if that does not meet the conditions.';

CREATE FUNCTION appstore.find_outcomes(action text, filter appstore.repair_filter, max_events integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_result appstore.result;
    v_left   bigint := max_events;
    v_found  bigint;
BEGIN
    IF action = 'requeue' AND (filter.result IN ('failed', 'rejected', 'unhandled', 'discarded')) IS NOT TRUE THEN
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE appstore.matches_filter(o, filter) AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0)
        ORDER BY o.event_id LIMIT max_events;
        RETURN;
    END IF;
    -- Each result in the order of its index: the failures of an incident all have late event ids.
    FOREACH v_result IN ARRAY ARRAY['failed', 'rejected', 'unhandled', 'discarded'] LOOP
        CONTINUE WHEN filter.result <> v_result OR (action = 'discard' AND v_result = 'discarded');
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.result = v_result AND appstore.matches_filter(o, filter)
          AND (action = 'discard' OR EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0))
        ORDER BY o.settled_at, o.event_id LIMIT v_left;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        v_left := v_left - v_found;
        EXIT WHEN v_left = 0;
    END LOOP;
END
$$;

COMMENT ON FUNCTION appstore.find_outcomes(action text, filter appstore.repair_filter, max_events integer) IS 'The events that a repair would take now, at most so many, or all when max_events is null. A discard takes only what failed, was rejected or unhandled; a requeue only what still has its body. Those that need attention come in the order of their outcomes, others by id.';

CREATE FUNCTION appstore.finish_import(import_id integer, file_sha256 bytea, bad_lines integer, again boolean DEFAULT false, OUT result integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_import appstore.imports;
BEGIN
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.import_id = finish_import.import_id AND r.state = 'loading' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'import % is not loading', quote_nullable(finish_import.import_id) USING ERRCODE = 'no_data_found';
    END IF;
    result := appstore.import_of_file(v_import.bundle_id, v_import.environment, v_import.depth, finish_import.file_sha256, again);
    IF result IS NOT NULL OR v_import.items = 0 THEN
        -- It was known, which only its end could tell.
        UPDATE appstore.imports AS r SET touched_at = '-infinity' WHERE r.import_id = v_import.import_id;
        RETURN;
    END IF;
    result := v_import.import_id;
    UPDATE appstore.imports AS r
    SET state = 'running', file_sha256 = finish_import.file_sha256, bad_lines = finish_import.bad_lines, touched_at = clock_timestamp()
    WHERE r.import_id = v_import.import_id;
    PERFORM appstore.begin_live(v_import.bundle_id);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (clock_timestamp(), appstore.actor(), 'import', '{}',
            jsonb_build_object('import', v_import.import_id, 'bundle_id', v_import.bundle_id, 'environment', v_import.environment,
                               'depth', v_import.depth, 'file', v_import.file_name, 'sha256', encode(finish_import.file_sha256, 'hex'),
                               'items', v_import.items));
END
$$;

COMMENT ON FUNCTION appstore.finish_import(import_id integer, file_sha256 bytea, bad_lines integer, again boolean, OUT result integer) IS 'Lets the workers begin with a file that is loaded, and returns its import: another one where the file was imported before, null where it had no items.';

CREATE FUNCTION appstore.finish_transaction(transaction_id text, bundle_id text DEFAULT NULL::text, environment appstore.environment DEFAULT NULL::appstore.environment) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.request_apple('finish_transaction', transaction_id, '{}', bundle_id, environment, appstore.actor(), NULL, NULL);
END
$$;

COMMENT ON FUNCTION appstore.finish_transaction(transaction_id text, bundle_id text, environment appstore.environment) IS 'Finishes a transaction that the customer''s app never finished, and returns the call. Irreversible: StoreKit delivers a finished consumable to no app any more.';

CREATE FUNCTION appstore.first_due(p_endpoint text, p_from timestamp with time zone, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN coalesce((SELECT d.run_at FROM appstore.open_deliveries AS d
                     WHERE d.endpoint = p_endpoint AND d.given_up_at IS NULL AND d.run_at >= least(p_from, p_now) AND d.run_at <= p_now
                     ORDER BY d.run_at LIMIT 1), p_now);
END
$$;

COMMENT ON FUNCTION appstore.first_due(p_endpoint text, p_from timestamp with time zone, p_now timestamp with time zone) IS 'What endpoints.due_from, which is p_from, may be set to under the lock of the endpoint: when the first open delivery is due, at most p_now.';

CREATE FUNCTION appstore.first_waiting(p_endpoint text, p_subject text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (SELECT d.position FROM appstore.open_deliveries AS d
            WHERE d.endpoint || ' ' || d.subject = p_endpoint || ' ' || p_subject AND d.given_up_at IS NULL AND d.first_failed_at IS NULL
            ORDER BY d.position LIMIT 1);
END
$$;

COMMENT ON FUNCTION appstore.first_waiting(p_endpoint text, p_subject text) IS 'The first of the entries of a subject that wait for an endpoint; null: none does.';

CREATE FUNCTION appstore.forget(user_id text, note text DEFAULT NULL::text) RETURNS TABLE(alias text, orders bigint, contracts bigint, posts bigint, bodies bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user      text := forget.user_id;
    v_alias     text;
    v_posts     bigint[];
    v_contracts appstore.contract_key[];
    v_bodies    bigint[];
    v_renamed   record;
    v_orders    bigint := 0;
    v_rows      bigint := 0;
    v_is_told   boolean := (SELECT s.is_on FROM appstore.feed_switch AS s); -- before the feed's head is locked, as in a step
BEGIN
    IF v_user IS NULL OR char_length(v_user) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 characters' USING ERRCODE = 'invalid_parameter_value';
    ELSIF position(v_user IN forget.note) > 0 THEN
        RAISE EXCEPTION 'the note names the user' USING ERRCODE = 'invalid_parameter_value', HINT =
            'The note stays in the audit log. Name your request instead, such as a ticket.';
    END IF;
    PERFORM appstore.demand_read_committed();
    v_alias := CASE WHEN v_user LIKE 'forgotten:%' THEN v_user ELSE 'forgotten:' || gen_random_uuid() END;
    v_posts := ARRAY(
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
        UNION ALL
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_receipt' AND appstore.posted_by(i.body) = v_user);

    -- 1. The queue and the outcomes, which a batch locks before it writes the ledger.
    PERFORM appstore.discard_waiting_posts(v_posts);
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.original_transaction_id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c WHERE c.is_owned);
    v_bodies := appstore.delete_bodies(v_posts, v_contracts);

    -- 2. The ledger, until a round under its locks no longer finds the name.
    WHILE v_user <> v_alias LOOP
        SELECT * INTO v_renamed FROM appstore.rename_in_ledger(v_user, v_alias);
        v_orders := v_orders + v_renamed.orders;
        v_rows := v_rows + v_renamed.orders + v_renamed.others;
        EXIT WHEN v_renamed.orders + v_renamed.others = 0;
    END LOOP;

    IF v_rows = 0 AND v_posts = '{}' AND v_contracts = '{}' THEN
        RAISE NOTICE 'there is nothing of this user' USING HINT = 'Nothing was changed, and nothing was written to the audit log.';
        v_alias := NULL;
    ELSE
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
        VALUES (clock_timestamp(), appstore.actor(), 'forget', v_bodies, forget.note,
                jsonb_build_object('alias', v_alias, 'orders', v_orders, 'contracts', cardinality(v_contracts)));
        IF v_is_told AND v_user <> v_alias THEN
            INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', v_user);
        END IF;
    END IF;
    RETURN QUERY SELECT v_alias, v_orders, cardinality(v_contracts)::bigint, cardinality(v_posts)::bigint, cardinality(v_bodies)::bigint;
END
$$;

COMMENT ON FUNCTION appstore.forget(user_id text, note text) IS 'Erases a user: replaces the user''s name in the ledger by an alias, discards the user''s client posts that still wait, and deletes the bodies of the posts and of all settled events about contracts that are or were the user''s, which a link that was taken back does not make them. Deletes what endpoints answered about the user, and the evidence and details of decisions about consumption; ends the user''s consent. Returns the alias, how many orders and owned contracts there were, how many posts, and how many bodies were deleted; alias is null, with a notice, when there was nothing. Where the feed is on, an entry user.forgotten names the user until it ages. Free text stays as it is: notes of the audit log, reasons of discards, errors. Fails when the note names the user.';

CREATE FUNCTION appstore.give_consent(user_id text, evidence text, given_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN (appstore.record_consent(user_id, evidence, given_at, appstore.actor())).given_at;
END
$$;

COMMENT ON FUNCTION appstore.give_consent(user_id text, evidence text, given_at timestamp with time zone) IS 'Records that a user consents to tell Apple how purchases were consumed, and returns since when. It changes nothing while a consent of the user is in force.';

CREATE FUNCTION appstore.give_way() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'another transaction holds rows that this one needs' USING ERRCODE = 'deadlock_detected', HINT = 'Repeat the transaction.';
END
$$;

COMMENT ON FUNCTION appstore.give_way() IS 'Ends the transaction as a deadlock would, without the wait. The caller repeats it.';

CREATE FUNCTION appstore.has_backlog(p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
    -- Those that run by themselves are few, and may wait for each other.
    SELECT EXISTS (SELECT FROM (SELECT q.is_isolated FROM appstore.inbox_queue AS q WHERE q.run_at < p_now - interval '1 minute'
                                ORDER BY q.run_at, q.event_id LIMIT 1000) AS first
                   WHERE NOT first.is_isolated)
$$;

COMMENT ON FUNCTION appstore.has_backlog(p_now timestamp with time zone) IS 'Whether events have waited for a minute: of the thousand that are due longest, one that runs with others. It may be about any contract.';

CREATE FUNCTION appstore.has_console_role(person text, role text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT EXISTS (
        SELECT FROM pg_roles AS p JOIN pg_roles AS r ON r.rolname = 'appstore_' || has_console_role.role
        WHERE p.rolname = has_console_role.person AND pg_has_role(p.oid, r.oid, 'USAGE')
          AND p.rolcanlogin AND (p.rolvaliduntil IS NULL OR p.rolvaliduntil > clock_timestamp()))
$$;

COMMENT ON FUNCTION appstore.has_console_role(person text, role text) IS 'Whether a login that may log in has the rights of appstore_viewer, appstore_operator or appstore_bodies.';

CREATE FUNCTION appstore.has_previous_secret(e appstore.endpoints, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT e.secret_generation > 1 AND coalesce(e.rotated_at > p_now - interval '24 hours', false)
$$;

COMMENT ON FUNCTION appstore.has_previous_secret(e appstore.endpoints, p_now timestamp with time zone) IS 'Whether the secret of the generation before signs as well.';

CREATE FUNCTION appstore.has_tells(p_told pg_snapshot) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_from xid8 := pg_snapshot_xmax(p_told);
    v_open xid8[] := ARRAY(SELECT pg_snapshot_xip(p_told));
BEGIN
    RETURN EXISTS (SELECT FROM appstore.tells AS t WHERE t.xid >= v_from) OR EXISTS (SELECT FROM appstore.tells AS t WHERE t.xid = ANY (v_open));
END
$$;

COMMENT ON FUNCTION appstore.has_tells(p_told pg_snapshot) IS 'Whether tells are committed that this snapshot does not see.';

CREATE FUNCTION appstore.heard_at(p_environment appstore.environment, p_contract text) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT max(heard.at) FROM (
        SELECT o.received_at AS at FROM appstore.outcomes AS o
        WHERE o.original_transaction_id = p_contract AND o.environment = p_environment::text
          AND o.source NOT IN ('subscription_status', 'transaction_info')
        UNION ALL
        SELECT o.received_at FROM appstore.event_contracts AS e
        CROSS JOIN LATERAL (SELECT o.received_at FROM appstore.outcomes AS o WHERE o.event_id = e.event_id OFFSET 0) AS o
        WHERE e.original_transaction_id = p_contract AND e.environment = p_environment) AS heard
$$;

COMMENT ON FUNCTION appstore.heard_at(p_environment appstore.environment, p_contract text) IS 'When the latest settled event about a contract arrived, other than answers to questions; null without one.';

CREATE FUNCTION appstore.held_for(p_endpoint text, p_subject text, p_position bigint, p_now timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    IF appstore.first_waiting(p_endpoint, p_subject) < p_position THEN
        RETURN 600000;
    END IF;
    RETURN appstore.milliseconds(appstore.held_until(p_endpoint, p_subject, p_position, p_now) - p_now);
END
$$;

COMMENT ON FUNCTION appstore.held_for(p_endpoint text, p_subject text, p_position bigint, p_now timestamp with time zone) IS 'For how many milliseconds an entry must wait for earlier ones of its subject: until the ten minutes of the last one that failed are over; or, ten minutes, while one waits itself. Null: it need not.';

CREATE FUNCTION appstore.held_until(p_endpoint text, p_subject text, p_position bigint, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (SELECT d.first_failed_at + interval '10 minutes' FROM appstore.open_deliveries AS d
            WHERE d.endpoint || ' ' || d.subject = p_endpoint || ' ' || p_subject AND d.first_failed_at > p_now - interval '10 minutes'
              AND d.position < p_position AND d.given_up_at IS NULL AND d.first_failed_at IS NOT NULL
            ORDER BY d.first_failed_at DESC LIMIT 1);
END
$$;

COMMENT ON FUNCTION appstore.held_until(p_endpoint text, p_subject text, p_position bigint, p_now timestamp with time zone) IS 'Until when an entry is held by an earlier one of its subject that failed; null: it is not.';

CREATE TABLE appstore.history_cursors (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment NOT NULL,
    mode text DEFAULT 'walk'::text NOT NULL COLLATE pg_catalog."C",
    walks_since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    since timestamp with time zone NOT NULL,
    anchor timestamp with time zone NOT NULL,
    near_until timestamp with time zone NOT NULL,
    second_until timestamp with time zone NOT NULL,
    overlap interval DEFAULT '01:00:00'::interval NOT NULL,
    edge timestamp with time zone,
    covered tstzmultirange DEFAULT '{}'::tstzmultirange NOT NULL,
    CONSTRAINT history_cursors_mode_is_known CHECK ((mode = ANY (ARRAY['walk'::text, 'beside'::text, 'off'::text]))),
    CONSTRAINT history_cursors_overlap_sensible CHECK (((overlap >= '01:00:00'::interval) AND (overlap <= '1 day'::interval)))
);

COMMENT ON TABLE appstore.history_cursors IS 'How far Apple''s notification history was read, of each app and environment whose key a worker has had.';

COMMENT ON COLUMN appstore.history_cursors.mode IS 'walk; beside: another service owns the URL, so that a notification that was delivered elsewhere is normal; off: nothing is asked.';

COMMENT ON COLUMN appstore.history_cursors.walks_since IS 'When the mode became walk, or the row was made. Another server may have taken what was signed before.';

COMMENT ON COLUMN appstore.history_cursors.since IS 'From when on windows were made.';

COMMENT ON COLUMN appstore.history_cursors.anchor IS 'When reading began: the coverage without a hole extends from here in both directions.';

COMMENT ON COLUMN appstore.history_cursors.near_until IS 'The end of the newest window.';

COMMENT ON COLUMN appstore.history_cursors.second_until IS 'The end of the last day that was given a second walk.';

COMMENT ON COLUMN appstore.history_cursors.overlap IS 'How much of the time before it a new window reads again. It doubles, up to a day, when a second walk finds what the first one did not list.';

COMMENT ON COLUMN appstore.history_cursors.edge IS 'Apple refused an earlier start as too far in the past; null while it has refused none.';

COMMENT ON COLUMN appstore.history_cursors.covered IS 'The time that was read completely, by windows with all their pages.';

CREATE FUNCTION appstore.history_cursor(p_bundle_id text, p_environment appstore.environment) RETURNS appstore.history_cursors
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_cursor appstore.history_cursors;
BEGIN
    SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
    WHERE c.bundle_id = p_bundle_id AND c.environment = p_environment FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no worker reads the history of app % in %', quote_nullable(p_bundle_id), p_environment
            USING ERRCODE = 'no_data_found', HINT = 'It begins when a worker runs that has a key of the app for the App Store Server API.';
    END IF;
    RETURN v_cursor;
END
$$;

COMMENT ON FUNCTION appstore.history_cursor(p_bundle_id text, p_environment appstore.environment) IS 'The locked cursor of an app; fails when there is none.';

CREATE FUNCTION appstore.history_limit(environment appstore.environment) RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT CASE environment WHEN 'Sandbox' THEN interval '720 hours' ELSE interval '4320 hours' END $$;

COMMENT ON FUNCTION appstore.history_limit(environment appstore.environment) IS 'For how long Apple keeps the history, as it documents: 180 days, in Sandbox 30.';

CREATE FUNCTION appstore.history_statistics(OUT environments text[], OUT covered_ages double precision[], OUT failing double precision[], OUT counted_environments text[], OUT modes text[], OUT classes text[], OUT records bigint[]) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT e.environments, e.ages, e.failing, c.environments, c.modes, c.classes, c.records
    FROM (SELECT array_agg(of.environment ORDER BY of.environment) AS environments, array_agg(of.age ORDER BY of.environment) AS ages,
                 array_agg(of.failing ORDER BY of.environment) AS failing
          FROM (SELECT s.environment::text, max(extract(epoch FROM s.age))::double precision AS age,
                       coalesce(max(extract(epoch FROM statement_timestamp() - s.failing_since)), 0)::double precision AS failing
                FROM appstore.history_coverage AS s WHERE s.mode <> 'off' GROUP BY s.environment) AS of) AS e
    CROSS JOIN (SELECT array_agg(of.environment) AS environments, array_agg(of.mode) AS modes, array_agg(of.class) AS classes,
                       array_agg(of.records) AS records
                FROM (SELECT n.environment::text, n.mode, n.class, sum(n.records)::bigint AS records
                      FROM appstore.history_counts AS n GROUP BY 1, 2, 3 ORDER BY 1, 2, 3) AS of) AS c
$$;

COMMENT ON FUNCTION appstore.history_statistics(OUT environments text[], OUT covered_ages double precision[], OUT failing double precision[], OUT counted_environments text[], OUT modes text[], OUT classes text[], OUT records bigint[]) IS 'By environment, of apps whose mode is not off: the greatest age of the coverage and the longest time that a window has failed, in seconds; and how many records each class has by environment and mode. Arrays are null where there is nothing.';

CREATE FUNCTION appstore.ignore_revocation(fingerprint bytea, is_ignored boolean DEFAULT true, note text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.certificates AS c SET is_ignored = ignore_revocation.is_ignored
    WHERE c.fingerprint = ignore_revocation.fingerprint AND c.status = 'revoked';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no revoked certificate has the fingerprint %', encode(ignore_revocation.fingerprint, 'hex')
            USING ERRCODE = 'no_data_found', HINT = 'appstore.certificate_status lists the certificates.';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'ignore_revocation', '{}', ignore_revocation.note,
            jsonb_build_object('fingerprint', encode(ignore_revocation.fingerprint, 'hex'), 'is_ignored', ignore_revocation.is_ignored));
END
$$;

COMMENT ON FUNCTION appstore.ignore_revocation(fingerprint bytea, is_ignored boolean, note text) IS 'Decides that a revocation has no effect, or that it has one again. Workers follow within a minute and a half; then requeue what was rejected. It fails with no_data_found when there is no such revoked certificate.';

CREATE FUNCTION appstore.import_of_file(p_bundle_id text, p_environment appstore.environment, p_depth text, p_file_sha256 bytea, p_again boolean) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_import appstore.imports;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('appstore.imports', 0));
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.file_sha256 = p_file_sha256 AND r.bundle_id = p_bundle_id AND r.environment IS NOT DISTINCT FROM p_environment
      AND r.depth = p_depth AND r.state <> 'loading' AND NOT (r.state = 'done' AND coalesce(p_again, false))
      AND NOT (r.state = 'stopped' AND appstore.is_expired(r))
    ORDER BY r.state = 'done', r.import_id DESC LIMIT 1;
    IF v_import.state IN ('paused', 'stopped') THEN
        PERFORM appstore.change_import(v_import.import_id, 'running');
    END IF;
    RETURN v_import.import_id;
END
$$;

COMMENT ON FUNCTION appstore.import_of_file(p_bundle_id text, p_environment appstore.environment, p_depth text, p_file_sha256 bytea, p_again boolean) IS 'The import of a file, which goes on from now on; null where there is none. Until the transaction ends, others wait with the same question.';

CREATE FUNCTION appstore.import_statistics(OUT remaining bigint, OUT eta_seconds double precision) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT coalesce(sum(s.remaining), 0), max(extract(epoch FROM s.time_left))::double precision
    FROM appstore.import_status AS s WHERE s.state = 'running'
$$;

COMMENT ON FUNCTION appstore.import_statistics(OUT remaining bigint, OUT eta_seconds double precision) IS 'Of running imports: how many items are not settled, and the longest time left in seconds; null while no rate is known.';

CREATE FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT isolated bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean, OUT feed_position bigint, OUT feed_untold interval, OUT feed_lag bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    WITH first_due AS MATERIALIZED ( -- 1. the queue from its front; dead entries before it are read once
        SELECT q.run_at FROM appstore.inbox_queue AS q ORDER BY q.run_at, q.event_id LIMIT 1
    ), queue AS MATERIALIZED (
        SELECT coalesce((
                   SELECT due.events FROM first_due CROSS JOIN LATERAL (
                       SELECT count(*) AS events FROM (
                           SELECT FROM appstore.inbox_queue AS q WHERE q.run_at >= first_due.run_at AND q.run_at <= statement_timestamp()
                           ORDER BY q.run_at, q.event_id LIMIT 10000) AS one
                   ) AS due), 0) AS ready,
               (SELECT count(*) FROM (
                    SELECT FROM appstore.inbox_queue AS q WHERE q.run_at > statement_timestamp()
                    ORDER BY q.run_at, q.event_id LIMIT 10000) AS one) AS waiting
    ), snapshots AS ( -- 2. the snapshots that keep dead rows
        SELECT statement_timestamp() - a.xact_start AS age, age(a.backend_xmin)::bigint AS transactions
        FROM pg_stat_activity AS a
        WHERE a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
          AND (a.datname = current_database() OR a.datname IS NULL)
        UNION ALL
        SELECT NULL, age(s.xmin)::bigint FROM pg_replication_slots AS s WHERE s.xmin IS NOT NULL
        UNION ALL
        SELECT statement_timestamp() - p.prepared, age(p.transaction)::bigint FROM pg_prepared_xacts AS p
        WHERE p.database = current_database()
    )
    SELECT q.ready, q.waiting,
           CASE WHEN q.ready < 10000 AND q.waiting < 10000 THEN q.ready + q.waiting
                ELSE greatest(q.ready + q.waiting, pg_stat_get_live_tuples('appstore.inbox_queue'::regclass)) END,
           (SELECT count(*) FROM (SELECT FROM appstore.inbox_queue AS q WHERE q.is_isolated LIMIT 10000) AS one),
           (SELECT count(*) FROM (
                SELECT FROM appstore.outcomes AS o WHERE o.result = 'failed' ORDER BY o.result, o.settled_at LIMIT 10000) AS one),
           (SELECT statement_timestamp() - d.run_at FROM first_due AS d WHERE d.run_at <= statement_timestamp()),
           (SELECT statement_timestamp() - i.received_at
            FROM (SELECT q.event_id FROM appstore.inbox_queue AS q ORDER BY q.event_id LIMIT 1) AS oldest
            CROSS JOIN LATERAL (SELECT i.received_at FROM appstore.inbox AS i WHERE i.event_id = oldest.event_id OFFSET 0) AS i),
           statement_timestamp() - coalesce(
               (SELECT newest.received_at
                FROM (SELECT o.event_id, o.received_at, o.source, o.result FROM appstore.outcomes AS o
                      ORDER BY o.event_id DESC LIMIT 10000) AS newest
                WHERE newest.source IN ('notification_v2', 'notification_v1') AND newest.result NOT IN ('rejected', 'failed', 'discarded')
                ORDER BY newest.event_id DESC LIMIT 1),
               (SELECT o.received_at FROM appstore.outcomes AS o ORDER BY o.event_id DESC OFFSET 9999 LIMIT 1)),
           (SELECT count(*) FROM appstore.batch_markers AS m WHERE m.lost_at IS NOT NULL),
           (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = 'appstore.inbox'::regclass),
           (SELECT greatest(max(s.age), interval '0') FROM snapshots AS s),
           (SELECT coalesce(max(s.transactions), 0) FROM snapshots AS s),
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
           CASE WHEN f.is_on THEN h.position END,
           (SELECT statement_timestamp() - t.told_at FROM appstore.tells AS t -- not those that were open at the latest step
            WHERE t.xid >= coalesce(pg_snapshot_xmax(h.told_snapshot), '0') ORDER BY t.xid, t.tell_id LIMIT 1),
           (SELECT max(h.position - c.position) FROM appstore.feed_consumers AS c)
    INTO ready, waiting, unsettled, isolated, failed, overdue, oldest_unsettled, silence, lost_batches, partitions, snapshot_age,
         snapshot_transactions, sees_all_sessions, feed_position, feed_untold, feed_lag
    FROM queue AS q CROSS JOIN appstore.feed_head AS h CROSS JOIN appstore.feed_switch AS f;
END
$$;

COMMENT ON FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT isolated bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean, OUT feed_position bigint, OUT feed_untold interval, OUT feed_lag bigint) IS 'The inbox in numbers, of one instant. Counts stop at 10,000, which then means as many or more. overdue: how long the first due event has been due; oldest_unsettled: since the arrival of the first event without an outcome; silence: since the last genuine notification, at least; snapshot_*: the oldest snapshot that keeps vacuum from removing dead rows, of all sessions if sees_all_sessions; feed_position: null while the feed is off; feed_untold: since the oldest change without a position in the feed; feed_lag: how many entries the last named consumer has not taken.';

CREATE FUNCTION appstore.instant_text(at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$ SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

COMMENT ON FUNCTION appstore.instant_text(at timestamp with time zone) IS 'An instant as RFC 3339 in UTC, with milliseconds.';

CREATE FUNCTION appstore.is_alive(k appstore.api_keys) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT k.revoked_at IS NULL AND (k.expires_at IS NULL OR statement_timestamp() < k.expires_at)
$$;

COMMENT ON FUNCTION appstore.is_alive(k appstore.api_keys) IS 'Whether a key permits anything: it is neither revoked nor expired.';

CREATE TABLE appstore.imports (
    import_id integer NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment,
    depth text NOT NULL COLLATE pg_catalog."C",
    file_name text NOT NULL,
    file_sha256 bytea,
    state text DEFAULT 'loading'::text NOT NULL COLLATE pg_catalog."C",
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    touched_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    items integer DEFAULT 0 NOT NULL,
    last_line integer DEFAULT 0 NOT NULL,
    next_line integer DEFAULT 1 NOT NULL,
    repeated integer DEFAULT 0 NOT NULL,
    bad_lines integer DEFAULT 0 NOT NULL,
    found integer DEFAULT 0 NOT NULL,
    covered integer DEFAULT 0 NOT NULL,
    unknown integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    CONSTRAINT imports_depth_is_known CHECK ((depth = ANY (ARRAY['statuses'::text, 'history'::text]))),
    CONSTRAINT imports_ended_in_the_end CHECK (((state = ANY (ARRAY['stopped'::text, 'done'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT imports_file_is_known CHECK (((state = 'loading'::text) OR (octet_length(file_sha256) = 32))),
    CONSTRAINT imports_state_is_known CHECK ((state = ANY (ARRAY['loading'::text, 'running'::text, 'paused'::text, 'stopped'::text, 'done'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

COMMENT ON TABLE appstore.imports IS 'The imports of files with ids of customers, one row each. appstore.import_status shows them with their progress.';

COMMENT ON COLUMN appstore.imports.import_id IS 'The number of the import.';

COMMENT ON COLUMN appstore.imports.environment IS 'The environment of all items that name none; null to ask Production first, then Sandbox.';

COMMENT ON COLUMN appstore.imports.depth IS 'statuses: what customers may use today. history: all their transactions.';

COMMENT ON COLUMN appstore.imports.file_name IS 'The name of the file, for people.';

COMMENT ON COLUMN appstore.imports.file_sha256 IS 'By this the same file is known again; null while it is loaded.';

COMMENT ON COLUMN appstore.imports.state IS 'loading: the file is being read; running; paused; stopped: an operator ended it; done.';

COMMENT ON COLUMN appstore.imports.made_by IS 'The login that began it, and the actor of its owner links.';

COMMENT ON COLUMN appstore.imports.made_at IS 'When it was begun, and from when its owner links count.';

COMMENT ON COLUMN appstore.imports.touched_at IS 'When a part of the file was loaded last. An import that was not touched for an hour while it loads is removed.';

COMMENT ON COLUMN appstore.imports.ended_at IS 'When it was stopped or done.';

COMMENT ON COLUMN appstore.imports.items IS 'Items, each id once.';

COMMENT ON COLUMN appstore.imports.last_line IS 'The greatest line of its items.';

COMMENT ON COLUMN appstore.imports.next_line IS 'The first line that is in no chunk yet.';

COMMENT ON COLUMN appstore.imports.repeated IS 'Lines whose id an earlier line had.';

COMMENT ON COLUMN appstore.imports.bad_lines IS 'Lines that were not imported.';

COMMENT ON COLUMN appstore.imports.found IS 'Items in this state; this column and the following ones without those that a chunk has not reported yet.';

COMMENT ON COLUMN appstore.imports.covered IS 'Items in this state.';

COMMENT ON COLUMN appstore.imports.unknown IS 'Items in the state unknown_to_apple.';

COMMENT ON COLUMN appstore.imports.failed IS 'Items in this state.';

CREATE FUNCTION appstore.is_expired(p_import appstore.imports) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT p_import.ended_at < statement_timestamp() - interval '90 days'
$$;

COMMENT ON FUNCTION appstore.is_expired(p_import appstore.imports) IS 'Whether the ids of an import may have been deleted, 90 days after its end: it cannot go on.';

CREATE FUNCTION appstore.is_feed_needed(p_before bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (SELECT FROM appstore.feed_consumers AS c WHERE c.position < p_before - 1)
        OR EXISTS (
            SELECT FROM appstore.endpoints AS e
            WHERE e.state = 'enabled'
              AND (e.position < p_before - 1
                   OR EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.position < p_before)
                   OR EXISTS (SELECT FROM appstore.redeliveries AS r WHERE r.endpoint = e.name AND r.state = 'open' AND r.after < p_before - 1)));
END
$$;

COMMENT ON FUNCTION appstore.is_feed_needed(p_before bigint) IS 'Whether a consumer, or an enabled endpoint with its open deliveries and redeliveries, has not got all entries before this position.';

CREATE FUNCTION appstore.is_known_purchase(environment appstore.environment, original_transaction_id text, bundle_ids text[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (SELECT FROM appstore.transactions AS t
                   WHERE t.original_transaction_id = is_known_purchase.original_transaction_id
                     AND t.environment = is_known_purchase.environment
                     AND (is_known_purchase.bundle_ids IS NULL OR t.bundle_id = ANY (is_known_purchase.bundle_ids)))
        OR (is_known_purchase.bundle_ids IS NULL
            AND EXISTS (SELECT FROM appstore.contracts AS m
                        WHERE m.original_transaction_id = is_known_purchase.original_transaction_id
                          AND m.environment = is_known_purchase.environment));
END
$$;

COMMENT ON FUNCTION appstore.is_known_purchase(environment appstore.environment, original_transaction_id text, bundle_ids text[]) IS 'Whether a transaction or contract is known by this id, of one of these apps; null bundle_ids are any.';

CREATE FUNCTION appstore.is_newer(fact_date timestamp with time zone, fact_hash bytea, known_date timestamp with time zone, known_hash bytea) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT fact_date IS NOT NULL AND (known_date IS NULL OR (fact_date, fact_hash) > (known_date, known_hash))
$$;

COMMENT ON FUNCTION appstore.is_newer(fact_date timestamp with time zone, fact_hash bytea, known_date timestamp with time zone, known_hash bytea) IS 'Whether a fact is newer than the known one: by its date, then by its hash. A date is null where there is no fact.';

CREATE FUNCTION appstore.is_of_earlier_period(p_renewal_status integer, p_renewal_date timestamp with time zone, p_purchase_date timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce(p_renewal_status IN (2, 3, 4, 5) AND p_renewal_date <= p_purchase_date, false)
$$;

COMMENT ON FUNCTION appstore.is_of_earlier_period(p_renewal_status integer, p_renewal_date timestamp with time zone, p_purchase_date timestamp with time zone) IS 'Whether a register says how the period before the current charge ended, as a replica of Apple''s that lags does, and so does the register that was known before the charge.';

CREATE FUNCTION appstore.is_refund_in_doubt(p_environment appstore.environment, p_transaction_id text, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (SELECT FROM appstore.consumption_obligations AS c
                   WHERE c.transaction_id = p_transaction_id AND c.environment = p_environment AND c.outcome IS NULL
                     AND c.asked_at <= p_now - interval '48 hours' OFFSET 0)
$$;

COMMENT ON FUNCTION appstore.is_refund_in_doubt(p_environment appstore.environment, p_transaction_id text, p_now timestamp with time zone) IS 'Whether Apple asked about a refund of the charge 48 hours ago, and no decision came.';

CREATE FUNCTION appstore.is_stale(p_rule text, m appstore.contracts, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(
        CASE p_rule
            WHEN 'expired_silent' THEN
                m.will_renew AND coalesce(m.status, 1) NOT IN (2, 3, 4, 5) AND m.revoked_at IS NULL
                AND m.current_period_end <= p_now - interval '1 hour' AND m.access_until <= p_now - interval '1 hour'
            WHEN 'in_retry' THEN m.status IN (3, 4) AND m.current_period_end > p_now - interval '1441 hours' -- 60 days, and the hour of the question
            WHEN 'no_renewal_info' THEN
                (m.renewal_signed_date IS NULL AND m.will_renew IS NULL
                 OR appstore.is_of_earlier_period(m.renewal_status, m.renewal_date, m.current_period_start))
                AND m.current_period_end IS NOT NULL
                AND coalesce(m.product_type, 'Auto-Renewable Subscription') = 'Auto-Renewable Subscription'
            WHEN 'price_consent' THEN
                m.price_increase_status = 0 AND m.will_renew AND m.current_period_end BETWEEN p_now AND p_now + interval '72 hours'
        END, false)
$$;

COMMENT ON FUNCTION appstore.is_stale(p_rule text, m appstore.contracts, p_now timestamp with time zone) IS 'Whether a rule holds for a contract. revoked_doubt is about a refund request, not about a contract.';

CREATE FUNCTION appstore.lease_certificate(p_seconds integer) RETURNS TABLE(fingerprint bytea, epoch bigint, certificate bytea, issuer bytea, failures integer, this_update bigint, now_ms bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    UPDATE appstore.certificates AS c SET epoch = c.epoch + 1, leased_until = v_now + p_seconds * interval '1 second'
    WHERE c.fingerprint = (
        SELECT due.fingerprint FROM appstore.certificates AS due
        WHERE due.run_at <= v_now AND due.seen_at > v_now - interval '30 days' AND (due.leased_until < v_now OR due.leased_until IS NULL)
        ORDER BY due.run_at, due.fingerprint LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING c.fingerprint, c.epoch, c.certificate, c.issuer, c.failures, extract(epoch FROM c.this_update)::bigint,
              (extract(epoch FROM v_now) * 1000)::bigint;
END
$$;

COMMENT ON FUNCTION appstore.lease_certificate(p_seconds integer) IS 'Leases the certificate that has been due for longest, was seen within 30 days and is no other worker''s, for so many seconds. No row: none is.';

CREATE FUNCTION appstore.lease_endpoints(p_slots integer, p_seconds integer) RETURNS TABLE(name text, endpoint_id uuid, epoch bigint, url text, format text, keeps_order boolean, max_in_flight integer, max_per_second integer, timeout_seconds integer, secret_generation integer, previous_secret boolean, "position" bigint, failures integer, failing_since_ms bigint, open_for_ms bigint, probes integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH free AS MATERIALIZED (
        SELECT e.name FROM appstore.endpoints AS e
        WHERE e.state = 'enabled' AND (e.leased_until < v_now OR e.leased_until IS NULL)
        ORDER BY e.leased_until NULLS FIRST, e.name LIMIT p_slots FOR UPDATE SKIP LOCKED
    ), leased AS (
        UPDATE appstore.endpoints AS e
        SET epoch = e.epoch + 1, leased_until = v_now + p_seconds * interval '1 second', due_from = appstore.first_due(e.name, '-infinity', v_now)
        WHERE e.name = ANY (ARRAY(SELECT free.name FROM free))
        RETURNING e.*
    )
    SELECT e.name, e.endpoint_id, e.epoch, e.url, e.format, e.keeps_order, e.max_in_flight, e.max_per_second, e.timeout_seconds,
           e.secret_generation, appstore.has_previous_secret(e, v_now), least(e.position, h.position), e.failures,
           appstore.milliseconds(v_now - e.failing_since),
           CASE WHEN e.open_until IS NOT NULL THEN greatest(appstore.milliseconds(e.open_until - v_now), 0) END, e.probes
    FROM leased AS e CROSS JOIN appstore.feed_head AS h;
END
$$;

COMMENT ON FUNCTION appstore.lease_endpoints(p_slots integer, p_seconds integer) IS 'Leases enabled endpoints that no worker has, at most p_slots, for so many seconds, and returns what a worker needs to serve them.';

CREATE FUNCTION appstore.lease_history_windows(p_bundle_ids text[], p_environments appstore.environment[], p_near integer, p_days integer, p_seconds integer) RETURNS TABLE(window_id bigint, epoch bigint, bundle_id text, environment appstore.environment, kind text, starts_at timestamp with time zone, ends_at timestamp with time zone, token text, is_read boolean, failures integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    -- What lies before the edge is not asked for again: a window without pages starts there.
    UPDATE appstore.history_windows AS w
    SET starts_at = least(c.edge, w.ends_at), state = CASE WHEN w.ends_at <= c.edge THEN 'too_old' ELSE 'open' END,
        closed_at = CASE WHEN w.ends_at <= c.edge THEN v_now END, failing_since = CASE WHEN w.ends_at > c.edge THEN w.failing_since END,
        is_leased = false
    FROM unnest(p_bundle_ids, p_environments) AS l (b, e)
    JOIN appstore.history_cursors AS c ON c.bundle_id = l.b AND c.environment = l.e
    WHERE w.bundle_id = l.b AND w.environment = l.e AND w.state = 'open' AND w.run_at <= v_now AND w.token IS NULL AND NOT w.is_read
      AND w.starts_at < c.edge;
    RETURN QUERY
    WITH due AS MATERIALIZED (
        SELECT w.window_id
        FROM unnest(p_bundle_ids, p_environments) AS l (b, e)
        JOIN appstore.history_cursors AS c ON c.bundle_id = l.b AND c.environment = l.e AND c.mode <> 'off'
        JOIN appstore.history_windows AS w ON w.bundle_id = l.b AND w.environment = l.e AND w.state = 'open'
        WHERE w.run_at <= v_now AND w.kind = 'near'
        ORDER BY w.ends_at DESC LIMIT p_near FOR UPDATE OF w SKIP LOCKED
    ), due_days AS MATERIALIZED (
        SELECT w.window_id
        FROM unnest(p_bundle_ids, p_environments) AS l (b, e)
        JOIN appstore.history_cursors AS c ON c.bundle_id = l.b AND c.environment = l.e AND c.mode <> 'off'
        JOIN appstore.history_windows AS w ON w.bundle_id = l.b AND w.environment = l.e AND w.state = 'open'
        WHERE w.run_at <= v_now AND w.kind <> 'near'
        ORDER BY w.kind, w.ends_at DESC LIMIT p_days FOR UPDATE OF w SKIP LOCKED
    )
    UPDATE appstore.history_windows AS w
    SET epoch = w.epoch + 1, is_leased = true, run_at = v_now + make_interval(secs => p_seconds)
    WHERE w.window_id IN (SELECT due.window_id FROM due UNION ALL SELECT due_days.window_id FROM due_days)
    RETURNING w.window_id, w.epoch, w.bundle_id, w.environment, w.kind, w.starts_at, w.ends_at, w.token, w.is_read, w.failures;
END
$$;

COMMENT ON FUNCTION appstore.lease_history_windows(p_bundle_ids text[], p_environments appstore.environment[], p_near integer, p_days integer, p_seconds integer) IS 'Leases due windows of these apps, newest first, p_near of the near walk and p_days others, days before second walks. A lease that has expired is due.';

CREATE FUNCTION appstore.lease_import_chunks(p_bundle_ids text[], p_environments appstore.environment[], p_depths text[], p_slots integer[], p_seconds integer) RETURNS TABLE(import_id integer, first_line integer, epoch bigint, bundle_id text, environment appstore.environment, depth text, failures integer, lines integer[], ids text[], revisions text[], is_given boolean[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_now   timestamptz;
    v_lane  record;
    v_chunk appstore.import_chunks;
    v_left  integer;
    v_made  integer;
BEGIN
    FOR v_lane IN
        SELECT l.* FROM unnest(p_bundle_ids, p_environments, p_depths, p_slots) AS l (bundle_id, environment, depth, slots)
        WHERE l.slots > 0 ORDER BY 1, 2, 3
    LOOP
        v_left := v_lane.slots;
        v_made := 0;
        WHILE v_left > 0 LOOP
            -- 1. A chunk that is due, of the oldest import first.
            v_now := clock_timestamp();
            SELECT c.* INTO v_chunk
            FROM appstore.imports AS r
            CROSS JOIN LATERAL (
                SELECT c.* FROM appstore.import_chunks AS c
                WHERE c.import_id = r.import_id AND c.run_at <= v_now AND c.environment = v_lane.environment AND c.phase <> 'link'
                ORDER BY c.run_at LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS c
            WHERE r.bundle_id = v_lane.bundle_id AND r.depth = v_lane.depth AND r.state = 'running'
            ORDER BY r.import_id LIMIT 1;
            IF NOT FOUND THEN
                -- 2. Or the next lines. They may belong to another lane, which finds them due. Most belong to Production: Sandbox makes none
                --    while some of these are left.
                v_made := v_made + 1;
                EXIT WHEN v_made > v_lane.slots OR (v_lane.environment = 'Sandbox' AND EXISTS (
                    SELECT FROM appstore.imports AS r
                    CROSS JOIN LATERAL (
                        SELECT FROM appstore.import_chunks AS c
                        WHERE c.import_id = r.import_id AND c.run_at <= v_now AND c.environment = 'Production' AND c.phase <> 'link' LIMIT 1
                    ) AS c
                    WHERE r.bundle_id = v_lane.bundle_id AND r.depth = v_lane.depth AND r.state = 'running'));
                v_chunk := appstore.make_import_chunk(v_lane.bundle_id, v_lane.environment, v_lane.depth);
                EXIT WHEN v_chunk.import_id IS NULL;
                CONTINUE;
            END IF;
            UPDATE appstore.import_chunks AS c
            SET epoch = c.epoch + 1, is_leased = true, run_at = v_now + make_interval(secs => p_seconds),
                -- A silence in which it was not asked is none.
                silent_since = CASE WHEN v_chunk.run_at > v_now - interval '1 day' THEN c.silent_since END
            WHERE c.import_id = v_chunk.import_id AND c.first_line = v_chunk.first_line;
            v_left := v_left - 1;
            -- 3. Its items. A file's revision is asked from before one of an earlier import.
            RETURN QUERY
            SELECT v_chunk.import_id, v_chunk.first_line, v_chunk.epoch + 1, v_lane.bundle_id, v_lane.environment, v_lane.depth, v_chunk.failures,
                   array_agg(i.line ORDER BY i.line), array_agg(i.id ORDER BY i.line),
                   array_agg(coalesce(i.revision, k.revision) ORDER BY i.line), array_agg(i.is_given ORDER BY i.line)
            FROM appstore.import_items AS i
            LEFT JOIN LATERAL (
                SELECT k.revision FROM appstore.customer_revisions AS k
                WHERE k.original_transaction_id = i.id AND k.environment = i.environment AND v_lane.depth = 'history' OFFSET 0
            ) AS k ON true
            WHERE i.import_id = v_chunk.import_id AND i.line >= v_chunk.first_line AND i.line < v_chunk.end_line
              AND i.environment = v_chunk.environment
              AND i.state = CASE v_chunk.phase WHEN 'again' THEN 'again' ELSE 'open' END::appstore.import_item_state
            HAVING count(*) > 0;
            IF NOT FOUND THEN -- an answer about other items has covered all of them
                PERFORM appstore.end_import_lease(v_chunk.import_id, v_chunk.first_line, v_chunk.epoch + 1, NULL, interval '0', false);
            END IF;
        END LOOP;
    END LOOP;
END
$$;

COMMENT ON FUNCTION appstore.lease_import_chunks(p_bundle_ids text[], p_environments appstore.environment[], p_depths text[], p_slots integer[], p_seconds integer) IS 'Leases chunks of running imports of these apps, environments and depths, up to p_slots of each, with the items to ask. A lease that has expired is due.';

CREATE FUNCTION appstore.ledger_about(p_environment appstore.environment, p_contract text, p_transaction_id text, OUT status integer, OUT will_renew boolean, OUT current_period_end timestamp with time zone, OUT revoked_at timestamp with time zone, OUT access_until timestamp with time zone, OUT app_transaction_id text) RETURNS record
    LANGUAGE sql STABLE
    AS $$
    SELECT m.status, m.will_renew, m.current_period_end, CASE WHEN p_transaction_id IS NULL THEN m.revoked_at ELSE t.revocation_date END,
           m.access_until, m.renewal_app_transaction_id
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
        SELECT m.* FROM appstore.contracts AS m
        WHERE m.original_transaction_id = p_contract AND m.environment = p_environment OFFSET 0
    ) AS m ON true
    LEFT JOIN LATERAL (
        SELECT t.revocation_date FROM appstore.transactions AS t
        WHERE t.transaction_id = p_transaction_id AND t.environment = p_environment OFFSET 0
    ) AS t ON true
$$;

COMMENT ON FUNCTION appstore.ledger_about(p_environment appstore.environment, p_contract text, p_transaction_id text, OUT status integer, OUT will_renew boolean, OUT current_period_end timestamp with time zone, OUT revoked_at timestamp with time zone, OUT access_until timestamp with time zone, OUT app_transaction_id text) IS 'What the ledger says of a contract, and of a charge where one is given. Without a contract in the ledger all is null.';

CREATE FUNCTION appstore.link_import_owner(p_import appstore.imports, p_environment appstore.environment, p_contract text, p_user_id text) RETURNS text
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_contract IS NULL OR NOT appstore.is_known_purchase(p_environment, p_contract, ARRAY[p_import.bundle_id]) THEN
        RETURN 'not_linked';
    END IF;
    PERFORM appstore.lock_for_link(p_environment, p_contract);
    -- Of two lines of one contract the first one that comes here counts.
    IF NOT EXISTS (SELECT FROM appstore.owner_links AS l
                   WHERE l.original_transaction_id = p_contract AND l.environment = p_environment AND l.import_id = p_import.import_id) THEN
        PERFORM appstore.record_owner_link(p_environment, p_contract, p_user_id, p_import.made_at, p_import.made_by,
                                           'import ' || p_import.import_id, p_import.import_id);
    END IF;
    RETURN CASE WHEN NOT EXISTS (
        SELECT FROM appstore.ownership_claims AS c
        WHERE c.original_transaction_id = p_contract AND c.environment = p_environment AND c.user_id = p_user_id) THEN 'not_owner' END;
END
$$;

COMMENT ON FUNCTION appstore.link_import_owner(p_import appstore.imports, p_environment appstore.environment, p_contract text, p_user_id text) IS 'Links a user of an import to a contract, and returns why the user is no owner: null, not_linked where no such purchase is known, or not_owner.';

CREATE FUNCTION appstore.link_import_owners() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_chunk  appstore.import_chunks;
    v_import appstore.imports;
    v_item   record;
    v_reason text;
    v_waits  boolean := false;
BEGIN
    -- 1. A chunk. One that is leased would let its worker wait for the contracts.
    SELECT c.* INTO v_chunk FROM appstore.import_links_due AS d
    CROSS JOIN LATERAL (
        SELECT c.* FROM appstore.import_chunks AS c
        WHERE c.import_id = d.import_id AND c.first_line = d.first_line AND NOT (c.is_leased AND c.run_at > clock_timestamp())
        FOR UPDATE SKIP LOCKED
    ) AS c
    LIMIT 1;
    IF NOT FOUND THEN
        SELECT c.* INTO v_chunk FROM appstore.import_chunks AS c
        WHERE c.link_at <= clock_timestamp() AND NOT (c.is_leased AND c.run_at > clock_timestamp()) ORDER BY c.link_at LIMIT 1
        FOR UPDATE SKIP LOCKED;
    END IF;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Before its items are read: what is covered later is another row.
    DELETE FROM appstore.import_links_due AS d WHERE d.import_id = v_chunk.import_id AND d.first_line = v_chunk.first_line;
    SELECT r.* INTO v_import FROM appstore.imports AS r WHERE r.import_id = v_chunk.import_id;
    -- 2. Each user, and the contract of the id: the id is that contract, or a transaction of it in the ledger, or its answer had no other one.
    FOR v_item IN
        WITH item AS MATERIALIZED (
            SELECT i.line, i.id, i.environment, i.user_id, i.event_id, i.last_event_id FROM appstore.import_items AS i
            WHERE i.import_id = v_chunk.import_id AND i.line >= v_chunk.first_line AND i.line < v_chunk.end_line
              AND i.state IN ('found', 'covered') AND i.user_id IS NOT NULL AND i.reason IS NULL
            ORDER BY i.line FOR UPDATE
        ), waiting AS MATERIALIZED ( -- each answer once: while a snapshot is held, it costs all that was settled in its range
            SELECT answer.event_id, answer.last_event_id FROM (SELECT DISTINCT item.event_id, item.last_event_id FROM item) AS answer
            CROSS JOIN LATERAL ( -- events of others among them only delay it
                SELECT FROM appstore.inbox_queue AS q WHERE q.event_id BETWEEN answer.event_id AND answer.last_event_id LIMIT 1
            ) AS q
        )
        SELECT item.line, item.environment, item.user_id,
               EXISTS (SELECT FROM waiting AS w WHERE w.event_id = item.event_id AND w.last_event_id = item.last_event_id) AS is_waiting,
               CASE WHEN appstore.is_known_purchase(item.environment, item.id, ARRAY[v_import.bundle_id]) THEN item.id
                    ELSE coalesce(t.original_transaction_id, o.original_transaction_id) END AS contract
        FROM item
        LEFT JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.transaction_id = item.id AND t.environment = item.environment AND t.bundle_id = v_import.bundle_id OFFSET 0
        ) AS t ON true
        LEFT JOIN LATERAL (
            SELECT o.original_transaction_id FROM appstore.outcomes AS o
            WHERE o.event_id = item.event_id AND item.event_id = item.last_event_id AND v_import.depth = 'statuses' OFFSET 0
        ) AS o ON true
        ORDER BY item.environment, 5, item.line -- contracts in the order in which a merge locks them
    LOOP
        IF v_item.is_waiting THEN
            v_waits := true;
            CONTINUE;
        END IF;
        BEGIN
            v_reason := appstore.link_import_owner(v_import, v_item.environment, v_item.contract, v_item.user_id);
        EXCEPTION WHEN cardinality_violation OR data_exception OR integrity_constraint_violation OR program_limit_exceeded OR plpgsql_error THEN
            -- What the data cause: one line never stops the others.
            v_reason := 'database_' || SQLSTATE;
        END;
        UPDATE appstore.import_items AS i SET user_id = CASE WHEN v_reason IS NOT NULL THEN i.user_id END, reason = v_reason
        WHERE i.import_id = v_chunk.import_id AND i.line = v_item.line;
    END LOOP;
    -- 3. The chunk.
    IF v_chunk.phase = 'link' AND NOT v_waits THEN
        PERFORM appstore.remove_import_chunk(v_chunk);
    ELSE
        UPDATE appstore.import_chunks AS c SET link_at = CASE WHEN v_waits THEN clock_timestamp() + interval '2 seconds' END
        WHERE c.import_id = v_chunk.import_id AND c.first_line = v_chunk.first_line;
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.link_import_owners() IS 'Makes the users of a chunk owners, where the events of their items have left the queue, whatever the state of the import. Returns whether a chunk was due that is not leased. Where it fails with 40P01 or 55P03, call it again.';

CREATE FUNCTION appstore.link_owner(environment appstore.environment, original_transaction_id text, user_id text, note text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_environment(environment),
            appstore.check_argument(char_length(user_id) BETWEEN 1 AND 255, 'user_id must have 1 to 255 characters',
                                    'Give the id that your own system has for the user.');
    IF NOT appstore.is_known_purchase(environment, original_transaction_id, NULL) THEN
        RAISE EXCEPTION 'no purchase is known in % with original_transaction_id %', environment, quote_nullable(original_transaction_id)
            USING ERRCODE = 'no_data_found', HINT = 'Give the originalTransactionId, not the id of a renewal, and the right environment.';
    END IF;
    PERFORM appstore.lock_for_link(environment, original_transaction_id);
    PERFORM appstore.record_owner_link(link_owner.environment, link_owner.original_transaction_id, link_owner.user_id, clock_timestamp(),
                                       appstore.actor(), link_owner.note);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'link_owner', '{}', link_owner.note,
            jsonb_build_object('environment', link_owner.environment, 'original_transaction_id', link_owner.original_transaction_id,
                               'user_id', link_owner.user_id));
END
$$;

COMMENT ON FUNCTION appstore.link_owner(environment appstore.environment, original_transaction_id text, user_id text, note text) IS 'Makes a user the owner of a contract, or of a consumable, from now on; earlier periods keep their users. It fails with no_data_found when no purchase with this originalTransactionId is known. Where it fails with 40P01 or 55P03, call it again.';

CREATE FUNCTION appstore.live_effects(p_environment appstore.environment, p_effect_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM appstore.live_since) THEN
        RETURN p_effect_ids;
    END IF;
    RETURN ARRAY(
        SELECT e.effect_id
        FROM unnest(p_effect_ids) AS new (id)
        CROSS JOIN LATERAL (SELECT e.* FROM appstore.effect_log AS e WHERE e.effect_id = new.id OFFSET 0) AS e
        LEFT JOIN LATERAL (
            SELECT t.bundle_id FROM appstore.transactions AS t WHERE t.transaction_id = e.transaction_id AND t.environment = p_environment OFFSET 0
        ) AS t ON true
        LEFT JOIN LATERAL (
            SELECT m.bundle_id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = p_environment OFFSET 0
        ) AS m ON true
        LEFT JOIN LATERAL (
            SELECT l.since FROM appstore.live_since AS l WHERE l.bundle_id = coalesce(t.bundle_id, m.bundle_id, e.vouched_bundle_id) OFFSET 0
        ) AS l ON true
        WHERE (e.occurred_at < l.since) IS NOT TRUE);
END
$$;

COMMENT ON FUNCTION appstore.live_effects(p_environment appstore.environment, p_effect_ids uuid[]) IS 'Those of the effects that are news: that did not occur before the instant in appstore.live_since of their app. The one place where this is decided.';

CREATE FUNCTION appstore.lock_contracts(p_environment appstore.environment, p_ids text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked  text[];
    v_missing text[];
    v_held    bigint;
BEGIN
    v_locked := ARRAY(
        SELECT locked.id FROM unnest(p_ids) AS contract (id)
        CROSS JOIN LATERAL (
            SELECT m.original_transaction_id AS id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = contract.id AND m.environment = p_environment FOR UPDATE SKIP LOCKED
        ) AS locked);
    IF cardinality(v_locked) < cardinality(p_ids) THEN
        v_missing := ARRAY(SELECT unnest(p_ids) EXCEPT SELECT unnest(v_locked));
        IF EXISTS (SELECT FROM appstore.contracts AS m WHERE m.original_transaction_id = ANY (v_missing) AND m.environment = p_environment) THEN
            PERFORM appstore.give_way();
        END IF;
        -- Waits for rows that other transactions are inserting. PostgreSQL ends a transaction where they wait for one another.
        INSERT INTO appstore.contracts (environment, original_transaction_id)
        SELECT p_environment, contract.id FROM unnest(v_missing) AS contract (id) ORDER BY contract.id COLLATE "C"
        ON CONFLICT (original_transaction_id, environment) DO NOTHING;
        GET DIAGNOSTICS v_held = ROW_COUNT;
        IF v_held < cardinality(v_missing) THEN
            PERFORM FROM appstore.contracts AS m
            WHERE m.original_transaction_id = ANY (v_missing) AND m.environment = p_environment FOR UPDATE SKIP LOCKED;
            GET DIAGNOSTICS v_held = ROW_COUNT;
            IF v_held < cardinality(v_missing) THEN
                PERFORM appstore.give_way();
            END IF;
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.lock_contracts(p_environment appstore.environment, p_ids text[]) IS 'Locks these contracts, each named once, and makes the missing rows. Calls give_way instead of waiting for a row that another transaction holds; waits only for one that another transaction is making.';

CREATE FUNCTION appstore.lock_feed_switch(e appstore.endpoints) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '500ms'
    AS $$
BEGIN
    LOCK TABLE appstore.feed_switch IN SHARE ROW EXCLUSIVE MODE; -- one at a time, so that the next lock cannot deadlock
    IF appstore.wants_raw(e) AND NOT (SELECT s.wants_raw FROM appstore.feed_switch AS s) THEN
        LOCK TABLE appstore.feed_switch IN ACCESS EXCLUSIVE MODE;
    END IF;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'another transaction uses the switch of the feed: try again' USING ERRCODE = 'lock_not_available', HINT =
        'Nothing was changed. pg_stat_activity shows transactions that stay open.';
END
$$;

COMMENT ON FUNCTION appstore.lock_feed_switch(e appstore.endpoints) IS 'Locks the switch of the feed before an endpoint is made or changed. The first one that wants notifications waits for the transactions that have read the switch, so that each event that is settled later is told.';

CREATE FUNCTION appstore.lock_for_link(environment appstore.environment, original_transaction_id text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.begin_to_store();
    PERFORM FROM appstore.contracts AS m
    WHERE m.original_transaction_id = lock_for_link.original_transaction_id AND m.environment = lock_for_link.environment FOR UPDATE;
    -- A consumable may have no contract to lock, only transactions.
    PERFORM FROM appstore.transactions AS t
    WHERE t.environment = lock_for_link.environment AND t.original_transaction_id = lock_for_link.original_transaction_id
    ORDER BY t.transaction_id FOR UPDATE;
END
$$;

COMMENT ON FUNCTION appstore.lock_for_link(environment appstore.environment, original_transaction_id text) IS 'Locks a contract and its transactions, in the order in which a merge locks. A link is dated and the links before it are read under these locks.';

CREATE FUNCTION appstore.lock_for_order(order_no uuid) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_no uuid := lock_for_order.order_no;
BEGIN
    PERFORM appstore.demand_read_committed();
    -- The order must be on disk before a client gets it: nothing else names the user of its purchase.
    PERFORM appstore.begin_to_store();
    PERFORM FROM (
        SELECT naming.environment, naming.original_transaction_id AS id FROM appstore.transactions AS naming
        WHERE naming.first_token = v_no
        UNION
        SELECT naming.environment, naming.original_transaction_id FROM appstore.transactions AS naming
        WHERE naming.app_account_token = v_no AND naming.app_account_token <> naming.first_token
        ORDER BY 1, 2
    ) AS contract
    CROSS JOIN LATERAL (
        SELECT FROM appstore.contracts AS m
        WHERE m.original_transaction_id = contract.id AND m.environment = contract.environment FOR UPDATE
    ) AS locked;
    PERFORM FROM appstore.transactions AS t
    WHERE t.transaction_id = ANY (ARRAY(
        SELECT naming.transaction_id FROM appstore.transactions AS naming WHERE naming.first_token = v_no
        UNION
        SELECT naming.transaction_id FROM appstore.transactions AS naming
        WHERE naming.app_account_token = v_no AND naming.app_account_token <> naming.first_token))
    ORDER BY t.environment, t.transaction_id FOR UPDATE;
    -- A concurrent merge that inserts the Sandbox twin takes the same lock, so that one of the two sees the other.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
END
$$;

COMMENT ON FUNCTION appstore.lock_for_order(order_no uuid) IS 'Locks the contracts and the transactions that name an order, in both environments, and then the order number itself, in the order in which a merge locks.';

CREATE FUNCTION appstore.lock_orders(p_environment appstore.environment, p_tokens uuid[], p_waits boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_there bigint;
BEGIN
    -- A Sandbox twin copies the shop's order in Production: both are made under the same lock.
    IF p_environment = 'Sandbox' AND p_waits THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(token.order_no::text, 0)) FROM unnest(p_tokens) AS token (order_no);
    ELSIF p_environment = 'Sandbox' AND NOT (
        SELECT bool_and(pg_try_advisory_xact_lock(hashtextextended(token.order_no::text, 0))) FROM unnest(p_tokens) AS token (order_no)) THEN
        PERFORM appstore.give_way();
    END IF;
    FOR attempt IN 1..2 LOOP
        IF p_waits THEN
            PERFORM FROM unnest(p_tokens) AS token (order_no)
            CROSS JOIN LATERAL (
                SELECT FROM appstore.orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment FOR UPDATE
            ) AS locked;
        ELSE
            PERFORM FROM unnest(p_tokens) AS token (order_no)
            CROSS JOIN LATERAL (
                SELECT FROM appstore.orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment FOR UPDATE SKIP LOCKED
            ) AS locked;
        END IF;
        GET DIAGNOSTICS v_there = ROW_COUNT;
        EXIT WHEN attempt = 2 OR v_there = cardinality(p_tokens);
        INSERT INTO appstore.orders (environment, order_no, user_id, product_id, bundle_id, ordered_at)
        SELECT p_environment, token.order_no, ordered.user_id, ordered.product_id, ordered.bundle_id, ordered.ordered_at
        FROM unnest(p_tokens) AS token (order_no)
        LEFT JOIN LATERAL (
            SELECT o.user_id, o.product_id, o.bundle_id, o.ordered_at FROM appstore.orders AS o
            WHERE o.order_no = token.order_no AND o.environment = 'Production' AND p_environment = 'Sandbox' AND o.ordered_at IS NOT NULL
            OFFSET 0
        ) AS ordered ON true
        WHERE p_environment = 'Production'
           OR EXISTS (SELECT FROM appstore.transactions AS t
                      WHERE t.first_token = token.order_no AND t.environment = p_environment AND t.is_purchased OFFSET 0)
        ORDER BY token.order_no
        ON CONFLICT (order_no, environment) DO NOTHING;
    END LOOP;
    IF NOT p_waits AND EXISTS (
        SELECT FROM unnest(p_tokens) AS token (order_no)
        CROSS JOIN LATERAL (
            SELECT o.order_no FROM appstore.orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment OFFSET 0
        ) AS known
        HAVING count(*) > v_there) THEN
        PERFORM appstore.give_way();
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.lock_orders(p_environment appstore.environment, p_tokens uuid[], p_waits boolean) IS 'Locks the orders with these tokens, sorted and each named once, and makes the missing rows. With p_waits it waits for rows that another transaction holds, else it calls give_way.';

CREATE FUNCTION appstore.locked_endpoint(p_name text) RETURNS appstore.endpoints
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM appstore.endpoints AS e WHERE e.name = p_name FOR UPDATE;
    RETURN appstore.endpoint_named(p_name);
END
$$;

COMMENT ON FUNCTION appstore.locked_endpoint(p_name text) IS 'The endpoint of that name, locked until the end of the transaction. Fails with no_data_found.';

CREATE FUNCTION appstore.log_out_of_console(session_hash bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    WITH ended AS (
        UPDATE appstore.console_sessions AS s SET ended_at = clock_timestamp(), ended_by = s.person
        WHERE s.session_hash = log_out_of_console.session_hash AND s.ended_at IS NULL AND s.expires_at > clock_timestamp()
        RETURNING s.session_id, s.person, s.ended_at
    )
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    SELECT e.ended_at, e.person, 'log_out_of_console', '{}', jsonb_build_object('session_id', e.session_id) FROM ended AS e
$$;

COMMENT ON FUNCTION appstore.log_out_of_console(session_hash bytea) IS 'Ends the session of a cookie.';

CREATE FUNCTION appstore.maintenance_lock() RETURNS boolean
    LANGUAGE sql
    AS $$ SELECT pg_try_advisory_xact_lock(hashtextextended('appstore.maintenance_lock', 0)) $$;

COMMENT ON FUNCTION appstore.maintenance_lock() IS 'Whether this transaction may do maintenance, one at a time in the database. False while another one does; then the caller returns nothing.';

CREATE FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments appstore.environment[], verbs text[], expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_key integer;
BEGIN
    PERFORM appstore.check_argument(expires_at IS NULL OR expires_at > clock_timestamp(), format('expires_at is in the past: %s', expires_at),
                                    'Omit it for a key that does not expire.');
    -- Of two calls with one name the second sees the key of the first. A lock of the table would make api_key wait, which records uses.
    PERFORM appstore.demand_read_committed();
    PERFORM pg_advisory_xact_lock(hashtextextended('appstore.make_api_key', 0));
    SELECT k.key_id INTO v_key FROM appstore.api_keys AS k WHERE k.name = make_api_key.name AND appstore.is_alive(k);
    IF FOUND THEN
        RAISE EXCEPTION 'key % has the name % already', v_key, quote_literal(name)
            USING ERRCODE = 'unique_violation', HINT = 'Revoke that key first, or choose another name.';
    END IF;
    INSERT INTO appstore.api_keys AS k (name, key_hash, bundle_ids, environments, verbs, expires_at)
    VALUES (make_api_key.name, make_api_key.key_hash, make_api_key.bundle_ids, make_api_key.environments, make_api_key.verbs,
            make_api_key.expires_at)
    RETURNING k.key_id INTO v_key;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'make_api_key', '{}', make_api_key.name,
            jsonb_build_object('key_id', v_key, 'bundle_ids', make_api_key.bundle_ids, 'environments', make_api_key.environments,
                               'verbs', make_api_key.verbs, 'expires_at', make_api_key.expires_at));
    RETURN v_key;
END
$$;

COMMENT ON FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments appstore.environment[], verbs text[], expires_at timestamp with time zone) IS 'Stores the SHA-256 of a key that the caller has generated, with its scopes, and returns the key''s number. Null bundle_ids stand for any app, null expires_at for no end. It fails with unique_violation where a living key has the name.';

CREATE FUNCTION appstore.make_console_login(token_hash bytea) RETURNS TABLE(person text, role text, expires_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_login appstore.console_logins;
BEGIN
    IF session_user = 'appstore_console' OR NOT appstore.has_console_role(session_user, 'viewer')
       AND NOT appstore.has_console_role(session_user, 'operator') THEN
        RAISE EXCEPTION 'login % may not use the console', quote_ident(session_user)
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT appstore_viewer or appstore_operator to it.';
    END IF;
    DELETE FROM appstore.console_logins AS l WHERE l.expires_at < clock_timestamp();
    IF (SELECT count(*) FROM appstore.console_logins AS l WHERE l.person = session_user) >= 10 THEN
        RAISE EXCEPTION '10 links of % are not used yet', quote_ident(session_user)
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Use one, or wait for 60 seconds.';
    END IF;
    INSERT INTO appstore.console_logins AS l (token_hash, person, role, shows_bodies, expires_at)
    VALUES (make_console_login.token_hash, session_user,
            CASE WHEN appstore.has_console_role(session_user, 'operator') THEN 'operator' ELSE 'viewer' END,
            appstore.has_console_role(session_user, 'bodies'), clock_timestamp() + interval '60 seconds')
    RETURNING l.* INTO v_login;
    RETURN QUERY SELECT v_login.person, v_login.role, v_login.expires_at;
END
$$;

COMMENT ON FUNCTION appstore.make_console_login(token_hash bytea) IS 'Stores the SHA-256 of a token with which the login that calls this can begin one session of the console within 60 seconds. Run it in a READ WRITE transaction: those of appstore_viewer are read-only by default.';

CREATE FUNCTION appstore.make_endpoint(name text, url text, format text DEFAULT 'event'::text, types text[] DEFAULT NULL::text[], bundle_ids text[] DEFAULT NULL::text[], environments appstore.environment[] DEFAULT NULL::appstore.environment[], with_wrong_bundle boolean DEFAULT false, keeps_order boolean DEFAULT true, max_in_flight integer DEFAULT 8, max_per_second integer DEFAULT NULL::integer, timeout_seconds integer DEFAULT 15) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
#variable_conflict use_variable
DECLARE
    v_endpoint appstore.endpoints;
BEGIN
    PERFORM appstore.demand_read_committed();
    v_endpoint.name := name;
    v_endpoint.endpoint_id := gen_random_uuid();
    v_endpoint.url := url;
    v_endpoint.format := format;
    v_endpoint.types := types;
    v_endpoint.bundle_ids := bundle_ids;
    v_endpoint.environments := environments;
    v_endpoint.with_wrong_bundle := with_wrong_bundle;
    v_endpoint.keeps_order := keeps_order;
    v_endpoint.max_in_flight := max_in_flight;
    v_endpoint.max_per_second := max_per_second;
    v_endpoint.timeout_seconds := timeout_seconds;
    PERFORM appstore.check_endpoint(v_endpoint);
    PERFORM appstore.lock_feed_switch(v_endpoint);
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RAISE EXCEPTION 'the feed is off' USING ERRCODE = 'object_not_in_prerequisite_state', HINT =
            'An endpoint gets the feed. Turn it on first: SELECT appstore.enable_feed().';
    ELSIF EXISTS (SELECT FROM appstore.endpoints AS e WHERE e.name = make_endpoint.name) THEN
        RAISE EXCEPTION 'endpoint % exists', name USING ERRCODE = 'unique_violation', HINT =
            'Change it: SELECT appstore.change_endpoint(…), or choose another name.';
    END IF;
    INSERT INTO appstore.endpoints (name, endpoint_id, url, format, types, bundle_ids, environments, with_wrong_bundle, keeps_order,
                                    max_in_flight, max_per_second, timeout_seconds, position)
    SELECT name, v_endpoint.endpoint_id, url, format, types, bundle_ids, environments, with_wrong_bundle, keeps_order, max_in_flight,
           max_per_second, timeout_seconds, h.position
    FROM appstore.feed_head AS h;
    PERFORM appstore.set_wants_raw();
    PERFORM appstore.audit_endpoint('make_endpoint', name, NULL, jsonb_strip_nulls(to_jsonb(v_endpoint)) - 'name');
    RETURN v_endpoint.endpoint_id;
END
$$;

COMMENT ON FUNCTION appstore.make_endpoint(name text, url text, format text, types text[], bundle_ids text[], environments appstore.environment[], with_wrong_bundle boolean, keeps_order boolean, max_in_flight integer, max_per_second integer, timeout_seconds integer) IS 'Makes an endpoint that gets what is told from now on, and returns the id that its secrets are derived from. Null types are all but those for operators; null apps and environments are all. One that wants notifications themselves waits for the transactions of workers, up to 500 ms.';

CREATE TABLE appstore.feed_head (
    is_only boolean DEFAULT true NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    cluster text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    told_snapshot pg_snapshot,
    target_snapshot pg_snapshot,
    enabled_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    turned_to timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    partition_from bigint DEFAULT 1 NOT NULL,
    partition_to bigint DEFAULT 1 NOT NULL,
    partition_since timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT feed_head_is_one_row CHECK (is_only)
)
WITH (fillfactor='10');

COMMENT ON TABLE appstore.feed_head IS 'One row: the end of the feed. Its lock is what lets one sequencer take a step at a time.';

COMMENT ON COLUMN appstore.feed_head.is_only IS 'Always true: the key of the only row.';

COMMENT ON COLUMN appstore.feed_head."position" IS 'The latest position; 0 before the first.';

COMMENT ON COLUMN appstore.feed_head.generation IS 'Raised when positions may come to mean something else: after a failover or restore, and when the feed is enabled again. 1, then the seconds since the begin of 2026.';

COMMENT ON COLUMN appstore.feed_head.cluster IS 'Where told_snapshot is from: system identifier, timeline, database and this table. Another value means a failover or a restore.';

COMMENT ON COLUMN appstore.feed_head.told_snapshot IS 'Everything that this snapshot sees is told; null: unknown, so that all tells are read.';

COMMENT ON COLUMN appstore.feed_head.target_snapshot IS 'The snapshot of a step that found too much for one transaction; null else.';

COMMENT ON COLUMN appstore.feed_head.enabled_at IS 'When the feed was enabled last.';

COMMENT ON COLUMN appstore.feed_head.turned_to IS 'Until when told_access.turns_at was looked at. Dead entries lie before it.';

COMMENT ON COLUMN appstore.feed_head.partition_from IS 'The first position of the newest partition.';

COMMENT ON COLUMN appstore.feed_head.partition_to IS 'The position after its last one; equal to partition_from before the first partition.';

COMMENT ON COLUMN appstore.feed_head.partition_since IS 'When it was made.';

CREATE FUNCTION appstore.make_feed_partitions(p_head appstore.feed_head, p_last bigint, p_now timestamp with time zone) RETURNS appstore.feed_head
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_size bigint := p_head.partition_to - p_head.partition_from;
    v_name text;
BEGIN
    -- A partition is to last between one day and four.
    v_size := CASE WHEN v_size = 0 THEN 10000
                   WHEN p_head.partition_since > p_now - interval '1 day' THEN least(v_size * 2, 10000000)
                   WHEN p_head.partition_since < p_now - interval '4 days' THEN greatest(v_size / 2, 1000)
                   ELSE v_size END;
    WHILE p_head.partition_to <= p_last LOOP
        p_head.partition_from := p_head.partition_to;
        p_head.partition_to := p_head.partition_from + v_size;
        p_head.partition_since := p_now;
        v_name := 'feed_from_' || p_head.partition_from;
        EXECUTE format('CREATE TABLE appstore.%I (LIKE appstore.feed INCLUDING CONSTRAINTS INCLUDING INDEXES)', v_name);
        EXECUTE format('ALTER TABLE appstore.feed ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', v_name, p_head.partition_from,
                       p_head.partition_to);
    END LOOP;
    RETURN p_head;
END
$$;

COMMENT ON FUNCTION appstore.make_feed_partitions(p_head appstore.feed_head, p_last bigint, p_now timestamp with time zone) IS 'Makes the partitions for the positions up to p_last, and returns the head with the newest one. Larger ones where they fill in less than a day.';

CREATE FUNCTION appstore.make_import_chunk(p_bundle_id text, p_environment appstore.environment, p_depth text) RETURNS appstore.import_chunks
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_import appstore.imports;
    v_chunk  appstore.import_chunks;
BEGIN
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.bundle_id = p_bundle_id AND r.depth = p_depth AND r.state = 'running' AND r.next_line <= r.last_line
      AND coalesce(r.environment, p_environment) = p_environment
    ORDER BY r.import_id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- A short file is cut into more parts, which are asked in parallel.
    INSERT INTO appstore.import_chunks (import_id, first_line, end_line, phase, environment)
    VALUES (v_import.import_id, v_import.next_line, v_import.next_line + least(200, greatest(5, v_import.last_line / 50)), 'ask', 'Production')
    RETURNING * INTO v_chunk;
    UPDATE appstore.imports AS r SET next_line = v_chunk.end_line WHERE r.import_id = v_import.import_id;
    PERFORM appstore.end_import_lease(v_chunk.import_id, v_chunk.first_line, 0, NULL, interval '0', false);
    RETURN v_chunk;
END
$$;

COMMENT ON FUNCTION appstore.make_import_chunk(p_bundle_id text, p_environment appstore.environment, p_depth text) IS 'Makes a chunk of the next lines of an app''s oldest import that has lines left and may be asked in this environment; null where none has.';

CREATE FUNCTION appstore.make_partition(parent text, newest_event_id bigint, events bigint) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    v_from bigint := (SELECT coalesce(max(p.to_id), 0) FROM appstore.inbox_partitions AS p WHERE p.parent = make_partition.parent);
    v_last bigint; -- the greatest id that the default partition holds
    v_name text;
BEGIN
    IF v_from > newest_event_id + 2 * events THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT greatest($1, max(d.event_id)) FROM appstore.%I AS d', parent || '_default') INTO v_last USING newest_event_id;
    IF v_last >= v_from THEN
        -- The ids up to here, and those being drawn, stay in the default partition.
        v_from := v_last + greatest(events / 10, 1000);
    END IF;
    v_name := parent || '_from_' || v_from;
    EXECUTE format('CREATE TABLE appstore.%I (LIKE appstore.%I INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES) '
                   'WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02)', v_name, parent);
    EXECUTE format('ALTER TABLE appstore.%I ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', parent, v_name, v_from, v_from + events);
    RETURN v_name;
END
$_$;

COMMENT ON FUNCTION appstore.make_partition(parent text, newest_event_id bigint, events bigint) IS 'Makes the next partition of a table when fewer than two are ready beyond the newest event, and returns its name, else null. Inserts continue meanwhile; it locks the default partition exclusively for a moment.';

CREATE TABLE appstore.outcomes (
    event_id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone NOT NULL,
    run integer NOT NULL,
    attempts integer NOT NULL,
    result appstore.result NOT NULL,
    reason text,
    last_error text,
    notification_type text COLLATE pg_catalog."C",
    subtype text COLLATE pg_catalog."C",
    notification_uuid uuid,
    environment text COLLATE pg_catalog."C",
    bundle_id text COLLATE pg_catalog."C",
    transaction_id text COLLATE pg_catalog."C",
    original_transaction_id text COLLATE pg_catalog."C",
    CONSTRAINT outcomes_reason_where_needed CHECK (((reason IS NOT NULL) OR (result <> ALL (ARRAY['unhandled'::appstore.result, 'rejected'::appstore.result, 'failed'::appstore.result, 'discarded'::appstore.result]))))
)
PARTITION BY RANGE (event_id);

COMMENT ON TABLE appstore.outcomes IS 'What became of each settled event: one row an event. Partitioned like the inbox, so that its indexes stay small and old outcomes go by dropping a partition.';

COMMENT ON COLUMN appstore.outcomes.result IS 'What became of the event.';

COMMENT ON COLUMN appstore.outcomes.reason IS 'A code. For a discarded event the words of the operator, which appstore.forget neither searches nor erases.';

COMMENT ON COLUMN appstore.outcomes.last_error IS 'The error of the last attempt that failed. appstore.forget neither searches nor erases it.';

COMMENT ON COLUMN appstore.outcomes.notification_type IS 'This column and the following ones: what the verified payload says of itself; null where nothing was verified.';

COMMENT ON COLUMN appstore.outcomes.notification_uuid IS 'notificationUUID. Of a notification V1, which has none, and of a text that is no UUID, a version 5 UUID of the content or the text.';

CREATE FUNCTION appstore.matches_filter(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT (f.result IS NULL OR o.result = f.result)
       AND (f.reason IS NULL OR o.reason = f.reason)
       AND (f.notification_type IS NULL OR o.notification_type = f.notification_type)
       AND (f.subtype IS NULL OR o.subtype = f.subtype)
       AND (f.environment IS NULL OR o.environment = f.environment::text)
       AND (f.bundle_id IS NULL OR o.bundle_id = f.bundle_id)
       AND (f.received_from IS NULL OR o.received_at >= f.received_from)
       AND (f.received_before IS NULL OR o.received_at < f.received_before)
$$;

COMMENT ON FUNCTION appstore.matches_filter(o appstore.outcomes, f appstore.repair_filter) IS 'Whether an outcome meets every condition of a repair.';

CREATE FUNCTION appstore.may_be_asked_at(p_rule text, p_environment appstore.environment, p_contract text, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    -- A lagging replica of Apple's could answer with a newer date than a notification that knows more.
    SELECT greatest(p_now, appstore.heard_at(p_environment, p_contract) + interval '15 minutes', m.renewal_signed_date + interval '15 minutes',
                    asked.at + CASE p_rule WHEN 'in_retry' THEN interval '12 hours' ELSE interval '24 hours' END)
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
        SELECT m.renewal_signed_date, m.user_id, m.renewal_app_transaction_id FROM appstore.contracts AS m
        WHERE m.original_transaction_id = p_contract AND m.environment = p_environment OFFSET 0
    ) AS m ON true
    LEFT JOIN LATERAL (
        SELECT max(q.asked_at) AS at FROM (
            SELECT (SELECT max(q.asked_at) FROM appstore.reconcile_questions AS q
                    WHERE q.original_transaction_id = of.id AND q.environment = p_environment) AS asked_at
            FROM (SELECT p_contract AS id
                  UNION ALL
                  -- A user of the shop may have several Apple IDs, and a shop may have one user for many customers.
                  (SELECT n.original_transaction_id FROM appstore.contracts AS n
                   WHERE n.user_id = m.user_id AND n.environment = p_environment AND m.renewal_app_transaction_id IS NULL LIMIT 20)) AS of
            UNION ALL
            SELECT (SELECT max(q.asked_at) FROM appstore.reconcile_questions AS q
                    WHERE q.app_transaction_id = m.renewal_app_transaction_id AND q.environment = p_environment)) AS q
    ) AS asked ON true
$$;

COMMENT ON FUNCTION appstore.may_be_asked_at(p_rule text, p_environment appstore.environment, p_contract text, p_now timestamp with time zone) IS 'From when on Apple may be asked about a contract: 15 minutes after the latest event about it, and a day after the latest question about its customer, by in_retry 12 hours. Contracts with one appTransactionId are of one customer; without one, up to 20 of one user.';

CREATE FUNCTION appstore.may_be_called(p_environment appstore.environment, p_call_key text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    RETURN coalesce(appstore.heard_at(p_environment, split_part(p_call_key, ':', 2)) <= statement_timestamp() - interval '15 minutes', true);
END
$$;

COMMENT ON FUNCTION appstore.may_be_called(p_environment appstore.environment, p_call_key text) IS 'Whether a call of the reconciliation may be made now: no event about its contract came in the last 15 minutes. An answer of a replica that lags would have a newer date than that event. While has_backlog, none may be made.';

CREATE FUNCTION appstore.milliseconds(p_time interval) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT ceil(extract(epoch FROM p_time) * 1000)::bigint $$;

COMMENT ON FUNCTION appstore.milliseconds(p_time interval) IS 'So many milliseconds.';

CREATE FUNCTION appstore.miss_import_item(p_import_id integer, p_first_line integer, p_epoch bigint, p_line integer, p_reason text, p_at_most integer, p_seconds integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_chunk appstore.import_chunks;
    v_item  appstore.import_items;
BEGIN
    v_chunk := appstore.renew_import_lease(p_import_id, p_first_line, p_epoch, p_seconds, CASE WHEN p_reason IS NULL THEN true END);
    IF v_chunk.import_id IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT i.* INTO v_item FROM appstore.import_items AS i
    WHERE i.import_id = p_import_id AND i.line = p_line AND i.state IN ('open', 'again') FOR UPDATE;
    IF FOUND THEN
        v_item.failures := CASE WHEN p_reason IS NULL THEN 0 WHEN v_item.reason = p_reason THEN v_item.failures + 1 ELSE 1 END;
        v_item.reason := p_reason;
        IF p_reason IS NOT NULL THEN
            v_item.state := CASE WHEN v_item.failures >= p_at_most THEN 'failed' ELSE v_item.state END;
        ELSIF v_item.environment = 'Production' AND NOT v_item.is_given THEN
            v_item.environment := 'Sandbox';
        ELSE
            v_item.state := CASE v_item.state WHEN 'open' THEN 'again' ELSE 'unknown_to_apple' END;
            v_item.environment := CASE WHEN v_item.is_given THEN v_item.environment ELSE 'Production' END;
        END IF;
        UPDATE appstore.import_items AS i
        SET asked = least(i.asked + 1, 32767), failures = v_item.failures, reason = v_item.reason, state = v_item.state, environment = v_item.environment
        WHERE i.import_id = p_import_id AND i.line = p_line;
        PERFORM appstore.count_in_import_chunk(
            v_chunk, 0, 0, CASE v_item.state WHEN 'unknown_to_apple' THEN 1 ELSE 0 END, CASE v_item.state WHEN 'failed' THEN 1 ELSE 0 END);
    END IF;
    RETURN CASE (SELECT r.state FROM appstore.imports AS r WHERE r.import_id = p_import_id) WHEN 'running' THEN 'settled' ELSE 'stop' END;
END
$$;

COMMENT ON FUNCTION appstore.miss_import_item(p_import_id integer, p_first_line integer, p_epoch bigint, p_line integer, p_reason text, p_at_most integer, p_seconds integer) IS 'Records that a request about an item brought no answer. Without a reason Apple knows no such id: it is asked in Sandbox where no environment was given, and once more a day later. With a reason the request failed; for the p_at_most-th time in a row the item does. Returns as settle_import_item.';

CREATE FUNCTION appstore.next_generation(p_generation integer) RETURNS integer
    LANGUAGE sql
    AS $$
    SELECT CASE p_generation WHEN 0 THEN 1
                             ELSE greatest(p_generation + 1, extract(epoch FROM clock_timestamp() - timestamptz '2026-01-01 00:00Z')::integer) END
$$;

COMMENT ON FUNCTION appstore.next_generation(p_generation integer) IS 'The generation after this one: 1 for the first, then the seconds since the begin of 2026, so that no two histories share one.';

CREATE TABLE appstore.reconcile_watches (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    transaction_id text COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    questions integer DEFAULT 0 NOT NULL,
    CONSTRAINT reconcile_watches_refund_of_a_transaction CHECK (((transaction_id IS NOT NULL) = (rule = 'revoked_doubt'::text))),
    CONSTRAINT reconcile_watches_rule_is_known CHECK ((rule = ANY (ARRAY['expired_silent'::text, 'no_renewal_info'::text, 'in_retry'::text, 'revoked_doubt'::text, 'price_consent'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.reconcile_watches IS 'Contracts that looked stale when appstore.reconcile found them. At next_at it looks again: it asks, or deletes the row where the rule no longer holds. appstore.stale_contracts shows those that are stale now.';

COMMENT ON COLUMN appstore.reconcile_watches.rule IS 'expired_silent: a period ended, it was to renew, and nothing came; no_renewal_info: only a transaction is known, or it and how the period before it ended; in_retry: Apple tries to charge; revoked_doubt: a refund was asked for, and no decision came; price_consent: a consent is missing shortly before the renewal.';

COMMENT ON COLUMN appstore.reconcile_watches.transaction_id IS 'The charge whose refund is in doubt.';

COMMENT ON COLUMN appstore.reconcile_watches.since IS 'Since when: the end of the period, when the purchase came, or when the refund was asked for.';

COMMENT ON COLUMN appstore.reconcile_watches.next_at IS 'When it is looked at again.';

COMMENT ON COLUMN appstore.reconcile_watches.questions IS 'How often Apple was asked by this rule since.';

CREATE FUNCTION appstore.next_question(w appstore.reconcile_watches, p_grace_end timestamp with time zone, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT min(due.at) FROM (
        SELECT w.since + gap.gap AS at
        FROM unnest('{1 hour,24 hours,72 hours,168 hours,720 hours}'::interval[]) AS gap (gap) WHERE w.rule = 'expired_silent'
        UNION ALL
        -- A day's question within 12 hours of the one after the grace period would postpone that one.
        SELECT w.since + day.n * interval '24 hours' FROM generate_series(1, 60) AS day (n)
        WHERE w.rule = 'in_retry' AND (w.since + day.n * interval '24 hours' NOT BETWEEN p_grace_end - interval '11 hours'
                                                                                      AND p_grace_end + interval '13 hours') IS NOT FALSE
        UNION ALL
        SELECT p_grace_end + interval '1 hour' WHERE w.rule = 'in_retry'
        UNION ALL
        SELECT p_now + interval '24 hours' WHERE w.rule IN ('no_renewal_info', 'revoked_doubt', 'price_consent') AND w.questions < 7) AS due
    WHERE due.at > p_now
$$;

COMMENT ON FUNCTION appstore.next_question(w appstore.reconcile_watches, p_grace_end timestamp with time zone, p_now timestamp with time zone) IS 'When the rule of a watch asks next, while it holds; null: never again. Rules without a schedule ask each day, seven times at most, and appstore.settle_questions ends the watch with the first answer.';

CREATE FUNCTION appstore.notification_entries(p_kinds text[], p_refs text[], p_now timestamp with time zone) RETURNS TABLE(place bigint, entry appstore.feed)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL,
               CASE o.result WHEN 'rejected' THEN appstore.feed_id(jsonb_build_array('rejected', o.notification_uuid)) ELSE o.notification_uuid END,
               appstore.told_as(o.result, o.reason, o.notification_uuid),
               CASE WHEN o.environment IN ('Production', 'Sandbox') THEN o.environment::appstore.environment END, o.bundle_id,
               o.original_transaction_id, NULL, NULL, o.received_at, p_now,
               jsonb_build_object('event_id', o.event_id::text, 'notification_uuid', o.notification_uuid, 'notification_type', o.notification_type,
                                  'subtype', o.subtype, 'reason', o.reason))::appstore.feed
    FROM unnest(p_kinds, p_refs) WITH ORDINALITY AS tell (kind, ref, place)
    CROSS JOIN LATERAL ( -- it may have been requeued since
        SELECT o.event_id, o.result, o.reason, o.notification_uuid, o.notification_type, o.subtype, o.environment, o.bundle_id,
               o.original_transaction_id, o.received_at
        FROM appstore.outcomes AS o
        WHERE o.event_id = split_part(tell.ref, ' ', 1)::bigint AND o.run = split_part(tell.ref, ' ', 2)::integer
        UNION ALL
        SELECT h.event_id, h.result, h.reason, h.notification_uuid, h.notification_type, h.subtype, h.environment, h.bundle_id,
               h.original_transaction_id, h.received_at
        FROM appstore.outcome_history AS h
        WHERE h.event_id = split_part(tell.ref, ' ', 1)::bigint AND h.run = split_part(tell.ref, ' ', 2)::integer
    ) AS o
    WHERE tell.kind = 'raw';
END
$$;

COMMENT ON FUNCTION appstore.notification_entries(p_kinds text[], p_refs text[], p_now timestamp with time zone) IS 'The entries notification.received and notification.rejected, by the outcome of the run that was told. A notification that is received after it was rejected has two entries, with two ids. The body is in the inbox.';

CREATE FUNCTION appstore.order_entries(p_kinds text[], p_environments appstore.environment[], p_refs text[], p_now timestamp with time zone, p_enabled_at timestamp with time zone) RETURNS TABLE(place bigint, entry appstore.feed)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT max(tell.place) AS place, tell.environment, tell.ref::uuid AS order_no
        FROM unnest(p_kinds, p_environments, p_refs) WITH ORDINALITY AS tell (kind, environment, ref, place)
        WHERE tell.kind = 'order' GROUP BY tell.environment, tell.ref
    ), compared AS MATERIALIZED (
        SELECT asked.place, o.*, coalesce(t.changes, 0) + 1 AS changes
        FROM asked
        CROSS JOIN LATERAL (
            SELECT o.* FROM appstore.order_status AS o
            WHERE o.order_no = asked.order_no AND o.environment = asked.environment AND o.ordered_at IS NOT NULL OFFSET 0
        ) AS o
        LEFT JOIN LATERAL (
            SELECT t.status, t.changes FROM appstore.told_orders AS t
            WHERE t.order_no = asked.order_no AND t.environment = asked.environment OFFSET 0
        ) AS t ON true
        WHERE o.status <> coalesce(t.status, 'pending')
    ), remembered AS (
        INSERT INTO appstore.told_orders AS k (environment, order_no, status, changes)
        SELECT c.environment, c.order_no, c.status, c.changes FROM compared AS c
        ON CONFLICT (order_no, environment) DO UPDATE SET status = excluded.status, changes = excluded.changes
    )
    SELECT c.place,
           ROW(NULL, appstore.feed_id(jsonb_build_array('order', p_enabled_at, c.environment, c.order_no, c.changes, c.status)),
               CASE c.status WHEN 'paid' THEN 'order.paid' ELSE 'order.refunded' END, c.environment, c.bundle_id,
               c.original_transaction_id, c.user_id, NULL,
               CASE c.status WHEN 'paid' THEN coalesce(c.paid_at, p_now) ELSE p_now END, p_now,
               jsonb_build_object('order_no', c.order_no, 'status', c.status, 'product_id', c.product_id, 'ordered_at', c.ordered_at,
                                  'paid_at', c.paid_at, 'quantity', c.quantity, 'price_milliunits', c.price, 'currency', c.currency,
                                  'transaction_id', c.transaction_id))::appstore.feed
    FROM compared AS c WHERE c.status <> 'pending';
END
$$;

COMMENT ON FUNCTION appstore.order_entries(p_kinds text[], p_environments appstore.environment[], p_refs text[], p_now timestamp with time zone, p_enabled_at timestamp with time zone) IS 'The entries order.paid and order.refunded of the orders that the shop made, where their status differs from the one that was told last.';

CREATE FUNCTION appstore.order_of(p_environment appstore.environment, p_period_no uuid, p_first_token uuid, p_is_purchased boolean) RETURNS uuid
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_order uuid;
BEGIN
    IF NOT p_is_purchased THEN
        RETURN NULL;
    END IF;
    SELECT o.order_no INTO v_order FROM appstore.orders AS o
    WHERE o.period_no = p_period_no AND o.environment = p_environment AND o.order_no <> o.period_no
    ORDER BY o.order_no IS NOT DISTINCT FROM p_first_token DESC, o.order_no LIMIT 1;
    IF v_order IS NULL THEN
        SELECT o.order_no INTO v_order FROM appstore.orders AS o
        WHERE o.order_no = p_period_no AND o.environment = p_environment AND o.period_no = p_period_no;
    END IF;
    RETURN v_order;
END
$$;

COMMENT ON FUNCTION appstore.order_of(p_environment appstore.environment, p_period_no uuid, p_first_token uuid, p_is_purchased boolean) IS 'The order that a charge of a period points to: the one that its first token names, else the one that the period pays; null for a family member''s charge.';

CREATE FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT count(*), statement_timestamp() - min(first.asked_at)
    FROM (SELECT c.asked_at FROM appstore.outbox AS c WHERE c.state = 'open' AND c.deadline_at IS NOT NULL
          ORDER BY c.deadline_at, c.call_id LIMIT 10000) AS first
$$;

COMMENT ON FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval) IS 'How many calls are open, up to 10,000, which then means as many or more, and since when the oldest of these was asked for. They are those with the first deadlines: where all calls get the same time, the oldest ones.';

CREATE FUNCTION appstore.ownership_of(environment appstore.environment, original_transaction_ids text[]) RETURNS TABLE(original_transaction_id text, user_id text, kind appstore.claim_kind, effective_at timestamp with time zone, source_id text, actor text, note text, is_owner boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT k.original_transaction_id, k.user_id, k.kind, k.effective_at, k.source_id, link.actor, link.note,
           row_number() OVER (PARTITION BY k.original_transaction_id
                              ORDER BY k.effective_at DESC, k.kind DESC, k.source_id DESC) = 1
    FROM unnest(ownership_of.original_transaction_ids) AS c (id)
    CROSS JOIN LATERAL (
        SELECT k.* FROM appstore.ownership_claims AS k
        WHERE k.original_transaction_id = c.id AND k.environment = ownership_of.environment OFFSET 0
    ) AS k
    LEFT JOIN LATERAL (
        SELECT l.actor, l.note FROM appstore.owner_links AS l
        WHERE k.kind = 'link' AND l.original_transaction_id = k.original_transaction_id AND l.environment = k.environment
          AND l.linked_at = k.effective_at AND l.user_id = k.user_id
        ORDER BY l.link_id DESC LIMIT 1
    ) AS link ON true
    ORDER BY k.original_transaction_id, k.effective_at DESC, k.kind DESC, k.source_id DESC
$$;

COMMENT ON FUNCTION appstore.ownership_of(environment appstore.environment, original_transaction_ids text[]) IS 'The claims to contracts with their evidence, of each contract the one that decides first: is_owner. actor and note are those of a link.';

CREATE FUNCTION appstore.paid_period(p_environment appstore.environment, p_period_no uuid) RETURNS TABLE(transaction_id text, original_transaction_id text, web_order_line_item_id text, product_id text, paid_at timestamp with time zone, quantity integer, price bigint, currency text, status text)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.product_id, t.purchase_date, t.quantity, t.price,
           t.currency,
           CASE WHEN bool_and(t.revocation_date IS NOT NULL AND coalesce(t.revocation_percentage, 100000) >= 100000) OVER () THEN 'refunded'
                WHEN bool_or(t.revocation_date IS NOT NULL) OVER () THEN 'partly_refunded'
                ELSE 'paid' END
    FROM appstore.transactions AS t
    WHERE t.environment = p_environment AND t.period_no = p_period_no AND t.is_purchased
    ORDER BY length(t.transaction_id), t.transaction_id
    LIMIT 1
$$;

COMMENT ON FUNCTION appstore.paid_period(p_environment appstore.environment, p_period_no uuid) IS 'The data of a paid period; no row when it was not paid. Its least transaction identifies it. It is refunded when each of its transactions is refunded in full; a missing percentage means in full.';

CREATE FUNCTION appstore.pause_endpoint(name text, why text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
#variable_conflict use_column
DECLARE
    v_endpoint appstore.endpoints := appstore.locked_endpoint(name);
BEGIN
    PERFORM appstore.check_argument(v_endpoint.state = 'enabled', format('endpoint %s is %s', name, v_endpoint.state),
                                    'Only an enabled one can be paused; resume_endpoint enables it.');
    -- The epoch stays: what is in flight is still reported.
    UPDATE appstore.endpoints AS e
    SET state = 'paused', why = coalesce(pause_endpoint.why, 'paused'), state_since = clock_timestamp()
    WHERE e.name = pause_endpoint.name;
    PERFORM appstore.audit_endpoint('pause_endpoint', name, why);
END
$$;

COMMENT ON FUNCTION appstore.pause_endpoint(name text, why text) IS 'Sends nothing to an endpoint until it is resumed, where it goes on. The feed is not kept for it longer than retention.feed.';

CREATE FUNCTION appstore.payer(p_environment appstore.environment, p_order_no uuid) RETURNS TABLE(period_no uuid)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT t.period_no
    FROM appstore.transactions AS t
    LEFT JOIN LATERAL (
        SELECT o.product_id, o.bundle_id FROM appstore.orders AS o WHERE o.order_no = p_order_no AND o.environment = p_environment OFFSET 0
    ) AS ordered ON true
    WHERE t.first_token = p_order_no AND t.environment = p_environment AND t.is_purchased
      AND (ordered.product_id IS NULL OR ordered.product_id = t.product_id)
      AND (ordered.bundle_id IS NULL OR ordered.bundle_id = t.bundle_id)
    ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id
    LIMIT 1
$$;

COMMENT ON FUNCTION appstore.payer(p_environment appstore.environment, p_order_no uuid) IS 'The period that pays an order: that of the first purchase, by (purchase date, transaction id), whose first known token names the order and whose product and app are the ordered ones.';

CREATE FUNCTION appstore.period_user(p_environment appstore.environment, p_contract text, p_purchased_at timestamp with time zone) RETURNS TABLE(user_id text)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT c.user_id
    FROM appstore.ownership_claims AS c
    WHERE c.original_transaction_id = p_contract AND c.environment = p_environment
    ORDER BY c.effective_at <= p_purchased_at DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN (c.effective_at, c.kind, c.source_id) END DESC,
             c.effective_at, c.kind, c.source_id
    LIMIT 1
$$;

COMMENT ON FUNCTION appstore.period_user(p_environment appstore.environment, p_contract text, p_purchased_at timestamp with time zone) IS 'The user of a period: that of the newest claim at or before its purchase, else of the earliest claim, else none.';

CREATE FUNCTION appstore.place_of_call(transaction_id text, key appstore.api_keys, INOUT bundle_id text, INOUT environment appstore.environment) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_sold  record;
    v_known text[];
    v_more  text;
BEGIN
    -- 1. What the ledger knows of the transaction, or of the contract, whose first transaction it may not have. Of another app's it tells a
    --    key nothing.
    SELECT min(sold.bundle_id) AS bundle_id, min(sold.environment) AS environment INTO v_sold
    FROM (SELECT t.bundle_id, t.environment FROM appstore.transactions AS t WHERE t.transaction_id = place_of_call.transaction_id
          UNION
          SELECT m.bundle_id, m.environment FROM appstore.contracts AS m
          WHERE m.original_transaction_id = place_of_call.transaction_id AND m.bundle_id IS NOT NULL) AS sold
    WHERE sold.environment = coalesce(place_of_call.environment, sold.environment)
      AND ((key).bundle_ids IS NULL OR sold.bundle_id = ANY ((key).bundle_ids))
    HAVING count(*) = 1;
    bundle_id := coalesce(bundle_id, v_sold.bundle_id);
    environment := coalesce(environment, v_sold.environment);
    -- 2. The only app of the key, or the only one about which workers ask.
    v_known := ARRAY(SELECT DISTINCT c.bundle_id FROM appstore.history_cursors AS c ORDER BY c.bundle_id);
    bundle_id := coalesce(bundle_id, CASE WHEN cardinality((key).bundle_ids) = 1 THEN (key).bundle_ids[1] END,
                          CASE WHEN cardinality(v_known) = 1 THEN v_known[1] END);
    -- A key of the HTTP API does not learn of other apps.
    v_more := CASE WHEN (key).key_id IS NOT NULL THEN '' WHEN v_known = '{}' THEN ': no worker has had a key for the App Store Server API yet'
                   ELSE ': workers have keys of ' || array_to_string(v_known, ', ') END;
    PERFORM appstore.check_argument(bundle_id IS NOT NULL, 'the app must be named' || v_more, 'Give its bundle id.');
    IF cardinality((key).environments) = 1 THEN
        environment := coalesce(environment, (key).environments[1]);
    END IF;
    environment := coalesce(environment, (SELECT min(c.environment) FROM appstore.history_cursors AS c
                                          WHERE c.bundle_id = place_of_call.bundle_id HAVING min(c.environment) = max(c.environment)));
    -- 3. A call that no worker can make would only wait. Before the first worker with a key that cannot be told.
    PERFORM appstore.check_argument(
        v_known = '{}' OR EXISTS (
            SELECT FROM appstore.history_cursors AS c
            WHERE c.bundle_id = place_of_call.bundle_id
              AND c.environment = coalesce(place_of_call.environment, c.environment)),
        'no worker has had a key of this app in this environment' || v_more, 'Correct the name, or start a worker with a key of the app.');
END
$$;

COMMENT ON FUNCTION appstore.place_of_call(transaction_id text, key appstore.api_keys, INOUT bundle_id text, INOUT environment appstore.environment) IS 'The app and environment to ask about: those given, else those of the transaction or contract, else the only app that there is and the only environment of its keys; a null environment is any. Fails with invalid_parameter_value where no app can be told, or no worker has had its key.';

CREATE FUNCTION appstore.plan_history(p_bundle_ids text[], p_environments appstore.environment[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_open   CONSTANT integer := 96; -- open near windows; then the next one grows until there is room
    v_now    timestamptz := date_trunc('milliseconds', clock_timestamp());
    v_cursor appstore.history_cursors;
    v_bundle text;
    v_environment appstore.environment;
    v_end    timestamptz;
    v_room   integer;
    v_result integer := 0;
BEGIN
    FOR v_bundle, v_environment IN
        SELECT DISTINCT l.b, l.e FROM unnest(p_bundle_ids, p_environments) AS l (b, e) ORDER BY 1, 2
    LOOP
        -- 1. A new app: the last 30 days. Days that are older than eight need no second walk.
        v_end := date_bin('15 minutes', v_now - interval '5 minutes', 'epoch');
        INSERT INTO appstore.history_cursors (bundle_id, environment, since, anchor, near_until, second_until)
        VALUES (v_bundle, v_environment, v_now - interval '30 days', v_end, v_end, date_trunc('day', v_now, 'UTC') - interval '8 days')
        ON CONFLICT (bundle_id, environment) DO NOTHING;
        IF FOUND THEN
            v_result := v_result + appstore.plan_history_days(v_bundle, v_environment, v_now - interval '30 days', v_end);
        END IF;
        SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
        WHERE c.bundle_id = v_bundle AND c.environment = v_environment AND c.mode <> 'off' FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;

        -- 2. What has passed since. Where nothing was asked for long, Apple may no longer keep all of it.
        IF v_cursor.near_until < v_now - appstore.history_limit(v_environment) THEN
            v_cursor.near_until := v_now - appstore.history_limit(v_environment);
            v_cursor.anchor := v_cursor.near_until;
        END IF;
        v_end := date_bin(CASE v_cursor.mode WHEN 'beside' THEN interval '1 minute' ELSE '15 minutes' END, v_now - interval '5 minutes', 'epoch');
        v_room := c_open - (SELECT count(*) FROM appstore.history_windows AS w
                            WHERE w.bundle_id = v_bundle AND w.environment = v_environment AND w.state = 'open' AND w.kind = 'near');
        WHILE v_cursor.near_until < v_end AND v_room > 0 LOOP
            INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
            VALUES (v_bundle, v_environment, 'near', v_cursor.near_until - v_cursor.overlap, least(v_end, v_cursor.near_until + interval '1 day'));
            v_cursor.near_until := least(v_end, v_cursor.near_until + interval '1 day');
            v_room := v_room - 1;
            v_result := v_result + 1;
        END LOOP;

        -- 3. Second walks.
        v_cursor.second_until := greatest(v_cursor.second_until,
                                          date_trunc('day', v_now - appstore.history_limit(v_environment), 'UTC') + interval '1 day');
        WHILE v_cursor.second_until + interval '9 days' <= v_now LOOP
            INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
            VALUES (v_bundle, v_environment, 'second', v_cursor.second_until, v_cursor.second_until + interval '1 day');
            v_cursor.second_until := v_cursor.second_until + interval '1 day';
            v_result := v_result + 1;
        END LOOP;
        UPDATE appstore.history_cursors AS c
        SET near_until = v_cursor.near_until, anchor = v_cursor.anchor, second_until = v_cursor.second_until
        WHERE c.bundle_id = v_bundle AND c.environment = v_environment
          AND (c.near_until, c.anchor, c.second_until) <> (v_cursor.near_until, v_cursor.anchor, v_cursor.second_until);
    END LOOP;
    RETURN v_result;
END
$$;

COMMENT ON FUNCTION appstore.plan_history(p_bundle_ids text[], p_environments appstore.environment[]) IS 'Makes the windows that these apps need by now: the days of a new one, the time since the newest window until five minutes ago, and the second walks of days that ended eight days ago. Returns how many.';

CREATE FUNCTION appstore.plan_history_days(p_bundle_id text, p_environment appstore.environment, p_from timestamp with time zone, p_to timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_start  timestamptz := p_from;
    v_result integer := 0;
BEGIN
    WHILE v_start < p_to LOOP
        INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
        VALUES (p_bundle_id, p_environment, 'day', v_start, least(p_to, date_trunc('day', v_start, 'UTC') + interval '24 hours'));
        v_start := date_trunc('day', v_start, 'UTC') + interval '24 hours';
        v_result := v_result + 1;
    END LOOP;
    RETURN v_result;
END
$$;

COMMENT ON FUNCTION appstore.plan_history_days(p_bundle_id text, p_environment appstore.environment, p_from timestamp with time zone, p_to timestamp with time zone) IS 'Makes a window for each day (UTC) of a time. Returns how many.';

CREATE FUNCTION appstore.poll_endpoints(p_names text[], p_epochs bigint[], p_after bigint[], p_seconds integer) RETURNS TABLE(name text, has_work boolean, url text, keeps_order boolean, max_in_flight integer, max_per_second integer, timeout_seconds integer, secret_generation integer, previous_secret boolean, "position" bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_soon  timestamptz := v_now + p_seconds * interval '500 milliseconds';
    v_short text[] := ARRAY(
        SELECT e.name FROM unnest(p_names, p_epochs) AS held (name, epoch) JOIN appstore.endpoints AS e ON e.name = held.name
        WHERE e.epoch = held.epoch AND e.state = 'enabled' AND e.leased_until < v_soon);
BEGIN
    IF v_short <> '{}' THEN
        UPDATE appstore.endpoints AS e
        SET leased_until = v_now + p_seconds * interval '1 second', due_from = appstore.first_due(e.name, e.due_from, v_now)
        WHERE e.name = ANY (ARRAY(SELECT e.name FROM unnest(p_names, p_epochs) AS held (name, epoch)
                                  JOIN appstore.endpoints AS e ON e.name = held.name
                                  WHERE e.name = ANY (v_short) AND e.epoch = held.epoch AND e.state = 'enabled' AND e.leased_until IS NOT NULL
                                  FOR UPDATE OF e SKIP LOCKED));
    END IF;
    RETURN QUERY
    SELECT e.name,
           h.position > held.after
           OR EXISTS (SELECT FROM appstore.open_deliveries AS d
                      WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.run_at >= e.due_from AND d.run_at <= v_now)
           OR EXISTS (SELECT FROM appstore.redeliveries AS r WHERE r.endpoint = e.name AND r.state = 'open'),
           e.url, e.keeps_order, e.max_in_flight, e.max_per_second, e.timeout_seconds, e.secret_generation,
           appstore.has_previous_secret(e, v_now), e.position
    FROM unnest(p_names, p_epochs, p_after) AS held (name, epoch, after)
    CROSS JOIN appstore.feed_head AS h
    JOIN appstore.endpoints AS e ON e.name = held.name
    WHERE e.epoch = held.epoch AND e.state = 'enabled' AND e.leased_until IS NOT NULL
      AND held.after <= h.position; -- after a failover positions may mean something else
END
$$;

COMMENT ON FUNCTION appstore.poll_endpoints(p_names text[], p_epochs bigint[], p_after bigint[], p_seconds integer) IS 'Those of the endpoints that still are leased with these epochs, whether there is anything to send after these positions, and their settings. Renews leases of which less than half is left; writes nothing else.';

CREATE FUNCTION appstore.posted_by(body bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_user text;
BEGIN
    v_user := convert_from(body, 'UTF8')::jsonb ->> 'user';
    RETURN CASE WHEN char_length(v_user) <= 255 THEN v_user END;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION appstore.posted_by(body bytea) IS 'The user that a client post names; null when the body cannot be read.';

CREATE FUNCTION appstore.posted_scope(body bytea, OUT environment appstore.environment, OUT bundle_ids text[]) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    AS $$
DECLARE
    v_post jsonb;
BEGIN
    v_post := convert_from(body, 'UTF8')::jsonb;
    IF jsonb_typeof(v_post -> 'bundleIds') <> 'null' THEN
        bundle_ids := ARRAY(SELECT jsonb_array_elements_text(v_post -> 'bundleIds'));
    END IF;
    environment := v_post ->> 'environment';
EXCEPTION WHEN OTHERS THEN
    environment := NULL;
END
$$;

COMMENT ON FUNCTION appstore.posted_scope(body bytea, OUT environment appstore.environment, OUT bundle_ids text[]) IS 'The environment and the apps of a client post; null bundle_ids are any. environment is null when the body cannot be read.';

CREATE FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval, counts_attempt boolean DEFAULT true) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.outbox AS c
    SET is_leased = false, run_at = clock_timestamp() + postpone_call.delay,
        attempts = c.attempts + CASE WHEN postpone_call.counts_attempt THEN 1 ELSE 0 END,
        waits_for = postpone_call.reason,
        repeats = CASE WHEN NOT postpone_call.counts_attempt THEN c.repeats WHEN c.last_reason = postpone_call.reason THEN c.repeats + 1 ELSE 1 END,
        last_reason = CASE WHEN postpone_call.counts_attempt THEN postpone_call.reason ELSE c.last_reason END
    WHERE c.call_id = postpone_call.call_id AND c.epoch = postpone_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM appstore.fall_back(ARRAY[postpone_call.call_id]);
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval, counts_attempt boolean) IS 'Ends an attempt that had no answer: the call is due again after delay, and its fallback is used meanwhile. counts_attempt: false where the call is not the cause, such as a 429. Returns false, without effect, when the lease of that epoch has been lost.';

CREATE FUNCTION appstore.postpone_history_window(p_window_id bigint, p_epoch bigint, p_reason text, p_delay interval, p_counts boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    UPDATE appstore.history_windows AS w
    SET run_at = v_now + p_delay, is_leased = false, last_error = coalesce(p_reason, w.last_error), failures = w.failures + p_counts::integer,
        failing_since = CASE WHEN p_counts THEN coalesce(w.failing_since, v_now) ELSE w.failing_since END
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open';
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION appstore.postpone_history_window(p_window_id bigint, p_epoch bigint, p_reason text, p_delay interval, p_counts boolean) IS 'Ends a lease without a page. The window keeps its token. With p_counts it is a failure of the window, not of the budget or the key. False when another lease has begun.';

CREATE FUNCTION appstore.prepare_partitions() RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$
DECLARE
    v_ages    appstore.retention;
    v_newest  bigint;
    v_made    text;
    v_current record;
    v_since   timestamptz;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN NULL;
    END IF;
    SELECT r.* INTO v_ages FROM appstore.retention AS r;
    SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
    v_made := coalesce(appstore.make_partition('inbox', v_newest, v_ages.partition_events),
                       appstore.make_partition('outcomes', v_newest, v_ages.partition_events));
    IF v_made IS NOT NULL THEN
        RETURN 'made ' || v_made;
    END IF;

    -- Where bodies age, a partition is closed after an eighth of their age, so that a shop with few events can drop partitions as well: the
    -- sequence advances into the next one. Only there, since each partition costs every claim a little.
    SELECT p.partition, p.to_id INTO v_current FROM appstore.inbox_partitions AS p
    WHERE v_ages.bodies IS NOT NULL AND p.parent = 'inbox' AND p.from_id <= v_newest AND p.to_id > v_newest
      AND EXISTS (SELECT FROM appstore.inbox_partitions AS next WHERE next.parent = 'inbox' AND next.from_id = p.to_id);
    IF v_current.partition IS NOT NULL THEN
        EXECUTE format('SELECT i.received_at FROM appstore.%I AS i ORDER BY i.event_id LIMIT 1', v_current.partition) INTO v_since;
        IF v_since < clock_timestamp() - greatest(least(v_ages.bodies / 8, interval '30 days'), interval '1 day') THEN
            -- Waits for transactions that have drawn an id and blocks others, so that none draws one between the check and the advance.
            ALTER SEQUENCE appstore.inbox_event_id INCREMENT BY 1;
            SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
            IF v_newest < v_current.to_id - 1 THEN
                EXECUTE format('ALTER SEQUENCE appstore.inbox_event_id RESTART WITH %s', v_current.to_id);
                RETURN 'closed ' || v_current.partition;
            END IF;
        END IF;
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION appstore.prepare_partitions() IS 'Makes a partition of the inbox or of the outcomes when fewer than two are ready beyond the newest event, or closes the current one of the inbox when it is old enough. Returns what it did, null when there is nothing to do. Needs a lock that others hold for moments: it fails after 100 ms (55P03) without any change.';

CREATE FUNCTION appstore.publish_feed(with_users boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_columns text := (
        SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
        WHERE a.attrelid = 'appstore.feed'::regclass AND a.attnum > 0 AND NOT a.attisdropped
          AND (with_users OR a.attname NOT IN ('user_id', 'from_user_id')));
    v_table   text := format('TABLE appstore.feed (%s)', v_columns);
    v_filter  text := (SELECT p.rowfilter FROM pg_publication_tables AS p WHERE p.pubname = 'appstore_feed' LIMIT 1);
    v_options text := '(publish = ''insert'', publish_via_partition_root = true)';
BEGIN
    IF EXISTS (SELECT FROM pg_publication AS p WHERE p.pubname = 'appstore_feed') THEN
        EXECUTE format('ALTER PUBLICATION appstore_feed SET %s%s', v_table, ' WHERE (' || v_filter || ')');
        EXECUTE format('ALTER PUBLICATION appstore_feed SET %s', v_options);
    ELSE
        EXECUTE format('CREATE PUBLICATION appstore_feed FOR %s WITH %s', v_table, v_options);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.publish_feed(with_users boolean) IS 'Makes the publication appstore_feed of the inserts into appstore.feed, or brings its columns and options up to date; a row filter stays. Users are left out unless with_users: appstore.forget cannot reach copies. Called by migrate --publication, as the owner.';

CREATE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2'::text) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF source IS NULL OR source NOT IN ('notification_v2', 'notification_v1') THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Sources are notification_v2 and notification_v1.';
    -- The size of the array costs nothing to read, unlike the sum of the bodies' lengths. 2 kB allow for its headers.
    ELSIF cardinality(bodies) > 64 OR pg_column_size(bodies) > 8 * 1024 * 1024 + 2048 THEN
        RAISE EXCEPTION 'a call takes at most 64 bodies and 8 MB of them, not % bodies and % bytes', cardinality(bodies),
            pg_column_size(bodies) USING ERRCODE = 'program_limit_exceeded', HINT = 'Send them in several calls.';
    ELSIF cardinality(bodies) > 0 THEN
        RETURN QUERY SELECT appstore.store(source, bodies);
    ELSE
        -- A probe: its commit writes a record, so that it waits for a synchronous standby as that of a body does.
        PERFORM pg_logical_emit_message(true, 'appstore', '');
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.receive(bodies bytea[], source text) IS 'Stores the bodies of notifications, at most 64 and 8 MB in one call, and returns the ids of their events, in the order of the bodies. It fails when one is empty or longer than 4 MB, and then stores none. Without bodies it only checks that the database commits.';

CREATE FUNCTION appstore.reconcile(p_bundle_ids text[], p_environments appstore.environment[], p_sample integer, p_now timestamp with time zone DEFAULT clock_timestamp(), OUT asked integer, OUT settled integer, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_bundle      text;
    v_environment appstore.environment;
    v_step        record;
    v_has_backlog boolean := appstore.has_backlog(p_now);
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('appstore.reconcile', 0)) THEN
        RETURN;
    END IF;
    settled := appstore.settle_questions(v_has_backlog, p_now);
    asked := 0;
    has_more := false;
    IF v_has_backlog THEN -- what waits may answer the questions
        RETURN;
    END IF;
    FOR v_bundle, v_environment IN SELECT DISTINCT l.b, l.e FROM unnest(p_bundle_ids, p_environments) AS l (b, e) LOOP
        has_more := appstore.watch_stale_contracts(v_bundle, v_environment, p_now) OR has_more;
        SELECT * INTO v_step FROM appstore.ask_about_stale_contracts(v_bundle, v_environment, p_now);
        has_more := has_more OR v_step.has_more;
        asked := asked + v_step.asked + appstore.ask_about_a_sample(v_bundle, v_environment, p_sample, p_now);
    END LOOP;
    -- Questions have their numbers in the order of time.
    DELETE FROM appstore.reconcile_questions AS q
    WHERE q.question_id = ANY (ARRAY(SELECT old.question_id FROM appstore.reconcile_questions AS old ORDER BY old.question_id LIMIT 500))
      AND q.asked_at < p_now - interval '90 days';
END
$$;

COMMENT ON FUNCTION appstore.reconcile(p_bundle_ids text[], p_environments appstore.environment[], p_sample integer, p_now timestamp with time zone, OUT asked integer, OUT settled integer, OUT has_more boolean) IS 'One step of the reconciliation of these apps: finds the results of answered questions, finds stale contracts, and asks about those that are due, and about a sample of so many contracts of each app a day. While events wait in the inbox, it only finds results. Returns how many questions it wrote and settled, and whether there may be more contracts to look at; nulls while another worker does it.';

CREATE FUNCTION appstore.reconcile_contract(transaction_id text, bundle_id text DEFAULT NULL::text, environment appstore.environment DEFAULT NULL::appstore.environment) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    v_known record;
    v_count bigint;
    v_call  bigint;
BEGIN
    PERFORM appstore.check_argument(char_length(reconcile_contract.transaction_id) BETWEEN 1 AND 64, 'transaction_id must have 1 to 64 characters',
                                    'It is Apple''s id of a purchase, or the originalTransactionId of a subscription.');
    SELECT count(*) OVER (), known.* INTO v_known
    FROM (SELECT m.environment, m.original_transaction_id, m.bundle_id FROM appstore.contracts AS m
          WHERE m.original_transaction_id = reconcile_contract.transaction_id
          UNION
          SELECT t.environment, t.original_transaction_id, t.bundle_id FROM appstore.transactions AS t
          WHERE t.transaction_id = reconcile_contract.transaction_id) AS known
    WHERE (reconcile_contract.environment IS NULL OR known.environment = reconcile_contract.environment)
      AND (reconcile_contract.bundle_id IS NULL OR known.bundle_id = reconcile_contract.bundle_id);
    IF v_known.count > 1 OR (v_known.bundle_id IS NULL AND (reconcile_contract.bundle_id IS NULL OR reconcile_contract.environment IS NULL)) THEN
        RAISE EXCEPTION 'the ledger has %purchase with the id %', CASE WHEN v_known.count > 1 THEN 'more than one ' ELSE 'no ' END,
            quote_literal(reconcile_contract.transaction_id)
            USING ERRCODE = 'no_data_found', HINT = 'Give bundle_id and environment, and Apple is asked nevertheless.';
    END IF;
    IF v_known.bundle_id IS NULL THEN
        PERFORM appstore.check_argument(reconcile_contract.transaction_id ~ '^[0-9]{1,20}$', 'transaction_id must have up to 20 digits',
                                        'It is Apple''s id of a purchase.'),
                appstore.place_of_call(NULL, NULL, reconcile_contract.bundle_id, reconcile_contract.environment);
    END IF;
    v_call := appstore.ask_question(
        'operator', coalesce(v_known.bundle_id, reconcile_contract.bundle_id), coalesce(v_known.environment, reconcile_contract.environment),
        coalesce(v_known.original_transaction_id, reconcile_contract.transaction_id), NULL, 1::smallint, clock_timestamp());
    IF v_call IS NULL THEN
        RAISE EXCEPTION 'an open call asks about the same id of another app'
            USING ERRCODE = 'object_in_use', HINT = 'Wait until it is settled: appstore.outbox_status lists the calls.';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (clock_timestamp(), appstore.actor(), 'reconcile_contract', '{}',
            jsonb_build_object('transaction_id', reconcile_contract.transaction_id, 'call_id', v_call));
    RETURN v_call;
END
$_$;

COMMENT ON FUNCTION appstore.reconcile_contract(transaction_id text, bundle_id text, environment appstore.environment) IS 'Asks Apple now for the subscriptions of the customer with this purchase. Returns the call of the outbox. Of a purchase that the ledger does not have, bundle_id and environment must be given, else it fails with no_data_found; with invalid_parameter_value where no worker has had a key of the app, and with object_in_use while an open call asks about the same id of another app.';

CREATE FUNCTION appstore.reconcile_statistics(OUT rules text[], OUT questions bigint[], OUT changed bigint[], OUT wrong_ratio double precision) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT array_agg(r.rule), array_agg(r.questions), array_agg(r.changed), max(r.wrong_ratio) FROM appstore.reconcile_status AS r
$$;

COMMENT ON FUNCTION appstore.reconcile_statistics(OUT rules text[], OUT questions bigint[], OUT changed bigint[], OUT wrong_ratio double precision) IS 'How many questions each rule has asked so far, and how many answers changed the ledger; and the share of the sample of the last 30 days of which Apple''s answer changed it, null without an answer.';

CREATE TABLE appstore.consents (
    consent_id bigint NOT NULL,
    user_id text NOT NULL COLLATE pg_catalog."C",
    given_at timestamp with time zone NOT NULL,
    given_by text NOT NULL,
    evidence text,
    withdrawn_at timestamp with time zone,
    withdrawn_by text,
    CONSTRAINT consents_evidence_is_short CHECK (((char_length(evidence) >= 1) AND (char_length(evidence) <= 1000))),
    CONSTRAINT consents_user_is_a_name CHECK (((char_length(user_id) >= 1) AND (char_length(user_id) <= 255))),
    CONSTRAINT consents_withdrawal_whole CHECK (((withdrawn_at IS NULL) = (withdrawn_by IS NULL)))
);

COMMENT ON TABLE appstore.consents IS 'Users'' consents to tell Apple how they consumed purchases. A user has one in force at most; withdrawn ones stay as a record.';

COMMENT ON COLUMN appstore.consents.consent_id IS 'The number of the consent.';

COMMENT ON COLUMN appstore.consents.given_at IS 'When the user gave it.';

COMMENT ON COLUMN appstore.consents.given_by IS 'The login, or the API key, that recorded it.';

COMMENT ON COLUMN appstore.consents.evidence IS 'How the user gave it, such as the version of the terms; null once the user is forgotten.';

COMMENT ON COLUMN appstore.consents.withdrawn_at IS 'When it was withdrawn; null while it is in force.';

COMMENT ON COLUMN appstore.consents.withdrawn_by IS 'The login, or the API key, that withdrew it.';

CREATE FUNCTION appstore.record_consent(user_id text, evidence text, given_at timestamp with time zone, actor text) RETURNS appstore.consents
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_consent appstore.consents;
BEGIN
    PERFORM appstore.check_argument(char_length(user_id) BETWEEN 1 AND 255, 'user_id must have 1 to 255 characters',
                                    'Give the id that your own system has for the user.'),
            appstore.check_argument(char_length(evidence) BETWEEN 1 AND 1000, 'evidence must have 1 to 1000 characters',
                                    'Say how the user consented, such as the version of the terms.'),
            appstore.check_argument(given_at IS NULL OR given_at <= clock_timestamp(), format('given_at is in the future: %s', given_at),
                                    'Omit it for now.');
    INSERT INTO appstore.consents (user_id, evidence, given_at, given_by)
    VALUES (record_consent.user_id, record_consent.evidence, coalesce(record_consent.given_at, clock_timestamp()), actor)
    ON CONFLICT (user_id) WHERE withdrawn_at IS NULL DO NOTHING;
    SELECT k.* INTO v_consent FROM appstore.consents AS k WHERE k.user_id = record_consent.user_id AND k.withdrawn_at IS NULL;
    RETURN v_consent;
END
$$;

COMMENT ON FUNCTION appstore.record_consent(user_id text, evidence text, given_at timestamp with time zone, actor text) IS 'Records a consent and returns the one in force, which may be an earlier one.';

CREATE TABLE appstore.inbox_queue (
    event_id bigint NOT NULL,
    run_at timestamp with time zone NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    bytes integer NOT NULL,
    is_isolated boolean DEFAULT false NOT NULL,
    last_error text,
    deaths smallint DEFAULT 0 NOT NULL,
    run integer DEFAULT 1 NOT NULL,
    blocked_since timestamp with time zone,
    CONSTRAINT inbox_queue_attempts_not_negative CHECK ((attempts >= 0)),
    CONSTRAINT inbox_queue_deaths_not_negative CHECK ((deaths >= 0)),
    CONSTRAINT inbox_queue_run_positive CHECK ((run > 0))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE appstore.inbox_queue IS 'A narrow row for each event without an outcome, deleted when the event gets one. Separate from the bodies, so that neither ten million settled events nor a snapshot that is held for long slow the claim.';

COMMENT ON COLUMN appstore.inbox_queue.run_at IS 'When the event is due: its arrival, or the end of its back-off. Never in the past when it is written, which the worker''s low-water mark relies on.';

COMMENT ON COLUMN appstore.inbox_queue.bytes IS 'Length of the body, for the byte budget of a batch.';

COMMENT ON COLUMN appstore.inbox_queue.is_isolated IS 'The event runs by itself: its batch was lost with its process, or the event failed by itself.';

COMMENT ON COLUMN appstore.inbox_queue.deaths IS 'How often a worker died while it ran this event alone. Three make it failed.';

COMMENT ON COLUMN appstore.inbox_queue.blocked_since IS 'Since when each run has failed for what the server lacks or another session holds; null when the last one did not. No attempt is counted for a day.';

CREATE FUNCTION appstore.record_death(p_event appstore.inbox_queue, p_maximum_deaths integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_error text := format('killed_worker: the worker died %s times while it ran this event by itself', p_event.deaths + 1);
BEGIN
    IF p_event.deaths + 1 >= p_maximum_deaths THEN
        PERFORM appstore.settle(
            ARRAY[]::bigint[], ARRAY[i.event_id], ARRAY[i.source], ARRAY[i.received_at], ARRAY[p_event.run],
            ARRAY[p_event.attempts + p_event.deaths + 1],
            ARRAY['failed']::appstore.result[], ARRAY['killed_worker'], ARRAY[v_error], ARRAY[NULL]::text[], ARRAY[NULL]::text[],
            ARRAY[NULL]::uuid[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[])
        FROM appstore.inbox AS i WHERE i.event_id = p_event.event_id;
        RETURN true;
    END IF;
    UPDATE appstore.inbox_queue AS q
    SET deaths = q.deaths + 1, is_isolated = true, last_error = v_error,
        run_at = clock_timestamp() + interval '5 seconds' * (2 ^ p_event.deaths * (0.5 + random() / 2))
    WHERE q.event_id = p_event.event_id;
    RETURN false;
END
$$;

COMMENT ON FUNCTION appstore.record_death(p_event appstore.inbox_queue, p_maximum_deaths integer) IS 'Counts a death of the worker against an isolated event. Returns whether it was the last one, so that the event is failed.';

CREATE FUNCTION appstore.record_found_statuses(p_environment appstore.environment, p_effect_ids uuid[], p_subjects text[], p_event_ids bigint[], p_occurred_at timestamp with time zone[], p_original_transaction_ids text[], p_transaction_ids text[], p_product_ids text[], p_grace_period_expires_dates timestamp with time zone[]) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_new uuid[];
BEGIN
    WITH effect AS (
        INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                      product_id, order_no, user_id, grace_period_expires_date)
        SELECT e.effect_id, p_environment, 'status_found', e.subject, e.event_id, e.occurred_at, e.original_transaction_id, e.transaction_id,
               e.product_id, t.order_no, coalesce(o.user_id, m.user_id), e.grace_period_expires_date
        FROM (
            SELECT unnest(p_effect_ids) AS effect_id, unnest(p_subjects) AS subject, unnest(p_event_ids) AS event_id,
                   unnest(p_occurred_at) AS occurred_at, unnest(p_original_transaction_ids) AS original_transaction_id,
                   unnest(p_transaction_ids) AS transaction_id, unnest(p_product_ids) AS product_id,
                   unnest(p_grace_period_expires_dates) AS grace_period_expires_date
        ) AS e
        CROSS JOIN LATERAL (
            SELECT t.order_no, t.purchase_date FROM appstore.transactions AS t
            WHERE t.transaction_id = e.transaction_id AND t.environment = p_environment OFFSET 0
        ) AS t
        LEFT JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = t.order_no AND o.environment = p_environment OFFSET 0
        ) AS o ON true
        LEFT JOIN LATERAL (
            SELECT m.user_id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = p_environment AND o.user_id IS NULL OFFSET 0
        ) AS m ON true
        -- An answer about an earlier period, or older than what the ledger knows, is no news.
        WHERE EXISTS (
            SELECT FROM appstore.contracts AS k
            WHERE k.original_transaction_id = e.original_transaction_id AND k.environment = p_environment
              AND k.current_transaction_id = e.transaction_id AND k.renewal_status = split_part(e.subject, '/', 2)::integer OFFSET 0)
        -- What has told the same of this period: a notification, or the revocation of the transaction beside the status.
          AND NOT EXISTS (
            SELECT FROM appstore.effect_log AS told
            WHERE told.original_transaction_id = e.original_transaction_id AND told.environment = p_environment
              AND told.occurred_at >= t.purchase_date
              AND told.kind = ANY (CASE split_part(e.subject, '/', 2)
                                   WHEN '2' THEN '{expired}'
                                   WHEN '3' THEN '{billing_retry_started,grace_period_ended}'
                                   WHEN '4' THEN '{grace_period_started}'
                                   WHEN '5' THEN '{revoked,refunded}' END::text[]) OFFSET 0)
        ORDER BY e.effect_id
        ON CONFLICT (effect_id) DO NOTHING
        RETURNING effect_id
    )
    SELECT coalesce(array_agg(effect.effect_id), '{}') INTO v_new FROM effect;
    IF cardinality(v_new) > 0 AND (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        PERFORM appstore.tell_effects(p_environment, v_new, '{}');
    END IF;
    RETURN QUERY SELECT unnest(v_new);
END
$$;

COMMENT ON FUNCTION appstore.record_found_statuses(p_environment appstore.environment, p_effect_ids uuid[], p_subjects text[], p_event_ids bigint[], p_occurred_at timestamp with time zone[], p_original_transaction_ids text[], p_transaction_ids text[], p_product_ids text[], p_grace_period_expires_dates timestamp with time zone[]) IS 'Records effects of kind status_found, whose subject is contract/status/end of the period, unless another effect has told the same of this period or the ledger knows of a later period or another status. After appstore.apply_facts, in the same transaction. Returns the ids of those that are new. The arrays have an element for each effect.';

CREATE FUNCTION appstore.record_owner_link(environment appstore.environment, original_transaction_id text, user_id text, linked_at timestamp with time zone, actor text, note text, import_id integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor, note, import_id)
    VALUES (record_owner_link.environment, record_owner_link.original_transaction_id, record_owner_link.linked_at,
            record_owner_link.user_id, record_owner_link.actor, record_owner_link.note, record_owner_link.import_id);
    PERFORM appstore.derive_ledger(record_owner_link.environment, '{}', ARRAY[record_owner_link.original_transaction_id]);
END
$$;

COMMENT ON FUNCTION appstore.record_owner_link(environment appstore.environment, original_transaction_id text, user_id text, linked_at timestamp with time zone, actor text, note text, import_id integer) IS 'Inserts a link and derives the ledger; without a user it takes back the links before. Only for appstore.link_owner, appstore.unlink_owner and appstore.link_import_owners, which lock first, and tests.';

CREATE FUNCTION appstore.recover_lost_batches(p_lanes bigint[], p_grace interval, p_isolated_grace interval, p_maximum_deaths integer, OUT lost integer, OUT isolated integer, OUT deaths integer, OUT failed bigint[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_lane bigint;
    v_marker appstore.batch_markers;
    v_event appstore.inbox_queue;
    v_count integer;
BEGIN
    lost := 0;
    isolated := 0;
    deaths := 0;
    failed := ARRAY[]::bigint[];
    DELETE FROM appstore.batch_markers AS m WHERE m.lane = ANY (p_lanes);
    FOR v_lane IN
        SELECT m.lane
        FROM (SELECT m.lane FROM appstore.batch_markers AS m
              WHERE m.lost_at IS NULL OR v_now - m.lost_at >= CASE WHEN m.is_alone THEN p_isolated_grace ELSE p_grace END
              ORDER BY m.marked_at, m.lane
              OFFSET 0) AS m -- the locks are tried in this order
        WHERE pg_try_advisory_xact_lock(m.lane)
    LOOP
        -- A batch that commits frees its lock after its marker is gone, which only a later statement sees.
        SELECT m.* INTO v_marker FROM appstore.batch_markers AS m WHERE m.lane = v_lane FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        IF v_marker.server_start <> pg_postmaster_start_time() THEN
            -- The batch ended with the server: no event is the cause.
            DELETE FROM appstore.batch_markers AS m WHERE m.lane = v_lane;
            CONTINUE;
        END IF;
        IF coalesce(v_now - v_marker.lost_at, interval '0') < (CASE WHEN v_marker.is_alone THEN p_isolated_grace ELSE p_grace END) THEN
            -- Not lost yet: its worker may be about to begin it, or to report that it failed.
            UPDATE appstore.batch_markers AS m SET lost_at = v_now WHERE m.lane = v_lane;
            CONTINUE;
        END IF;
        IF v_marker.is_alone THEN
            SELECT q.* INTO v_event FROM appstore.inbox_queue AS q WHERE q.event_id = v_marker.event_ids[1] FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                deaths := deaths + 1;
                IF appstore.record_death(v_event, p_maximum_deaths) THEN
                    failed := failed || v_event.event_id;
                END IF;
            ELSIF EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = v_marker.event_ids[1]) THEN
                CONTINUE; -- another transaction holds it: judged later
            END IF;
        ELSE
            -- What another batch holds by now has that batch's marker. No writer of the queue names a time in the past: the low-water mark
            -- relies on it.
            WITH held AS MATERIALIZED (
                SELECT q.event_id FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (v_marker.event_ids)
                ORDER BY q.event_id FOR UPDATE SKIP LOCKED
            )
            UPDATE appstore.inbox_queue AS q SET is_isolated = true, run_at = greatest(q.run_at, clock_timestamp())
            WHERE q.event_id IN (SELECT held.event_id FROM held);
            GET DIAGNOSTICS v_count = ROW_COUNT;
            isolated := isolated + v_count;
        END IF;
        lost := lost + 1;
        -- Two workers may have reserved one isolated event at the same time: it died once.
        DELETE FROM appstore.batch_markers AS m
        WHERE m.lane = v_lane OR v_marker.is_alone AND m.is_alone AND m.event_ids = v_marker.event_ids;
    END LOOP;
END
$$;

COMMENT ON FUNCTION appstore.recover_lost_batches(p_lanes bigint[], p_grace interval, p_isolated_grace interval, p_maximum_deaths integer, OUT lost integer, OUT isolated integer, OUT deaths integer, OUT failed bigint[]) IS 'Judges batches that ended without a commit: their events must run by themselves from now on; an event that ran by itself is counted a death, and is failed after its last one. Returns how many batches were found lost, how many events were isolated and counted a death, and which events are failed.';

CREATE FUNCTION appstore.redeliver(endpoint text, from_position bigint DEFAULT NULL::bigint, upto_position bigint DEFAULT NULL::bigint, since timestamp with time zone DEFAULT NULL::timestamp with time zone, before timestamp with time zone DEFAULT NULL::timestamp with time zone, types text[] DEFAULT NULL::text[], only_failed boolean DEFAULT false, dry_run boolean DEFAULT false, note text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_first    bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1); -- and keeps what is there
    v_endpoint appstore.endpoints := appstore.endpoint_named(endpoint); -- counting takes seconds, which it must not be locked for
    v_from     bigint := greatest(v_first, from_position, appstore.feed_position_at(since));
    v_upto     bigint := least(upto_position, appstore.feed_position_at(before) - 1, (SELECT h.position FROM appstore.feed_head AS h));
    v_entries  bigint := 0;
    v_failed   bigint[];
    v_now      timestamptz;
BEGIN
    PERFORM appstore.check_argument(only_failed IS NOT NULL AND dry_run IS NOT NULL, 'only_failed and dry_run must be true or false',
                                    'Omit them for false.');
    PERFORM appstore.check_feed_types(types);
    IF only_failed THEN
        v_failed := ARRAY(
            SELECT d.position
            FROM appstore.open_deliveries AS d
            CROSS JOIN LATERAL (SELECT f.type FROM appstore.feed AS f WHERE f.position = d.position OFFSET 0) AS f
            WHERE d.endpoint = redeliver.endpoint AND (d.given_up_at IS NOT NULL OR d.first_failed_at IS NOT NULL)
              AND d.position BETWEEN v_from AND v_upto
              AND (redeliver.types IS NULL OR appstore.feed_wants(f.type, NULL, NULL, redeliver.types, NULL, NULL)));
        v_entries := cardinality(v_failed);
    ELSE
        v_upto := least(v_upto, v_endpoint.position);
        v_entries := (SELECT count(*) FROM appstore.feed AS f
                      WHERE f.position BETWEEN v_from AND v_upto AND appstore.endpoint_wants(v_endpoint, f)
                        AND (redeliver.types IS NULL OR appstore.feed_wants(f.type, NULL, NULL, redeliver.types, NULL, NULL))
                        AND NOT EXISTS (SELECT FROM appstore.open_deliveries AS d
                                        WHERE d.endpoint = redeliver.endpoint AND d.position = f.position AND d.given_up_at IS NULL));
    END IF;
    IF dry_run OR v_entries = 0 THEN
        RETURN v_entries;
    END IF;
    PERFORM appstore.locked_endpoint(endpoint);
    IF only_failed THEN
        v_now := clock_timestamp();
        UPDATE appstore.endpoints AS e SET due_from = least(e.due_from, v_now) WHERE e.name = redeliver.endpoint;
        UPDATE appstore.open_deliveries AS d
        SET run_at = greatest(clock_timestamp(), v_now), attempts = 0, first_failed_at = NULL, given_up_at = NULL
        WHERE d.endpoint = redeliver.endpoint AND d.position = ANY (v_failed) AND (d.given_up_at IS NOT NULL OR d.first_failed_at IS NOT NULL);
        GET DIAGNOSTICS v_entries = ROW_COUNT; -- others were delivered meanwhile
    ELSE
        INSERT INTO appstore.redeliveries (endpoint, after, upto, types, note)
        VALUES (redeliver.endpoint, v_from - 1, v_upto, redeliver.types, redeliver.note);
    END IF;
    PERFORM appstore.audit_endpoint('redeliver', endpoint, note, jsonb_strip_nulls(jsonb_build_object(
        'from_position', from_position, 'upto_position', upto_position, 'since', since, 'before', before, 'types', types,
        'only_failed', only_failed, 'entries', v_entries)));
    RETURN v_entries;
END
$$;

COMMENT ON FUNCTION appstore.redeliver(endpoint text, from_position bigint, upto_position bigint, since timestamp with time zone, before timestamp with time zone, types text[], only_failed boolean, dry_run boolean, note text) IS 'Sends an endpoint again what it wants of a part of the feed, with the ids of then, beside what is new, and returns how many entries. since and before are about feed.told_at. only_failed: what failed or was given up, from its first attempt on. dry_run only counts. What follows the cursor of the endpoint, or is in the open deliveries, comes anyway and is left out.';

CREATE FUNCTION appstore.release_endpoint(p_name text, p_epoch bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE appstore.endpoints AS e SET leased_until = NULL WHERE e.name = p_name AND e.epoch = p_epoch;
END
$$;

COMMENT ON FUNCTION appstore.release_endpoint(p_name text, p_epoch bigint) IS 'Ends the lease of that epoch, so that another worker can have the endpoint at once.';

CREATE FUNCTION appstore.release_subject(p_endpoint text, p_subject text, p_is_moved boolean, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_position bigint := appstore.first_waiting(p_endpoint, p_subject);
    v_until    timestamptz;
BEGIN
    IF v_position IS NOT NULL THEN
        v_until := appstore.held_until(p_endpoint, p_subject, v_position, p_now);
        -- Held by what is in flight and has no row: soon, since its end may have been reported before.
        UPDATE appstore.open_deliveries AS d
        SET run_at = coalesce(v_until, CASE WHEN p_is_moved THEN p_now ELSE p_now + interval '5 seconds' END)
        WHERE d.endpoint = p_endpoint AND d.position = v_position AND (p_is_moved OR d.run_at = 'infinity');
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.release_subject(p_endpoint text, p_subject text, p_is_moved boolean, p_now timestamp with time zone) IS 'Makes the first of the entries that wait for a subject due: at once, or when no earlier one that failed holds it. The next one follows when this one is delivered, has failed or was given up.';

CREATE FUNCTION appstore.remove_consumer(name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM appstore.feed_consumers AS c WHERE c.name = remove_consumer.name;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION appstore.remove_consumer(name text) IS 'Removes a consumer, so that the feed is no longer kept for it. Returns whether there was one.';

CREATE FUNCTION appstore.remove_endpoint(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.demand_read_committed();
    LOCK TABLE appstore.feed_switch IN SHARE ROW EXCLUSIVE MODE;
    PERFORM appstore.locked_endpoint(name);
    DELETE FROM appstore.endpoints AS e WHERE e.name = remove_endpoint.name;
    PERFORM appstore.set_wants_raw();
    PERFORM appstore.audit_endpoint('remove_endpoint', name);
END
$$;

COMMENT ON FUNCTION appstore.remove_endpoint(name text) IS 'Removes an endpoint with its open deliveries and redeliveries. Its attempts stay until they age.';

CREATE FUNCTION appstore.remove_import_chunk(p_chunk appstore.import_chunks) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM appstore.report_import_chunk(p_chunk.import_id, p_chunk.first_line);
    DELETE FROM appstore.import_chunks AS c WHERE c.import_id = p_chunk.import_id AND c.first_line = p_chunk.first_line;
    DELETE FROM appstore.import_links_due AS d WHERE d.import_id = p_chunk.import_id AND d.first_line = p_chunk.first_line;
    -- Under the lock of the import: the last chunk sees that there is no other.
    PERFORM FROM appstore.imports AS r WHERE r.import_id = p_chunk.import_id FOR UPDATE;
    PERFORM appstore.end_import(p_chunk.import_id);
END
$$;

COMMENT ON FUNCTION appstore.remove_import_chunk(p_chunk appstore.import_chunks) IS 'Deletes a chunk that is over, and ends its import with the last one.';

CREATE FUNCTION appstore.rename_in_ledger(user_id text, alias text, OUT orders bigint, OUT others bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    v_user      text := rename_in_ledger.user_id;
    v_alias     text := rename_in_ledger.alias;
    v_contracts appstore.contract_key[];
    v_table     text;
    v_rows      bigint;
BEGIN
    -- Before all others, as appstore.link_import_owners locks them: what it links meanwhile is found below.
    UPDATE appstore.import_items AS i SET user_id = NULL WHERE i.user_id = v_user;
    GET DIAGNOSTICS others = ROW_COUNT;
    -- 1. Lock in the order of every writer: contracts, posts, orders by token. The orders of periods are written under their contract's lock;
    --    Sandbox twins of orders are made under an advisory lock.
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.original_transaction_id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c
        ORDER BY c.environment, c.original_transaction_id);
    PERFORM FROM unnest(v_contracts) AS c (environment, id) CROSS JOIN LATERAL (
        SELECT FROM appstore.contracts AS m WHERE m.original_transaction_id = c.id AND m.environment = c.environment FOR UPDATE
    ) AS locked;
    PERFORM FROM appstore.client_posts AS p WHERE p.user_id = v_user
    ORDER BY p.original_transaction_id, p.environment, p.is_receipt, p.transaction_id FOR UPDATE;
    PERFORM pg_advisory_xact_lock(hashtextextended(made.order_no::text, 0))
    FROM (SELECT DISTINCT o.order_no FROM appstore.orders AS o WHERE o.user_id = v_user AND o.ordered_at IS NOT NULL
          ORDER BY o.order_no) AS made;
    PERFORM FROM appstore.orders AS o WHERE o.user_id = v_user AND o.ordered_at IS NOT NULL
    ORDER BY o.environment, o.order_no FOR UPDATE;

    -- 2. Write the alias. Orders of periods and effects are found through the contracts.
    UPDATE appstore.orders AS o SET user_id = v_alias WHERE o.user_id = v_user AND o.ordered_at IS NOT NULL;
    GET DIAGNOSTICS orders = ROW_COUNT;
    UPDATE appstore.orders AS o SET user_id = v_alias
    WHERE o.ctid = ANY (ARRAY(
        SELECT o.ctid FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT DISTINCT t.period_no FROM appstore.transactions AS t
            WHERE t.original_transaction_id = c.id AND t.environment = c.environment
        ) AS t
        CROSS JOIN LATERAL (
            SELECT o.ctid FROM appstore.orders AS o
            WHERE o.order_no = t.period_no AND o.environment = c.environment AND o.user_id = v_user OFFSET 0
        ) AS o));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    orders := orders + v_rows;
    UPDATE appstore.effect_log AS e SET user_id = v_alias
    WHERE e.ctid = ANY (ARRAY(
        SELECT e.ctid FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT e.ctid FROM appstore.effect_log AS e
            WHERE e.original_transaction_id = c.id AND e.environment = c.environment AND e.user_id = v_user OFFSET 0
        ) AS e));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    WITH renamed AS (
        UPDATE appstore.owner_links AS l SET user_id = v_alias, note = NULL WHERE l.user_id = v_user
        RETURNING l.environment, l.original_transaction_id, l.linked_at
    ), taken_back AS (
        UPDATE appstore.owner_links AS l SET note = NULL
        FROM renamed
        WHERE l.original_transaction_id = renamed.original_transaction_id AND l.environment = renamed.environment
          AND l.user_id IS NULL AND l.linked_at >= renamed.linked_at
    )
    SELECT count(*) INTO v_rows FROM renamed;
    others := others + v_rows;
    UPDATE appstore.audit_log AS a SET details = jsonb_set(a.details, '{user_id}', to_jsonb(v_alias)) WHERE a.details ->> 'user_id' = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    -- Consents before the calls of decisions, and calls before decisions, as whatever decides and settles locks them. Nothing more is sent.
    UPDATE appstore.consents AS k
    SET user_id = v_alias, evidence = NULL, withdrawn_at = coalesce(k.withdrawn_at, greatest(clock_timestamp(), k.given_at)),
        withdrawn_by = coalesce(k.withdrawn_by, appstore.actor())
    WHERE k.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.outbox AS o
    SET payload = '{}', state = CASE o.state WHEN 'open' THEN 'discarded' ELSE o.state END,
        reason = CASE o.state WHEN 'open' THEN 'forgotten' ELSE o.reason END, settled_at = coalesce(o.settled_at, clock_timestamp()),
        is_leased = false
    WHERE o.call_id = ANY (ARRAY( -- OFFSET 0: for the order, the planner would read the calls of all users
        SELECT d.call_id FROM (SELECT d.call_id FROM appstore.consumption_decisions AS d WHERE d.user_id = v_user OFFSET 0) AS d
        WHERE d.call_id IS NOT NULL ORDER BY d.call_id));
    UPDATE appstore.consumption_decisions AS d SET user_id = v_alias, answer.evidence = NULL, answer.details = NULL
    WHERE d.decision_id = ANY (ARRAY(
        SELECT d.decision_id FROM appstore.consumption_decisions AS d WHERE d.user_id = v_user
        UNION -- those that were made before the user was known
        SELECT d.decision_id FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT t.transaction_id FROM appstore.transactions AS t
            WHERE t.original_transaction_id = c.id AND t.environment = c.environment OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT d.decision_id FROM appstore.consumption_decisions AS d
            WHERE d.transaction_id = t.transaction_id AND d.environment = c.environment AND d.user_id IS NULL OFFSET 0
        ) AS d));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    -- The feed under the lock of its head: the step before it is visible then, and the next one sees the aliases.
    PERFORM FROM appstore.feed_head FOR UPDATE;
    -- What receivers answered about the user, also to what was forwarded as it came.
    UPDATE appstore.delivery_attempts AS a SET answer = NULL
    WHERE a.ctid = ANY (ARRAY(
        SELECT a.ctid
        FROM (SELECT c.id FROM unnest(v_contracts) AS c (environment, id)
              UNION
              SELECT f.subject FROM appstore.feed AS f WHERE f.user_id = v_user
              UNION
              SELECT f.subject FROM appstore.feed AS f WHERE f.from_user_id = v_user) AS c (id)
        CROSS JOIN LATERAL (
            SELECT a.ctid FROM appstore.delivery_attempts AS a WHERE a.subject = c.id AND a.answer IS NOT NULL OFFSET 0
        ) AS a));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.feed AS f SET from_user_id = v_alias WHERE f.from_user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.feed AS f SET user_id = v_alias WHERE f.user_id = v_user AND f.type <> 'user.forgotten';
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    FOREACH v_table IN ARRAY ARRAY['contracts', 'ownership_claims', 'client_posts', 'told_access'] LOOP
        EXECUTE format('UPDATE appstore.%I SET user_id = $2 WHERE user_id = $1', v_table) USING v_user, v_alias;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        others := others + v_rows;
    END LOOP;
END
$_$;

COMMENT ON FUNCTION appstore.rename_in_ledger(user_id text, alias text, OUT orders bigint, OUT others bigint) IS 'Writes an alias for a user into the ledger and the audit log, and returns how many orders and how many other rows it changed. A row that another transaction writes meanwhile may keep the name: call it until it changes nothing. Only for appstore.forget.';

CREATE FUNCTION appstore.renew_import_lease(p_import_id integer, p_first_line integer, p_epoch bigint, p_seconds integer, p_is_answered boolean) RETURNS appstore.import_chunks
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_chunk appstore.import_chunks;
BEGIN
    PERFORM appstore.demand_read_committed();
    UPDATE appstore.import_chunks AS c
    SET run_at = clock_timestamp() + make_interval(secs => p_seconds), failures = CASE WHEN p_is_answered THEN 0 ELSE c.failures END,
        silent_since = CASE WHEN p_is_answered THEN NULL WHEN NOT p_is_answered THEN coalesce(c.silent_since, clock_timestamp())
                            ELSE c.silent_since END
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line AND c.epoch = p_epoch AND c.is_leased
    RETURNING c.* INTO v_chunk;
    RETURN v_chunk;
END
$$;

COMMENT ON FUNCTION appstore.renew_import_lease(p_import_id integer, p_first_line integer, p_epoch bigint, p_seconds integer, p_is_answered boolean) IS 'Locks a chunk and renews its lease; null when another one has begun. An answer ends its failures and its silence, a request without an answer begins its silence; with null for p_is_answered neither does.';

CREATE FUNCTION appstore.renewal_status(c appstore.transactions, s appstore.contracts, l appstore.v1_renewals) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN NOT appstore.v1_counts(s, l) THEN
            CASE WHEN NOT appstore.is_of_earlier_period(s.renewal_status, s.renewal_date, c.purchase_date) THEN s.renewal_status END
        WHEN l.is_in_billing_retry_period AND l.grace_period_expires_date IS NOT NULL THEN 4
        WHEN l.is_in_billing_retry_period THEN 3
        WHEN l.expiration_intent IS NOT NULL THEN 2
    END
$$;

COMMENT ON FUNCTION appstore.renewal_status(c appstore.transactions, s appstore.contracts, l appstore.v1_renewals) IS 'The status of a renewal by the register that counts, null where that is of an earlier period than the current charge c. Notifications V1 have no status; it follows from their members.';

CREATE PROCEDURE appstore.repair_all(IN action text, IN filter appstore.repair_filter, IN note text)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_progress appstore.repair_progress;
    v_before   bigint := 0; -- the last event that the step before checked
    v_waits    boolean := false;
BEGIN
    IF current_setting('statement_timeout') <> '0' THEN
        RAISE NOTICE 'statement_timeout will end this call after %', current_setting('statement_timeout')
            USING HINT = 'SET statement_timeout = 0 before it. A call that was ended can be repeated.';
    END IF;
    LOOP
        BEGIN
            v_progress := appstore.repair_step(action, filter, note, v_progress);
        EXCEPTION WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
            RAISE NOTICE 'another transaction holds events of the next step: %', SQLERRM;
            v_progress.pause := interval '5 seconds';
        END;
        COMMIT;
        IF v_progress.event_id > v_before OR v_progress.is_done THEN
            RAISE NOTICE '% events %ed, up to event %', v_progress.events, rtrim(action, 'e'), v_progress.event_id;
            v_waits := false;
        ELSIF NOT v_waits THEN
            RAISE NOTICE 'waits until fewer than 1,000 events are due, or until the locks are free';
            v_waits := true;
        END IF;
        v_before := coalesce(v_progress.event_id, 0);
        EXIT WHEN v_progress.is_done;
        PERFORM pg_sleep(extract(epoch FROM v_progress.pause));
    END LOOP;
END
$$;

COMMENT ON PROCEDURE appstore.repair_all(IN action text, IN filter appstore.repair_filter, IN note text) IS 'The common part of appstore.requeue_all and appstore.discard_all.';

CREATE FUNCTION appstore.repair_events(action text, filter appstore.repair_filter, max_events integer, dry_run boolean, note text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    v_conditions jsonb;
    v_events     bigint;
BEGIN
    v_conditions := appstore.check_repair(action, filter, note);
    IF max_events NOT BETWEEN 1 AND 1000 OR (max_events IS NULL AND dry_run IS NOT TRUE) THEN
        RAISE EXCEPTION 'max_events must be 1 to 1000' USING ERRCODE = 'invalid_parameter_value', HINT =
            format('CALL appstore.%s_all(…) takes all events, in steps of 1,000; dry_run => true, max_events => NULL counts them.', action);
    ELSIF dry_run THEN
        v_events := (SELECT count(*) FROM appstore.find_outcomes(action, filter, max_events));
    ELSE
        v_events := cardinality(appstore.repair_outcomes(
            action, ARRAY(SELECT appstore.find_outcomes(action, filter, max_events)), 'infinity', '0', note, v_conditions));
    END IF;
    IF v_events = 0 THEN
        PERFORM appstore.suggest_reasons(filter);
    END IF;
    RETURN v_events;
END
$$;

COMMENT ON FUNCTION appstore.repair_events(action text, filter appstore.repair_filter, max_events integer, dry_run boolean, note text) IS 'The common part of appstore.requeue_events and appstore.discard_events.';

CREATE FUNCTION appstore.repair_held(event_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE NOTICE 'event % is held by a worker or by another repair; nothing was changed', event_id
        USING HINT = 'Repeat the call when its transaction has ended, usually within seconds.';
    RETURN 0;
END
$$;

COMMENT ON FUNCTION appstore.repair_held(event_id bigint) IS 'Returns 0 with a notice: the answer for an event that another transaction holds.';

CREATE FUNCTION appstore.repair_outcomes(action text, event_ids bigint[], settled_before timestamp with time zone, spread interval, note text, details jsonb) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_ids bigint[];
BEGIN
    -- 1. Lock in the order of the ids, as every writer does: the outcomes, then the bodies, which a requeue needs. Retention and forget
    --    delete bodies of outcomes that they have locked. Each row is looked up by its key, under any statistics.
    v_ids := ARRAY(
        SELECT locked.event_id
        FROM (SELECT DISTINCT id FROM unnest(event_ids) AS id ORDER BY id) AS wanted
        CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            -- A query of its own, since the planner would look up the ends of outcomes_by_time to compare a value with.
            WHERE o.event_id = wanted.id AND o.settled_at < (SELECT settled_before)
              AND (action = 'requeue' OR o.result IN ('failed', 'rejected', 'unhandled')) IS TRUE
            FOR UPDATE
        ) AS locked);
    IF action = 'requeue' THEN
        v_ids := ARRAY(
            SELECT locked.event_id FROM unnest(v_ids) AS wanted (id)
            CROSS JOIN LATERAL (SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = wanted.id FOR KEY SHARE) AS locked);
    END IF;
    IF v_ids = '{}' THEN
        RETURN v_ids;
    END IF;

    -- 2. The outcomes go into the history.
    INSERT INTO appstore.outcome_history (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
        notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, replaced_at,
        replaced_by)
    SELECT o.event_id, o.source, o.received_at, o.settled_at, o.run, o.attempts, o.result, o.reason, o.last_error,
           o.notification_type, o.subtype, o.notification_uuid, o.environment, o.bundle_id, o.transaction_id, o.original_transaction_id,
           clock_timestamp(), appstore.actor()
    FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids);

    -- 3. The events go back into the queue, due one after the other in the order of their arrival; or get the new outcome.
    IF action = 'requeue' THEN
        WITH taken AS (DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids) RETURNING o.event_id, o.run)
        INSERT INTO appstore.inbox_queue (event_id, run_at, bytes, run)
        SELECT t.event_id,
               clock_timestamp() + (row_number() OVER (ORDER BY t.event_id) - 1)::double precision / cardinality(v_ids) * spread,
               i.bytes, t.run + 1
        FROM taken AS t
        CROSS JOIN LATERAL (SELECT octet_length(i.body) AS bytes FROM appstore.inbox AS i WHERE i.event_id = t.event_id OFFSET 0) AS i
        ORDER BY t.event_id;
    ELSE
        UPDATE appstore.outcomes AS o SET run = o.run + 1, settled_at = clock_timestamp(), result = 'discarded', reason = note
        WHERE o.event_id = ANY (v_ids);
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), action, v_ids, note, details);
    RETURN v_ids;
END
$$;

COMMENT ON FUNCTION appstore.repair_outcomes(action text, event_ids bigint[], settled_before timestamp with time zone, spread interval, note text, details jsonb) IS 'Requeues or discards these events, moves their outcomes into the history, and writes one row of the audit log. Takes only outcomes older than settled_before; a requeue only events with a body, a discard only what was not applied. Requeued events become due one after the other within spread. Returns the events that it changed, in the order of their ids.';

CREATE FUNCTION appstore.repair_step(action text, filter appstore.repair_filter, note text, progress appstore.repair_progress DEFAULT NULL::appstore.repair_progress) RETURNS appstore.repair_progress
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    c_repaired   CONSTANT integer := 1000;  -- the most events that a step repairs
    c_checked    CONSTANT integer := 20000; -- the most outcomes that it checks
    v_now        timestamptz := clock_timestamp();
    v            appstore.repair_progress;
    v_conditions jsonb;
    v_due        bigint;
    v_first      timestamptz;
    v_outcome    record;
    v_checked    integer := 0;
    v_found      bigint[] := '{}';
BEGIN
    v_conditions := appstore.check_repair(action, filter, note);
    v := ROW(coalesce(progress.started_at, v_now), coalesce(progress.event_id, 0), coalesce(progress.events, 0),
             coalesce(progress.pace, '1 second'), coalesce(progress.due_from, '-infinity'), '0', false);

    -- 1. Fresh events must not queue behind the repair: no step runs while 1,000 events are due, and the fewer are due, the shorter the
    --    interval between requeued events. The count starts where the queue began at the latest step: an event from before is committed
    --    within ten seconds of its time.
    IF action = 'requeue' THEN
        SELECT count(*), min(due.run_at) INTO v_due, v_first
        FROM (SELECT q.run_at FROM appstore.inbox_queue AS q WHERE q.run_at >= v.due_from AND q.run_at <= v_now
              ORDER BY q.run_at, q.event_id LIMIT c_repaired) AS due;
        v.due_from := greatest(v.due_from, least(v_first, v_now - interval '10 seconds'));
        v.pace := v.pace * CASE WHEN v_due >= c_repaired THEN 1.5 WHEN v_due < 100 THEN 0.8 ELSE 1.25 END;
        v.pace := least(greatest(v.pace, interval '100 milliseconds'), interval '10 seconds');
        IF v_due >= c_repaired THEN
            v.pause := v.pace / 4;
            RETURN v;
        END IF;
    END IF;

    -- 2. The next outcomes by event id. One query returns the matching ones and the end of the step, so that both are of one snapshot. An
    --    outcome that is added behind the walk is younger than the walk's start.
    FOR v_outcome IN
        SELECT o.event_id,
               o.settled_at < v.started_at AND appstore.matches_filter(o, filter)
                   AND CASE action WHEN 'discard' THEN o.result IN ('failed', 'rejected', 'unhandled')
                            ELSE EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0) END AS fits
        FROM appstore.outcomes AS o
        WHERE o.event_id > v.event_id
        ORDER BY o.event_id LIMIT c_checked
    LOOP
        v_checked := v_checked + 1;
        v.event_id := v_outcome.event_id;
        IF v_outcome.fits THEN
            v_found := v_found || v_outcome.event_id;
            EXIT WHEN cardinality(v_found) = c_repaired;
        END IF;
    END LOOP;
    v.is_done := v_checked < c_checked AND cardinality(v_found) < c_repaired;

    -- 3. The repair.
    IF action = 'requeue' THEN
        v.pause := cardinality(v_found)::double precision / c_repaired * v.pace;
    END IF;
    v.events := v.events + cardinality(appstore.repair_outcomes(action, v_found, v.started_at, v.pause, note, v_conditions));
    IF v.is_done AND v.events = 0 THEN
        PERFORM appstore.suggest_reasons(filter);
    END IF;
    RETURN v;
END
$$;

COMMENT ON FUNCTION appstore.repair_step(action text, filter appstore.repair_filter, note text, progress appstore.repair_progress) IS 'Repairs the next events that meet the conditions, at most 1,000, in the order of their ids, and returns the progress: call it again with that, in a transaction of its own, after progress.pause, until progress.is_done. It may repair none while many fresh events are due.';

CREATE FUNCTION appstore.repeat_call(call_id bigint, note text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_made bigint;
BEGIN
    -- Apple would extend twice.
    SELECT a.call_id INTO v_made
    FROM appstore.outbox AS c JOIN appstore.outbox AS a ON a.call_key = c.call_key AND a.kind = c.kind
    WHERE c.call_id = repeat_call.call_id AND c.kind IN ('extend_renewal_date', 'extend_for_all') AND a.state = 'answered';
    IF FOUND THEN
        RAISE EXCEPTION 'call % has made this extension', v_made
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Another extension needs another request_identifier.';
    END IF;
    UPDATE appstore.outbox AS c
    SET state = 'open', reason = NULL, settled_at = NULL, run_at = clock_timestamp(), attempts = 0, last_reason = NULL, waits_for = NULL, repeats = 0,
        deadline_at = clock_timestamp() + (c.deadline_at - c.asked_at), asked_at = clock_timestamp()
    WHERE c.call_id = repeat_call.call_id AND c.state IN ('refused', 'given_up', 'discarded');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'call % is open, answered or unknown', call_id
            USING ERRCODE = 'no_data_found', HINT = 'appstore.outbox_status lists the calls.';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'repeat_call', '{}', repeat_call.note, jsonb_build_object('call_id', repeat_call.call_id));
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION 'another open call asks the same as call %', call_id
        USING ERRCODE = 'object_in_use', HINT = 'Wait until that call is settled.';
END
$$;

COMMENT ON FUNCTION appstore.repeat_call(call_id bigint, note text) IS 'Opens a call again that was refused, given up or discarded, with as much time until its deadline as it had at first. It fails with no_data_found for any other call, with object_in_use while another call with the same key is open, and with object_not_in_prerequisite_state for an extension that another call with its identifier has made.';

CREATE FUNCTION appstore.report_import_chunk(p_import_id integer, p_first_line integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_now     timestamptz := clock_timestamp();
    v_chunk   appstore.import_chunks;
    v_settled integer;
BEGIN
    SELECT c.* INTO STRICT v_chunk FROM appstore.import_chunks AS c WHERE c.import_id = p_import_id AND c.first_line = p_first_line FOR UPDATE;
    UPDATE appstore.import_chunks AS c SET found = 0, covered = 0, unknown = 0, failed = 0, reported_at = v_now
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line;
    UPDATE appstore.imports AS r
    SET found = r.found + v_chunk.found, covered = r.covered + v_chunk.covered, unknown = r.unknown + v_chunk.unknown,
        failed = r.failed + v_chunk.failed
    WHERE r.import_id = p_import_id;
    v_settled := v_chunk.found + v_chunk.covered + v_chunk.unknown + v_chunk.failed;
    IF v_settled > 0 THEN
        INSERT INTO appstore.import_rates AS k (import_id, at, settled)
        VALUES (p_import_id, date_bin('10 seconds', v_now, 'epoch'), v_settled)
        ON CONFLICT (import_id, at) DO UPDATE SET settled = k.settled + excluded.settled;
        DELETE FROM appstore.import_rates AS k WHERE k.import_id = p_import_id AND k.at < v_now - interval '20 minutes';
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.report_import_chunk(p_import_id integer, p_first_line integer) IS 'Adds the numbers of a chunk to its import, and to the rate.';

CREATE FUNCTION appstore.request_apple(kind text, id text, details jsonb, bundle_id text, environment appstore.environment, actor text, key appstore.api_keys, verbs text[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    c_request    CONSTANT text := '^[A-Za-z0-9._:-]{1,128}$';
    v_bundle     text;
    v_place      appstore.environment;
    v_is_change  boolean := kind IN ('set_app_account_token', 'finish_transaction', 'extend_renewal_date', 'extend_for_all');
    v_is_extension boolean := kind IN ('extend_renewal_date', 'extend_for_all');
    v_of_one     boolean := kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction',
                                     'set_app_account_token', 'finish_transaction', 'extend_renewal_date');
    v_key        text := id;
    v_path       text[] := ARRAY[id];
    v_body       jsonb;
    v_payload    bytea;
    v_call       record;
    v_original   text;
    v_day        text;
BEGIN
    -- 1. The arguments. The messages, unlike the hints, show none of them: the HTTP API returns them.
    PERFORM appstore.check_argument(
        v_is_change OR kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction',
                                'order_lookup', 'extend_status', 'test_notification', 'test_status'),
        format('there is no question %s', quote_nullable(kind)),
        'Questions are transaction_info, transaction_history, subscription_statuses, refund_history, app_transaction, order_lookup, '
        'extend_status, test_notification and test_status.');
    IF kind = 'test_notification' THEN
        PERFORM appstore.check_argument(id IS NULL, 'a test notification has no id', 'Leave it out.'),
                appstore.check_environment(environment);
    ELSE
        PERFORM appstore.check_argument(
            id ~ CASE WHEN v_of_one THEN '^[0-9]{1,20}$' WHEN kind = 'order_lookup' THEN '^[A-Za-z0-9]{1,64}$'
                      WHEN kind = 'test_status' THEN '^[A-Za-z0-9_.-]{1,200}$' WHEN kind = 'extend_status' THEN c_request
                      ELSE '^[A-Za-z0-9._-]{1,100}$' END,
            'id must be ' || CASE WHEN v_of_one THEN 'a transactionId, which has up to 20 digits'
                                  WHEN kind = 'order_lookup' THEN 'the order number of a receipt, letters and digits such as MK5TTTVWJH'
                                  WHEN kind = 'test_status' THEN 'a testNotificationToken'
                                  WHEN kind = 'extend_status' THEN 'a requestIdentifier' ELSE 'a productId' END,
            format('It is %s.', quote_nullable(left(id, 100))));
    END IF;
    PERFORM appstore.check_argument(kind <> 'order_lookup' OR environment IS DISTINCT FROM 'Sandbox', 'Apple knows no order numbers in Sandbox',
                                    'Ask about a transactionId.');
    IF v_is_extension THEN
        PERFORM appstore.check_argument(details ->> 'days' ~ '^[0-9]{1,2}$' AND (details ->> 'days')::integer BETWEEN 1 AND 90,
                                        'days must be from 1 to 90',
                                        'Apple extends by 90 days at most (4000009).'),
                appstore.check_argument(details ->> 'reason' ~ '^[0-3]$',
                                        'reason must be from 0 to 3',
                                        '0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage (4000010).'),
                appstore.check_argument(details ->> 'requestIdentifier' IS NULL OR details ->> 'requestIdentifier' ~ c_request,
                                        'request_identifier must have 1 to 128 letters, digits, and . _ : -', 'Omit it for one in 24 hours.');
        v_body := jsonb_build_object('extendByDays', details -> 'days', 'extendReasonCode', details -> 'reason');
    END IF;
    IF kind = 'extend_for_all' THEN
        PERFORM appstore.check_argument(
            details -> 'storefronts' IS NULL OR NOT EXISTS (
                SELECT FROM jsonb_array_elements_text(details -> 'storefronts') AS s (code) WHERE s.code !~ '^[A-Z]{3}$'),
            'storefronts must be country codes of three capital letters', 'Such as USA and DEU (4000028); omit them for all.'),
            appstore.check_argument(details -> 'storefronts' IS DISTINCT FROM '[]', 'storefronts are empty', 'Omit them for all (4000027).');
        v_path := '{}';
        v_body := v_body || jsonb_strip_nulls(jsonb_build_object('productId', id, 'storefrontCountryCodes', details -> 'storefronts'));
    ELSIF kind = 'extend_status' THEN
        PERFORM appstore.check_argument(details ->> 'productId' ~ '^[A-Za-z0-9._-]{1,100}$', 'the productId must be named',
                                        'Give that of the extension.');
        v_path := ARRAY[details ->> 'productId', id];
    ELSIF kind = 'set_app_account_token' THEN
        PERFORM appstore.check_argument(details ->> 'token' IS NOT NULL, 'token must not be null', 'It is a UUID, the appAccountToken.');
        v_body := jsonb_build_object('appAccountToken', details -> 'token');
    END IF;

    -- 2. The app and environment. A change must know its environment; it is Production unless the ledger knows better.
    SELECT p.bundle_id, p.environment INTO v_bundle, v_place
    FROM appstore.place_of_call(CASE WHEN v_of_one THEN id END, key, request_apple.bundle_id,
                                CASE WHEN kind = 'order_lookup' THEN 'Production' ELSE request_apple.environment END) AS p;
    IF v_place IS NULL AND NOT (v_of_one AND NOT v_is_change) THEN
        v_place := 'Production';
    END IF;
    IF (key).key_id IS NOT NULL THEN
        PERFORM appstore.authorize((key).key_hash, verbs, CASE WHEN v_place IS NULL THEN enum_range(NULL::appstore.environment)
                                                               ELSE ARRAY[v_place] END, ARRAY[v_bundle]);
    END IF;
    IF kind IN ('set_app_account_token', 'extend_renewal_date') THEN
        SELECT t.original_transaction_id INTO v_original FROM appstore.transactions AS t
        WHERE t.transaction_id = request_apple.id AND t.environment = v_place;
        PERFORM appstore.check_argument(coalesce(v_original = id, true), 'id is a later transaction of its contract',
                                        format('Name the originalTransactionId %s (4000187).', v_original));
    END IF;
    IF v_is_extension THEN
        -- Without an identifier, one of the day, or that of the day before where it was used in the last 24 hours.
        v_day := to_char(clock_timestamp() AT TIME ZONE 'UTC' - interval '24 hours', '-YYYYMMDD');
        IF NOT EXISTS (SELECT FROM appstore.outbox AS c
                       WHERE c.call_key = lower(v_place::text) || ':' || request_apple.id || v_day AND c.kind = request_apple.kind
                         AND c.bundle_id = v_bundle
                         -- Of one that was given up, Apple may have heard.
                         AND ((c.state = 'open') IS TRUE
                              OR CASE c.state WHEN 'answered' THEN c.asked_at WHEN 'given_up' THEN c.settled_at END
                                 > clock_timestamp() - interval '24 hours')) THEN
            v_day := to_char(clock_timestamp() AT TIME ZONE 'UTC', '-YYYYMMDD');
        END IF;
        v_key := coalesce(details ->> 'requestIdentifier', id || v_day);
        v_body := v_body || jsonb_build_object('requestIdentifier', v_key);
    END IF;
    v_key := coalesce(lower(v_place::text), 'any') || ':'
             || CASE kind WHEN 'test_notification' THEN v_bundle WHEN 'extend_status' THEN array_to_string(v_path, ':') ELSE v_key END;
    v_payload := convert_to(jsonb_strip_nulls(jsonb_build_object(
        'path', CASE WHEN kind <> 'test_notification' THEN nullif(to_jsonb(v_path), '[]') END, 'body', v_body,
        'anyEnvironment', CASE WHEN v_place IS NULL THEN true END))::text, 'UTF8');

    -- 3. The call. The same question while one is open joins it; an extension that Apple has made is not made again.
    IF v_is_extension THEN
        SELECT c.call_id, c.payload, c.bundle_id INTO v_call FROM appstore.outbox AS c
        WHERE c.call_key = v_key AND c.kind = request_apple.kind AND c.state IN ('open', 'answered') ORDER BY c.call_id DESC LIMIT 1;
        PERFORM appstore.check_argument(
            v_call.call_id IS NULL OR (v_call.payload = v_payload AND v_call.bundle_id = v_bundle),
            format('call %s has the same requestIdentifier and extends otherwise', v_call.call_id), 'Give another request_identifier.');
        IF v_call.call_id IS NOT NULL THEN
            RETURN v_call.call_id;
        END IF;
    END IF;
    INSERT INTO appstore.outbox AS c (kind, call_key, bundle_id, environment, priority, payload, deadline_at)
    VALUES (request_apple.kind, v_key, v_bundle, coalesce(v_place, 'Production'), 1, v_payload, clock_timestamp() + CASE
        WHEN kind IN ('transaction_history', 'refund_history') THEN interval '7 days' WHEN kind = 'order_lookup' THEN '5 minutes'
        WHEN kind IN ('test_notification', 'test_status') THEN '10 minutes' WHEN v_is_change THEN '1 day' ELSE '1 hour' END)
    ON CONFLICT (call_key, kind) WHERE state = 'open' DO UPDATE
    SET priority = least(c.priority, excluded.priority), run_at = CASE WHEN c.is_leased THEN c.run_at ELSE least(c.run_at, clock_timestamp()) END
    WHERE c.bundle_id = excluded.bundle_id AND (c.payload = excluded.payload OR NOT v_is_change)
    RETURNING c.call_id, c.xmax = 0 AS is_new INTO v_call;
    IF v_call.call_id IS NULL THEN
        RAISE EXCEPTION 'an open call asks otherwise about the same'
            USING ERRCODE = 'object_in_use', HINT = 'Wait until it is settled: appstore.outbox_status lists the calls.';
    END IF;
    IF v_call.is_new THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
        VALUES (clock_timestamp(), actor, 'request_apple', '{}', jsonb_strip_nulls(jsonb_build_object(
            'call_id', v_call.call_id, 'kind', kind, 'bundle_id', v_bundle, 'environment', v_place, 'id', id,
            'details', details - 'token')));
    END IF;
    RETURN v_call.call_id;
END
$_$;

COMMENT ON FUNCTION appstore.request_apple(kind text, id text, details jsonb, bundle_id text, environment appstore.environment, actor text, key appstore.api_keys, verbs text[]) IS 'Checks a question or a change, and writes the call that sends it, or returns the open one that asks the same. Fails with invalid_parameter_value when an argument is wrong, and with object_in_use while an open call asks otherwise under the same key.';

CREATE PROCEDURE appstore.requeue_all(IN result appstore.result DEFAULT NULL::appstore.result, IN reason text DEFAULT NULL::text, IN notification_type text DEFAULT NULL::text, IN subtype text DEFAULT NULL::text, IN environment appstore.environment DEFAULT NULL::appstore.environment, IN bundle_id text DEFAULT NULL::text, IN received_from timestamp with time zone DEFAULT NULL::timestamp with time zone, IN received_before timestamp with time zone DEFAULT NULL::timestamp with time zone, IN note text DEFAULT NULL::text)
    LANGUAGE plpgsql
    AS $$
BEGIN
    CALL appstore.repair_all(
        'requeue', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before), note);
END
$$;

COMMENT ON PROCEDURE appstore.requeue_all(IN result appstore.result, IN reason text, IN notification_type text, IN subtype text, IN environment appstore.environment, IN bundle_id text, IN received_from timestamp with time zone, IN received_before timestamp with time zone, IN note text) IS 'Runs all events again that meet every given condition, still have their body, and were settled before the call. It commits every 1,000 events, at a pace that lets fresh events go first, and can be ended and repeated. Call it outside of a transaction and without a statement_timeout.';

CREATE FUNCTION appstore.requeue_event(event_id bigint, note text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM appstore.inbox_queue AS q WHERE q.event_id = requeue_event.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE appstore.inbox_queue AS q SET run_at = clock_timestamp(), attempts = 0, is_isolated = false, deaths = 0
        WHERE q.event_id = requeue_event.event_id;
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
        VALUES (clock_timestamp(), appstore.actor(), 'requeue', ARRAY[requeue_event.event_id], requeue_event.note);
        RETURN 1;
    ELSIF EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = requeue_event.event_id) THEN
        RETURN appstore.repair_held(event_id);
    ELSIF appstore.repair_outcomes('requeue', ARRAY[event_id], 'infinity', '0', note, NULL) <> '{}' THEN
        RETURN 1;
    ELSIF NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = requeue_event.event_id) THEN
        RAISE EXCEPTION 'event % does not exist, or its body has been deleted', event_id
            USING ERRCODE = 'no_data_found', HINT = 'SELECT * FROM appstore.inbox_status WHERE event_id = … shows whether it has an outcome.';
    END IF;
    RETURN appstore.repair_held(event_id);
END
$$;

COMMENT ON FUNCTION appstore.requeue_event(event_id bigint, note text) IS 'Runs an event with any outcome again; an event that waits becomes due, as if it had never been tried. Returns 1, or 0 with a notice when a worker or another repair holds it. Fails when the event is unknown or its body was deleted.';

CREATE FUNCTION appstore.requeue_events(result appstore.result DEFAULT NULL::appstore.result, reason text DEFAULT NULL::text, notification_type text DEFAULT NULL::text, subtype text DEFAULT NULL::text, environment appstore.environment DEFAULT NULL::appstore.environment, bundle_id text DEFAULT NULL::text, received_from timestamp with time zone DEFAULT NULL::timestamp with time zone, received_before timestamp with time zone DEFAULT NULL::timestamp with time zone, max_events integer DEFAULT 1000, dry_run boolean DEFAULT false, note text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.repair_events(
        'requeue', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before),
        max_events, dry_run, note);
END
$$;

COMMENT ON FUNCTION appstore.requeue_events(result appstore.result, reason text, notification_type text, subtype text, environment appstore.environment, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean, note text) IS 'Runs the events again that meet every given condition and still have their body, at most max_events (1 to 1,000), and returns how many. dry_run only counts them, all of them when max_events is null. appstore.requeue_all takes all.';

CREATE FUNCTION appstore.restart_history_window(p_window_id bigint, p_epoch bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    c_restarts CONSTANT integer := 5;
    v_window   appstore.history_windows;
    v_halves   boolean;
    v_middle   timestamptz;
BEGIN
    SELECT w.* INTO v_window FROM appstore.history_windows AS w
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' FOR UPDATE;
    v_halves := v_window.restarts + 1 >= c_restarts AND v_window.ends_at - v_window.starts_at >= interval '1 minute';
    v_middle := date_trunc('milliseconds', v_window.starts_at + (v_window.ends_at - v_window.starts_at) / 2);
    INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
    SELECT v_window.bundle_id, v_window.environment, v_window.kind, v_middle, v_window.ends_at WHERE v_halves;
    UPDATE appstore.history_windows AS w
    SET token = NULL, pages = 0, listed = 0, restarts = CASE WHEN v_halves THEN 0 ELSE w.restarts + 1 END,
        ends_at = CASE WHEN v_halves THEN v_middle ELSE w.ends_at END
    WHERE w.window_id = v_window.window_id;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION appstore.restart_history_window(p_window_id bigint, p_epoch bigint) IS 'Lets a leased window begin again with its first page, after its token was refused; the fifth time, its second half becomes a window of its own. False when another lease has begun.';

CREATE FUNCTION appstore.resume_endpoint(name text, after bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
#variable_conflict use_column
DECLARE
    v_first    bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1); -- and keeps what is there
    v_endpoint appstore.endpoints := appstore.locked_endpoint(name);
    v_head     bigint := (SELECT h.position FROM appstore.feed_head AS h);
    v_position bigint;
BEGIN
    v_first := coalesce(v_first - 1, v_head);
    v_position := CASE after WHEN 0 THEN v_first ELSE coalesce(after, v_endpoint.position) END;
    PERFORM appstore.check_argument(
        v_position BETWEEN v_first AND v_head,
        CASE WHEN after IS NULL THEN format('entries after position %s, which endpoint %s has not got, have aged', v_position, name)
             ELSE format('after must be from %s to %s', v_first, v_head) END,
        format('Go on from the oldest entry: SELECT appstore.resume_endpoint(%L, 0), or from now: (%L, %s).', name, name, v_head));
    DELETE FROM appstore.open_deliveries AS d
    WHERE d.endpoint = resume_endpoint.name AND d.position > v_position AND v_position < v_endpoint.position; -- they come again
    UPDATE appstore.endpoints AS e
    SET state = 'enabled', why = NULL, state_since = CASE WHEN e.state = 'enabled' THEN e.state_since ELSE clock_timestamp() END,
        position = v_position, epoch = e.epoch + 1, leased_until = NULL, failures = 0, failing_since = NULL, open_until = NULL, probes = 0
    WHERE e.name = resume_endpoint.name;
    PERFORM appstore.audit_endpoint('resume_endpoint', name, NULL, jsonb_build_object(
        'was', v_endpoint.state, 'from', v_endpoint.position, 'position', v_position));
    RETURN v_position;
END
$$;

COMMENT ON FUNCTION appstore.resume_endpoint(name text, after bigint) IS 'Enables an endpoint that is paused, disabled or behind, and closes its breaker. It goes on where it was, or after this position; 0 for the oldest entry. Returns the position. What is in flight may be sent again.';

CREATE FUNCTION appstore.revoke_api_key(key_id integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_name text;
BEGIN
    UPDATE appstore.api_keys AS k SET revoked_at = clock_timestamp() WHERE k.key_id = revoke_api_key.key_id AND k.revoked_at IS NULL
    RETURNING k.name INTO v_name;
    IF FOUND THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
        VALUES (clock_timestamp(), appstore.actor(), 'revoke_api_key', '{}', v_name, jsonb_build_object('key_id', revoke_api_key.key_id));
        RETURN true;
    ELSIF EXISTS (SELECT FROM appstore.api_keys AS k WHERE k.key_id = revoke_api_key.key_id) THEN
        RETURN false;
    END IF;
    RAISE EXCEPTION 'there is no key %', key_id USING ERRCODE = 'no_data_found', HINT = 'The table appstore.api_keys lists the keys.';
END
$$;

COMMENT ON FUNCTION appstore.revoke_api_key(key_id integer) IS 'Revokes a key: from its commit on the key permits nothing. Returns false when the key was already revoked; fails when there is none.';

CREATE FUNCTION appstore.rotate_endpoint_secret(name text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
#variable_conflict use_column
DECLARE
    v_generation integer := (appstore.locked_endpoint(name)).secret_generation + 1;
BEGIN
    UPDATE appstore.endpoints AS e SET secret_generation = v_generation, rotated_at = clock_timestamp()
    WHERE e.name = rotate_endpoint_secret.name;
    PERFORM appstore.audit_endpoint('rotate_endpoint_secret', name, NULL, jsonb_build_object('secret_generation', v_generation));
    RETURN v_generation;
END
$$;

COMMENT ON FUNCTION appstore.rotate_endpoint_secret(name text) IS 'Gives an endpoint another secret, and returns its generation. For 24 hours the previous secret signs as well; the one before it no more.';

CREATE FUNCTION appstore.schema_fingerprint() RETURNS TABLE(object text, digest text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    WITH relations AS MATERIALIZED (
        SELECT c.* FROM pg_class AS c
        WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND NOT c.relispartition
          AND c.relname NOT LIKE 'aged\_%' -- a partition between its detachment and its drop, and its indexes
          AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indexrelid = c.oid AND i.indrelid::regclass::text LIKE '%aged\_%')
    ), columns AS ( -- 1. the parts of tables
        SELECT a.attrelid AS oid, string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
                   a.attgenerated, a.attstorage, nullif(a.attcollation, t.typcollation)::regcollation, pg_get_expr(d.adbin, d.adrelid)),
               E'\n' ORDER BY a.attname) AS text
        FROM pg_attribute AS a
        JOIN pg_type AS t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid IN (SELECT r.oid FROM relations AS r) AND a.attnum > 0 AND NOT a.attisdropped
        GROUP BY a.attrelid
    ), constraints AS (
        SELECT c.conrelid, c.contypid, string_agg(c.conname || ' ' || pg_get_constraintdef(c.oid), E'\n' ORDER BY c.conname) AS text
        FROM pg_constraint AS c
        WHERE c.connamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.contype <> 'n' -- new in PostgreSQL 18; the columns already include it
        GROUP BY c.conrelid, c.contypid
    ), triggers AS (
        SELECT t.tgrelid, string_agg(concat(pg_get_triggerdef(t.oid), t.tgenabled), E'\n' ORDER BY t.tgname) AS text
        FROM pg_trigger AS t WHERE NOT t.tgisinternal GROUP BY t.tgrelid
    ), grants AS ( -- 2. privileges of the schema's own roles
        SELECT g.grantee, g.on_what || ' ' || g.privilege_type || CASE WHEN g.is_grantable THEN '*' ELSE '' END AS text
        FROM (
            SELECT 'schema ' || n.nspname AS on_what, acl.* FROM pg_namespace AS n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS acl
            WHERE n.nspname IN ('appstore', 'appstore_reports')
            UNION ALL
            SELECT r.oid::regclass::text, acl.*
            FROM relations AS r,
                 aclexplode(coalesce(r.relacl, acldefault(CASE r.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", r.relowner))) AS acl
            WHERE r.relkind IN ('r', 'p', 'v', 'S')
            UNION ALL
            SELECT r.oid::regclass || '.' || a.attname, acl.*
            FROM relations AS r JOIN pg_attribute AS a ON a.attrelid = r.oid, aclexplode(a.attacl) AS acl
            UNION ALL
            SELECT p.oid::regprocedure::text, acl.*
            FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS acl
            WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
            UNION ALL
            SELECT 'functions to come', acl.*
            FROM aclexplode(coalesce((SELECT d.defaclacl FROM pg_default_acl AS d WHERE d.defaclrole = 'appstore_owner'::regrole
                                                                                    AND d.defaclnamespace = 0 AND d.defaclobjtype = 'f'),
                                     acldefault('f', 'appstore_owner'::regrole))) AS acl
        ) AS g
    ), described (object, owner, text) AS ( -- 3. the objects
        SELECT CASE r.relkind WHEN 'S' THEN 'sequence ' WHEN 'v' THEN 'view ' ELSE 'table ' END || r.oid::regclass, r.relowner,
               concat_ws(E'\n', r.relkind, r.relpersistence, r.relrowsecurity,
                         (SELECT string_agg(option, ' ' ORDER BY option COLLATE "C") FROM unnest(r.reloptions) AS option),
                         CASE r.relkind WHEN 'p' THEN pg_get_partkeydef(r.oid) WHEN 'v' THEN pg_get_viewdef(r.oid) END,
                         (SELECT ROW(s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcycle)
                          FROM pg_sequence AS s WHERE s.seqrelid = r.oid),
                         CASE WHEN r.relkind <> 'S' THEN columns.text END, constraints.text, triggers.text)
        FROM relations AS r
        LEFT JOIN columns USING (oid)
        LEFT JOIN constraints ON constraints.conrelid = r.oid
        LEFT JOIN triggers ON triggers.tgrelid = r.oid
        WHERE r.relkind IN ('r', 'p', 'v', 'S')
        UNION ALL
        SELECT 'index ' || r.oid::regclass, 'appstore_owner'::regrole, concat_ws(' ', pg_get_indexdef(r.oid), i.indisvalid)
        FROM relations AS r JOIN pg_index AS i ON i.indexrelid = r.oid
        UNION ALL
        SELECT CASE p.prokind WHEN 'a' THEN 'aggregate ' ELSE 'function ' END || p.oid::regprocedure, p.proowner,
               CASE p.prokind WHEN 'a' THEN (SELECT ROW(a.aggtransfn, a.aggfinalfn, a.aggtranstype::regtype, a.agginitval)::text
                                             FROM pg_aggregate AS a WHERE a.aggfnoid = p.oid)
                              ELSE pg_get_functiondef(p.oid) END
        FROM pg_proc AS p WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
        UNION ALL
        SELECT 'type ' || t.oid::regtype, t.typowner,
               concat_ws(E'\n', t.typtype, nullif(t.typbasetype, 0)::regtype, t.typnotnull, t.typdefault, columns.text, constraints.text,
                         (SELECT string_agg(e.enumlabel, ' ' ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = t.oid))
        FROM pg_type AS t
        LEFT JOIN relations AS r ON r.oid = t.typrelid
        LEFT JOIN columns ON columns.oid = t.typrelid
        LEFT JOIN constraints ON constraints.contypid = t.oid
        WHERE t.typnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND (t.typtype IN ('e', 'd') OR t.typtype = 'c' AND r.relkind = 'c')
        UNION ALL
        SELECT 'privileges of ' || coalesce(role.rolname, 'PUBLIC'), 'appstore_owner'::regrole,
               string_agg(grants.text, E'\n' ORDER BY grants.text COLLATE "C")
        FROM grants LEFT JOIN pg_roles AS role ON role.oid = grants.grantee
        WHERE grants.grantee = 0 OR role.rolname ~ '^appstore_' AND role.rolname <> 'appstore_owner'
        GROUP BY role.rolname
    )
    SELECT d.object, left(encode(sha256(convert_to(d.text, 'UTF8')), 'hex'), 16)
    FROM (SELECT d.object, concat_ws(E'\n', d.text, nullif(d.owner, 'appstore_owner'::regrole)::regrole) AS text FROM described AS d) AS d
    ORDER BY d.object COLLATE "C"
$$;

COMMENT ON FUNCTION appstore.schema_fingerprint() IS 'A digest of each table, index, view, function and type of the schema, and of each role''s privileges. appstore-inbox migrate --check compares them with those of the schema that the program creates.';

CREATE FUNCTION appstore.see_certificates(p_certificates bytea[], p_issuers bytea[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    INSERT INTO appstore.certificates AS c (fingerprint, certificate, issuer)
    SELECT DISTINCT ON (sha256(seen.certificate)) sha256(seen.certificate), seen.certificate, seen.issuer
    FROM unnest(p_certificates, p_issuers) AS seen (certificate, issuer) ORDER BY 1
    ON CONFLICT (fingerprint) DO UPDATE SET seen_at = clock_timestamp();
$$;

COMMENT ON FUNCTION appstore.see_certificates(p_certificates bytea[], p_issuers bytea[]) IS 'Records certificates that signed, each with its issuer. The caller has verified that each chain leads to a configured root.';

CREATE FUNCTION appstore.sequence_feed(max_tells integer DEFAULT 2000, OUT is_on boolean, OUT told bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    SET jit TO 'off'
    SET "TimeZone" TO 'UTC'
    AS $$ -- nested loops only, as in derive_ledger
DECLARE
    v_head         appstore.feed_head;
    v_cluster      text := appstore.feed_cluster();
    v_current      pg_snapshot; -- what the step tells
    v_now          timestamptz := clock_timestamp();
    v_kinds        text[];
    v_environments appstore.environment[];
    v_refs         text[];
    v_told_at      timestamptz[];
    v_is_full      boolean;
    v_turned       appstore.contract_key[];
    v_entries      appstore.feed[];
BEGIN
    is_on := (SELECT s.is_on FROM appstore.feed_switch AS s);
    told := 0;
    has_more := false;
    IF NOT is_on THEN
        RETURN;
    END IF;
    PERFORM appstore.demand_read_committed();
    -- 1. Look without a lock, which would be written to disk, whether there is anything to do.
    SELECT h.* INTO v_head FROM appstore.feed_head AS h;
    IF v_head.cluster = v_cluster AND v_head.told_snapshot IS NOT NULL AND v_head.target_snapshot IS NULL
       AND NOT appstore.has_tells(v_head.told_snapshot)
       AND NOT EXISTS (SELECT FROM appstore.told_access AS a WHERE a.turns_at > v_head.turned_to AND a.turns_at <= v_now) THEN
        RETURN;
    END IF;
    -- 2. The row lock of the head: each later statement sees the step before it. The snapshot is one of its own.
    SELECT h.* INTO v_head FROM appstore.feed_head AS h FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true); -- a position that was read must not be given again
    END IF;
    v_now := clock_timestamp();
    IF v_head.cluster <> v_cluster THEN
        v_head.cluster := v_cluster;
        v_head.generation := appstore.next_generation(v_head.generation);
        v_head.told_snapshot := NULL; -- of another cluster
        v_head.target_snapshot := NULL;
        v_head.turned_to := '-infinity';
        INSERT INTO appstore.feed_generations (generation, from_position, began_at, is_complete)
        VALUES (v_head.generation, v_head.position + 1, v_now, true);
        -- What workers know of positions may be of the other cluster: they read it again with a new lease.
        UPDATE appstore.endpoints AS e SET epoch = e.epoch + 1, leased_until = NULL, position = least(e.position, v_head.position);
    END IF;
    v_current := coalesce(v_head.target_snapshot, pg_current_snapshot());
    -- 3. Take the tells, and the contracts whose access the clock has changed.
    SELECT t.kinds, t.environments, t.refs, t.told_at, t.is_full INTO v_kinds, v_environments, v_refs, v_told_at, v_is_full
    FROM appstore.take_tells(v_head.told_snapshot, v_current, v_head.target_snapshot IS NOT NULL, max_tells) AS t;
    v_turned := ARRAY(
        SELECT ROW(a.environment, a.original_transaction_id)::appstore.contract_key
        FROM appstore.told_access AS a WHERE a.turns_at > v_head.turned_to AND a.turns_at <= v_now ORDER BY a.turns_at LIMIT max_tells);
    -- 4. Render them, once.
    v_entries := ARRAY(
        SELECT rendered.entry
        FROM (
            SELECT * FROM appstore.effect_entries(v_kinds, v_refs, v_now)
            UNION ALL
            SELECT * FROM appstore.order_entries(v_kinds, v_environments, v_refs, v_now, v_head.enabled_at)
            UNION ALL
            SELECT * FROM appstore.access_entries(v_kinds, v_environments, v_refs, v_turned, v_now, v_head.enabled_at)
            UNION ALL
            SELECT * FROM appstore.failure_entries(v_kinds, v_refs, v_now)
            UNION ALL
            SELECT * FROM appstore.notification_entries(v_kinds, v_refs, v_now)
            UNION ALL
            SELECT * FROM appstore.endpoint_entries(v_kinds, v_refs, v_told_at, v_now)
            UNION ALL
            SELECT tell.place, ROW(NULL, appstore.feed_id(jsonb_build_array('forgotten', tell.told_at, tell.ref)), 'user.forgotten', NULL, NULL, NULL,
                                   tell.ref, NULL, v_now, v_now, '{}'::jsonb)::appstore.feed
            FROM unnest(v_kinds, v_refs, v_told_at) WITH ORDINALITY AS tell (kind, ref, told_at, place) WHERE tell.kind = 'forgotten'
        ) AS rendered (place, entry)
        ORDER BY rendered.place, (rendered.entry).occurred_at, (rendered.entry).id);
    told := cardinality(v_entries);
    -- 5. Number them.
    IF v_head.position + told >= v_head.partition_to THEN
        v_head := appstore.make_feed_partitions(v_head, v_head.position + told, v_now);
    END IF;
    INSERT INTO appstore.feed (position, id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data)
    SELECT v_head.position + e.place, e.id, e.type, e.environment, e.bundle_id, e.subject, e.user_id, e.from_user_id, e.occurred_at, e.told_at,
           e.data
    FROM unnest(v_entries) WITH ORDINALITY
        AS e (position, id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data, place);
    UPDATE appstore.feed_head AS h
    SET position = v_head.position + sequence_feed.told, generation = v_head.generation, cluster = v_head.cluster,
        told_snapshot = CASE WHEN v_is_full THEN v_head.told_snapshot ELSE v_current END,
        target_snapshot = CASE WHEN v_is_full THEN v_current END,
        turned_to = CASE WHEN cardinality(v_turned) < max_tells THEN v_now ELSE v_head.turned_to END,
        partition_from = v_head.partition_from, partition_to = v_head.partition_to, partition_since = v_head.partition_since;
    -- After the target of an earlier step, what was committed since is next.
    has_more := v_is_full OR v_head.target_snapshot IS NOT NULL OR cardinality(v_turned) = max_tells;
END
$$;

COMMENT ON FUNCTION appstore.sequence_feed(max_tells integer, OUT is_on boolean, OUT told bigint, OUT has_more boolean) IS 'Numbers what was committed since the last step, at most max_tells. Returns whether the feed is on, how many rows were told, and whether there is more. It tells nothing while another session takes a step. Any number of sessions may call it.';

CREATE FUNCTION appstore.set_app_account_token(original_transaction_id text, token uuid, bundle_id text DEFAULT NULL::text, environment appstore.environment DEFAULT NULL::appstore.environment) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.request_apple('set_app_account_token', original_transaction_id, jsonb_build_object('token', token), bundle_id, environment,
                                  appstore.actor(), NULL, NULL);
END
$$;

COMMENT ON FUNCTION appstore.set_app_account_token(original_transaction_id text, token uuid, bundle_id text, environment appstore.environment) IS 'Sets the appAccountToken of a purchase and of its later renewals at Apple, and returns the call. Not for what a family member shares.';

CREATE FUNCTION appstore.set_consumer(name text, after bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_head  bigint := (SELECT h.position FROM appstore.feed_head AS h);
    v_first bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1);
BEGIN
    PERFORM appstore.check_argument(after IS NULL OR after = 0 OR after BETWEEN coalesce(v_first - 1, v_head) AND v_head,
        format('after must be from %s to %s', coalesce(v_first - 1, v_head), v_head), 'Older entries have aged. 0 is the begin.');
    INSERT INTO appstore.feed_consumers AS c (name, position, moved_at)
    VALUES (set_consumer.name, CASE set_consumer.after WHEN 0 THEN coalesce(v_first - 1, v_head) ELSE coalesce(set_consumer.after, v_head) END,
            clock_timestamp())
    ON CONFLICT (name) DO UPDATE
    SET position = CASE WHEN set_consumer.after IS NULL THEN c.position ELSE excluded.position END,
        moved_at = CASE WHEN set_consumer.after IS NULL THEN c.moved_at ELSE excluded.moved_at END
    RETURNING c.position INTO v_head;
    RETURN v_head;
END
$$;

COMMENT ON FUNCTION appstore.set_consumer(name text, after bigint) IS 'Makes a consumer of the feed, or moves it: its next entry is the one after this position; 0 for the oldest one. Null makes one that begins now, and leaves one that exists where it is. Returns the position.';

CREATE FUNCTION appstore.set_history_mode(bundle_id text, environment appstore.environment, mode text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_cursor appstore.history_cursors;
BEGIN
    PERFORM appstore.check_environment(environment);
    IF set_history_mode.mode IS NULL OR set_history_mode.mode NOT IN ('walk', 'beside', 'off') THEN
        RAISE EXCEPTION 'there is no mode %', quote_nullable(set_history_mode.mode)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Modes are walk, beside and off.';
    END IF;
    v_cursor := appstore.history_cursor(set_history_mode.bundle_id, environment);
    UPDATE appstore.history_cursors AS c
    SET mode = set_history_mode.mode,
        walks_since = CASE WHEN c.mode = 'beside' AND set_history_mode.mode <> 'beside' THEN v_now ELSE c.walks_since END
    WHERE c.bundle_id = set_history_mode.bundle_id AND c.environment = set_history_mode.environment;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'set_history_mode', '{}',
            jsonb_build_object('bundle_id', set_history_mode.bundle_id, 'environment', environment, 'mode', set_history_mode.mode,
                               'was', v_cursor.mode));
END
$$;

COMMENT ON FUNCTION appstore.set_history_mode(bundle_id text, environment appstore.environment, mode text) IS 'Sets how the history of an app is read: walk; beside, a trial while another service owns the URL; off, after the pages in flight. It fails with no_data_found when no worker has had the app''s key.';

CREATE FUNCTION appstore.set_live_since(bundle_id text, since timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_argument(char_length(set_live_since.bundle_id) BETWEEN 1 AND 255, 'bundle_id must have 1 to 255 characters',
                                    'Give the app''s bundle id.'),
            appstore.check_argument(set_live_since.since IS NOT NULL, 'since must not be null', 'Give -infinity for an app without a past.');
    INSERT INTO appstore.live_since AS l (bundle_id, since, set_by) VALUES (set_live_since.bundle_id, set_live_since.since, appstore.actor())
    ON CONFLICT (bundle_id) DO UPDATE SET since = excluded.since, set_by = excluded.set_by, set_at = excluded.set_at;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (clock_timestamp(), appstore.actor(), 'set_live_since', '{}',
            jsonb_build_object('bundle_id', set_live_since.bundle_id, 'since', set_live_since.since));
END
$$;

COMMENT ON FUNCTION appstore.set_live_since(bundle_id text, since timestamp with time zone) IS 'Sets from when on an app''s effects are news: the feed and webhooks are not told of those that occurred before, from now on.';

CREATE FUNCTION appstore.set_wants_raw() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wants_raw boolean := EXISTS (SELECT FROM appstore.endpoints AS e WHERE appstore.wants_raw(e));
BEGIN
    UPDATE appstore.feed_switch AS s SET wants_raw = v_wants_raw WHERE s.wants_raw <> v_wants_raw;
END
$$;

COMMENT ON FUNCTION appstore.set_wants_raw() IS 'Writes feed_switch.wants_raw, whose lock the caller has.';

CREATE FUNCTION appstore.settle(p_lanes bigint[], p_event_ids bigint[], p_sources text[], p_received_at timestamp with time zone[], p_runs integer[], p_attempts integer[], p_results appstore.result[], p_reasons text[], p_last_errors text[], p_notification_types text[], p_subtypes text[], p_notification_uuids uuid[], p_environments text[], p_bundle_ids text[], p_transaction_ids text[], p_original_transaction_ids text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_settled   bigint;
    v_is_on     boolean;
    v_wants_raw boolean;
BEGIN
    DELETE FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (p_event_ids);
    GET DIAGNOSTICS v_settled = ROW_COUNT;
    IF v_settled <> cardinality(p_event_ids) THEN
        RAISE EXCEPTION '% of % events are not in the queue', cardinality(p_event_ids) - v_settled, cardinality(p_event_ids)
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF cardinality(p_lanes) > 0 THEN
        DELETE FROM appstore.batch_markers AS m WHERE m.lane = ANY (p_lanes);
    END IF;
    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
                                   notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id,
                                   original_transaction_id)
    SELECT unnest(p_event_ids), unnest(p_sources), unnest(p_received_at), clock_timestamp(), unnest(p_runs), unnest(p_attempts),
           unnest(p_results), unnest(p_reasons), unnest(p_last_errors), unnest(p_notification_types), unnest(p_subtypes),
           unnest(p_notification_uuids), unnest(p_environments), unnest(p_bundle_ids), unnest(p_transaction_ids),
           unnest(p_original_transaction_ids);
    SELECT s.is_on, s.is_on AND s.wants_raw INTO v_is_on, v_wants_raw FROM appstore.feed_switch AS s;
    IF v_is_on AND 'failed' = ANY (p_results) THEN
        INSERT INTO appstore.tells (kind, ref)
        SELECT 'failed', settled.event_id::text FROM unnest(p_event_ids, p_results) AS settled (event_id, result) WHERE settled.result = 'failed';
    END IF;
    IF v_wants_raw THEN
        PERFORM appstore.tell_notifications(p_event_ids, p_sources, p_runs, p_results, p_reasons, p_notification_uuids);
    END IF;
END
$$;

COMMENT ON FUNCTION appstore.settle(p_lanes bigint[], p_event_ids bigint[], p_sources text[], p_received_at timestamp with time zone[], p_runs integer[], p_attempts integer[], p_results appstore.result[], p_reasons text[], p_last_errors text[], p_notification_types text[], p_subtypes text[], p_notification_uuids uuid[], p_environments text[], p_bundle_ids text[], p_transaction_ids text[], p_original_transaction_ids text[]) IS 'Records the outcomes of events, takes them out of the queue, and removes the crash markers of these lanes: each event moves from the queue to the outcomes. Where the feed is on, it writes a tell for each that failed, and for notifications where an endpoint wants them. Fails when one of them is not in the queue. The arrays after p_lanes have an element for each event.';

CREATE FUNCTION appstore.settle_certificate(p_fingerprint bytea, p_epoch bigint, p_status text, p_this_update bigint, p_next_update bigint, p_revoked_at bigint, p_reason text, p_error text, p_wait_ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    IF p_status IS NULL THEN
        UPDATE appstore.certificates AS c
        SET leased_until = NULL, run_at = v_now + p_wait_ms * interval '1 millisecond', failures = c.failures + 1, last_error = p_error
        WHERE c.fingerprint = p_fingerprint AND c.epoch = p_epoch;
    ELSE
        UPDATE appstore.certificates AS c
        SET leased_until = NULL, run_at = v_now + p_wait_ms * interval '1 millisecond', failures = 0, last_error = NULL, answered_at = v_now,
            status = p_status, this_update = to_timestamp(p_this_update), next_update = to_timestamp(p_next_update),
            revoked_at = to_timestamp(p_revoked_at), crl_reason = p_reason, is_ignored = c.is_ignored AND p_status = 'revoked'
        WHERE c.fingerprint = p_fingerprint AND c.epoch = p_epoch;
    END IF;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION appstore.settle_certificate(p_fingerprint bytea, p_epoch bigint, p_status text, p_this_update bigint, p_next_update bigint, p_revoked_at bigint, p_reason text, p_error text, p_wait_ms bigint) IS 'Records a usable answer, or with a null p_status that there was none, which changes no status; and when to ask next. Times are in seconds since 1970. False when a later lease has begun: then nothing has changed.';

CREATE FUNCTION appstore.settle_consumption() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    -- It was replaced, Apple has decided, or the user has withdrawn the consent: it must never be sent.
    IF OLD.state = 'discarded' THEN
        RAISE EXCEPTION 'the answer of call % was discarded: %', NEW.call_id, OLD.reason
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Decide again with appstore.answer_consumption.';
    END IF;
    UPDATE appstore.consumption_decisions AS d SET result = nullif(NEW.state, 'open'), reason = NEW.reason, settled_at = NEW.settled_at
    WHERE d.call_id = NEW.call_id;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION appstore.settle_consumption() IS 'Copies the state of a call of kind consumption to its decision. It fails for a discarded call, which cannot be repeated.';

CREATE FUNCTION appstore.settle_deliveries(p_name text, p_epoch bigint, p_position bigint, p_positions bigint[], p_subjects text[], p_results text[], p_attempts integer[], p_wait_ms bigint[], p_statuses integer[], p_milliseconds integer[], p_answer_bytes bigint[], p_answers text[], p_errors text[], p_redeliveries bigint[], p_failures integer, p_is_failing boolean, p_open_for_ms bigint, p_probes integer, p_disable_because text, p_redelivered_through bigint[], p_redelivery_ids bigint[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_is_on boolean;
    v_first bigint;
    v_order boolean;
    v_head  bigint;
    v_upto  bigint;
BEGIN
    -- 0. The switch and the feed are locked before the endpoint, as by change_endpoint and expire_feed.
    IF p_disable_because IS NOT NULL THEN
        v_is_on := (SELECT s.is_on FROM appstore.feed_switch AS s);
    END IF;
    IF EXISTS (SELECT FROM unnest(p_results, p_answers) AS r (result, answer) WHERE r.result <> 'delivered' OR r.answer IS NOT NULL) THEN
        v_first := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1);
    END IF;
    -- 1. The endpoint. The cursor only moves on, and never beyond the feed, as it could after a failover.
    UPDATE appstore.endpoints AS e
    SET position = greatest(e.position, least(coalesce(p_position, 0), h.position)), failures = p_failures,
        failing_since = CASE WHEN p_is_failing THEN coalesce(e.failing_since, v_now) END,
        open_until = v_now + p_open_for_ms * interval '1 millisecond', probes = p_probes,
        succeeded_at = CASE WHEN 'delivered' = ANY (p_results) THEN v_now ELSE e.succeeded_at END,
        last_error = coalesce((SELECT coalesce(r.error, 'HTTP status ' || r.status)
                               FROM unnest(p_results, p_errors, p_statuses) WITH ORDINALITY AS r (result, error, status, place)
                               WHERE r.result NOT IN ('delivered', 'held') ORDER BY r.place DESC LIMIT 1), e.last_error)
    FROM appstore.feed_head AS h
    WHERE e.name = p_name AND e.epoch = p_epoch
    RETURNING e.keeps_order, h.position, e.open_upto INTO v_order, v_head, v_upto;
    IF NOT FOUND THEN
        RETURN false;
    END IF;

    -- 2. The log. What is answered to the name of a forgotten user would stay after it was forgotten.
    INSERT INTO appstore.delivery_attempts (endpoint, position, subject, at, is_redelivery, result, status, milliseconds, answer_bytes, answer, error)
    SELECT p_name, r.position, r.subject, v_now, r.redelivery IS NOT NULL, r.result, r.status, r.milliseconds, r.answer_bytes,
           CASE WHEN r.answer IS NOT NULL AND NOT EXISTS (SELECT FROM appstore.feed AS f WHERE f.position = r.position AND f.type = 'user.forgotten')
                THEN left(r.answer, 4096) END,
           r.error
    FROM unnest(p_positions, p_subjects, p_results, p_statuses, p_milliseconds, p_answer_bytes, p_answers, p_errors, p_redeliveries)
        AS r (position, subject, result, status, milliseconds, answer_bytes, answer, error, redelivery)
    WHERE r.result <> 'held';

    -- 3. The exceptions: nothing of this where all is new and delivered.
    IF EXISTS (SELECT FROM unnest(p_positions, p_results) AS r (position, result) WHERE r.result <> 'delivered' OR r.position <= v_upto) THEN
        DELETE FROM appstore.open_deliveries AS d
        WHERE d.ctid = ANY (ARRAY(
            SELECT d.ctid FROM unnest(p_positions, p_results) AS r (position, result)
            CROSS JOIN LATERAL (
                SELECT d.ctid FROM appstore.open_deliveries AS d WHERE d.endpoint = p_name AND d.position = r.position OFFSET 0
            ) AS d
            WHERE r.result = 'delivered'));
        -- A redelivery holds nothing, and when it is given up it has been delivered or given up before. What has aged meanwhile stays so.
        INSERT INTO appstore.open_deliveries AS d
            (endpoint, position, subject, run_at, attempts, first_failed_at, last_status, last_error, given_up_at)
        SELECT DISTINCT ON (r.position) p_name, r.position, r.subject,
               CASE WHEN r.result = 'held' AND r.attempts = 0 AND v_order AND r.subject IS NOT NULL THEN 'infinity'
                    ELSE v_now + greatest(r.wait_ms, 0) * interval '1 millisecond' END,
               r.attempts,
               CASE WHEN r.redelivery IS NOT NULL THEN v_now - interval '10 minutes'
                    WHEN r.result <> 'held' OR r.attempts > 0 THEN v_now END,
               r.status, r.error, CASE WHEN r.result = 'given_up' THEN v_now END
        FROM unnest(p_positions, p_subjects, p_results, p_attempts, p_wait_ms, p_statuses, p_errors, p_redeliveries) WITH ORDINALITY
            AS r (position, subject, result, attempts, wait_ms, status, error, redelivery, place)
        WHERE r.position BETWEEN coalesce(v_first, v_head + 1) AND v_head
          AND CASE WHEN r.result = 'given_up' THEN
                       r.redelivery IS NULL
                       OR EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = p_name AND d.position = r.position OFFSET 0)
                   ELSE r.result <> 'delivered' AND r.wait_ms IS NOT NULL END
        ORDER BY r.position, r.place DESC
        ON CONFLICT (endpoint, position) DO UPDATE
        -- What has failed is held for a time: nothing before it would release it.
        SET run_at = CASE WHEN excluded.run_at = 'infinity' AND d.first_failed_at IS NOT NULL THEN v_now + interval '10 minutes'
                          ELSE excluded.run_at END,
            attempts = excluded.attempts, first_failed_at = coalesce(d.first_failed_at, excluded.first_failed_at),
            last_status = CASE WHEN num_nulls(excluded.last_status, excluded.last_error) = 2 THEN d.last_status ELSE excluded.last_status END,
            last_error = CASE WHEN num_nulls(excluded.last_status, excluded.last_error) = 2 THEN d.last_error ELSE excluded.last_error END,
            given_up_at = excluded.given_up_at;
        IF v_order THEN
            PERFORM appstore.release_subject(
                p_name, r.subject,
                bool_or(r.result IN ('delivered', 'given_up') OR r.result <> 'held' AND r.wait_ms IS NOT NULL), v_now)
            FROM unnest(p_subjects, p_results, p_wait_ms) AS r (subject, result, wait_ms)
            WHERE r.subject IS NOT NULL GROUP BY r.subject;
        END IF;
        UPDATE appstore.endpoints AS e
        SET due_from = appstore.first_due(p_name, e.due_from, v_now),
            open_upto = greatest(e.open_upto, (SELECT max(r.position) FROM unnest(p_positions, p_results) AS r (position, result)
                                               WHERE r.result <> 'delivered'))
        WHERE e.name = p_name;
    END IF;

    -- 4. Redeliveries.
    UPDATE appstore.redeliveries AS r
    SET after = greatest(r.after, m.through), sent = r.sent + m.sent, state = CASE WHEN m.through >= r.upto THEN 'done' ELSE r.state END,
        ended_at = CASE WHEN m.through >= r.upto THEN v_now END
    FROM (SELECT moved.id, max(moved.through) AS through, count(*) FILTER (WHERE moved.through IS NULL) AS sent
          FROM (SELECT id, through FROM unnest(p_redelivery_ids, p_redelivered_through) AS t (id, through)
                UNION ALL
                SELECT id, NULL FROM unnest(p_redeliveries) AS t (id)) AS moved
          WHERE moved.id IS NOT NULL GROUP BY moved.id) AS m
    WHERE r.redelivery_id = m.id AND r.endpoint = p_name AND (r.state = 'open') IS TRUE;

    -- 5. The end.
    IF p_disable_because IS NOT NULL THEN
        UPDATE appstore.endpoints AS e SET state = 'disabled', why = p_disable_because, state_since = v_now
        WHERE e.name = p_name AND e.state = 'enabled';
        IF FOUND THEN
            INSERT INTO appstore.tells (kind, ref, told_at) SELECT 'disabled', p_name || ' ' || p_disable_because, v_now WHERE v_is_on;
            PERFORM appstore.audit_endpoint('disable_endpoint', p_name, p_disable_because);
        END IF;
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION appstore.settle_deliveries(p_name text, p_epoch bigint, p_position bigint, p_positions bigint[], p_subjects text[], p_results text[], p_attempts integer[], p_wait_ms bigint[], p_statuses integer[], p_milliseconds integer[], p_answer_bytes bigint[], p_answers text[], p_errors text[], p_redeliveries bigint[], p_failures integer, p_is_failing boolean, p_open_for_ms bigint, p_probes integer, p_disable_because text, p_redelivered_through bigint[], p_redelivery_ids bigint[]) IS 'Records what became of attempts, moves the cursor, and writes the state of the breaker. The arrays from p_positions to p_redeliveries have an element for each report. p_wait_ms: when to try again; null: at no time, or as it was. held: it waits for an earlier one of its subject, and is no attempt. Returns false, without effect, when the lease of that epoch has been lost. One element that is wrong, such as an unknown result, fails the whole call.';

CREATE FUNCTION appstore.settle_import_item(p_import_id integer, p_first_line integer, p_epoch bigint, p_line integer, p_bodies bytea[], p_contracts text[], p_revision text, p_has_more boolean, p_seconds integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_chunk  appstore.import_chunks;
    v_import appstore.imports;
    v_item   appstore.import_items;
    v_lines  integer[];
    v_events record;
    v_covers integer;
BEGIN
    v_chunk := appstore.renew_import_lease(p_import_id, p_first_line, p_epoch, p_seconds, true);
    IF v_chunk.import_id IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT r.* INTO v_import FROM appstore.imports AS r WHERE r.import_id = p_import_id;
    -- 1. Lock the item and those that the answer covers, in one order. IS TRUE keeps the planner from a search among all lines.
    v_lines := ARRAY(
        SELECT i.line FROM unnest(p_contracts) AS contract (id)
        CROSS JOIN LATERAL (
            SELECT i.line FROM appstore.import_items AS i WHERE i.id = contract.id AND (i.import_id = p_import_id) IS TRUE OFFSET 0
        ) AS i
        UNION SELECT p_line);
    PERFORM FROM appstore.import_items AS i WHERE i.import_id = p_import_id AND i.line = ANY (v_lines) ORDER BY i.line FOR UPDATE;
    SELECT i.* INTO v_item FROM appstore.import_items AS i WHERE i.import_id = p_import_id AND i.line = p_line;
    IF v_item.state NOT IN ('open', 'again') THEN
        RETURN 'settled'; -- the answer about another item was first
    END IF;
    -- 2. The events.
    SELECT min(s.id) AS first, max(s.id) AS last INTO v_events
    FROM appstore.store(CASE v_import.depth WHEN 'statuses' THEN 'imported_status' ELSE 'imported_transaction' END, p_bodies) AS s (id);
    -- 3. The items.
    UPDATE appstore.import_items AS i
    SET state = CASE WHEN p_has_more THEN i.state ELSE 'found' END, event_id = least(i.event_id, v_events.first),
        last_event_id = greatest(i.last_event_id, v_events.last), asked = least(i.asked + 1, 32767), failures = 0,
        revision = CASE WHEN p_has_more THEN p_revision END,
        reason = CASE WHEN v_import.depth = 'statuses' AND i.user_id IS NOT NULL AND cardinality(p_contracts) > 1
                           AND i.id <> ALL (p_contracts) THEN 'contract_unclear' END
    WHERE i.import_id = p_import_id AND i.line = p_line;
    WITH covered AS (
        UPDATE appstore.import_items AS i
        SET state = 'covered', event_id = least(i.event_id, v_events.first), last_event_id = greatest(i.last_event_id, v_events.last),
            environment = v_item.environment, revision = NULL, reason = NULL
        WHERE i.import_id = p_import_id AND i.line = ANY (v_lines) AND i.line <> p_line AND i.state IN ('open', 'again')
          AND (i.environment = v_item.environment OR NOT i.is_given)
        RETURNING i.line
    )
    SELECT count(*), array_agg(covered.line) || p_line INTO v_covers, v_lines FROM covered;
    -- 4. Their chunks make their users owners, between two leases. To wait for a chunk could be a deadlock: items of one that is locked are noted.
    WITH item AS MATERIALIZED (
        SELECT i.line, k.first_line
        FROM (SELECT i.line FROM appstore.import_items AS i
              WHERE i.import_id = p_import_id AND i.line = ANY (v_lines) AND i.state IN ('found', 'covered') AND i.user_id IS NOT NULL
                AND i.reason IS NULL OFFSET 0) AS i
        CROSS JOIN LATERAL (
            SELECT k.first_line FROM appstore.import_chunks AS k
            WHERE k.import_id = p_import_id AND k.first_line BETWEEN i.line - 199 AND i.line AND k.end_line > i.line OFFSET 0
        ) AS k
    ), locked AS MATERIALIZED (
        SELECT k.first_line, k.link_at FROM (SELECT DISTINCT item.first_line FROM item) AS chunk
        CROSS JOIN LATERAL (
            SELECT k.first_line, k.link_at FROM appstore.import_chunks AS k
            WHERE k.import_id = p_import_id AND k.first_line = chunk.first_line FOR UPDATE SKIP LOCKED
        ) AS k
    ), due AS (
        UPDATE appstore.import_chunks AS c SET link_at = clock_timestamp() + interval '10 seconds'
        WHERE c.import_id = p_import_id AND c.first_line = ANY (ARRAY(SELECT locked.first_line FROM locked WHERE locked.link_at IS NULL))
    )
    INSERT INTO appstore.import_links_due (import_id, first_line, line)
    SELECT p_import_id, item.first_line, item.line FROM item WHERE item.first_line <> ALL (ARRAY(SELECT locked.first_line FROM locked));
    -- 5. Until where a history was read.
    IF v_import.depth = 'history' AND p_revision IS NOT NULL THEN
        INSERT INTO appstore.customer_revisions AS k (environment, original_transaction_id, revision)
        SELECT v_item.environment, known.id, p_revision FROM (SELECT unnest(p_contracts) AS id UNION SELECT v_item.id) AS known
        ORDER BY known.id COLLATE "C"
        ON CONFLICT (original_transaction_id, environment) DO UPDATE SET revision = excluded.revision;
    END IF;
    PERFORM appstore.count_in_import_chunk(v_chunk, CASE WHEN p_has_more THEN 0 ELSE 1 END, v_covers, 0, 0);
    RETURN CASE WHEN v_import.state <> 'running' THEN 'stop' WHEN p_has_more THEN 'more' ELSE 'settled' END;
END
$$;

COMMENT ON FUNCTION appstore.settle_import_item(p_import_id integer, p_first_line integer, p_epoch bigint, p_line integer, p_bodies bytea[], p_contracts text[], p_revision text, p_has_more boolean, p_seconds integer) IS 'Stores an answer about an item: an event for each of p_bodies. Settles the item, unless it has more pages, from p_revision on; and all items of the import that are among p_contracts. Renews the lease. Returns more, settled, or stop where the import no longer runs; null when another lease has begun.';

CREATE FUNCTION appstore.settle_questions(p_has_backlog boolean, p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_question appstore.reconcile_questions;
    v_call     record;
    v_named    record;
    v_result   text;
    v_settled  integer := 0;
BEGIN
    FOR v_question IN
        SELECT q.* FROM appstore.reconcile_questions AS q
        WHERE q.result IS NULL
          -- IS TRUE keeps the planner from the indexes of open calls.
          AND NOT EXISTS (SELECT FROM appstore.outbox AS c WHERE c.call_id = q.call_id AND (c.state = 'open') IS TRUE OFFSET 0)
        ORDER BY q.question_id LIMIT 2000 FOR UPDATE
    LOOP
        SELECT c.state, c.settled_at, c.answer_event_id INTO v_call FROM appstore.outbox AS c WHERE c.call_id = v_question.call_id;
        -- 1. The event of the answer that names the contract, or the charge. Without one for an hour, there is none, unless it waits.
        SELECT bool_or(o.result NOT IN ('rejected', 'failed', 'discarded')) AS is_genuine, count(*) AS events INTO v_named
        FROM (SELECT o.result FROM appstore.outcomes AS o
              WHERE o.original_transaction_id = v_question.original_transaction_id AND o.environment = v_question.environment::text
                AND o.event_id >= v_call.answer_event_id AND o.source IN ('subscription_status', 'transaction_info')
                AND (v_question.transaction_id IS NULL OR o.transaction_id = v_question.transaction_id) OFFSET 0) AS o;
        CONTINUE WHEN v_call.state = 'answered' AND v_named.events = 0
                      AND (p_has_backlog OR v_call.settled_at > p_now - interval '1 hour');
        -- 2. Other events could have changed the same.
        v_result := CASE
            WHEN v_call.state IS DISTINCT FROM 'answered' OR v_named.is_genuine IS NOT TRUE THEN 'unanswered'
            WHEN EXISTS (SELECT FROM appstore.outcomes AS o
                         WHERE o.original_transaction_id = v_question.original_transaction_id AND o.environment = v_question.environment::text
                           AND o.settled_at >= v_question.asked_at AND o.source NOT IN ('subscription_status', 'transaction_info')
                           AND o.result = 'applied' OFFSET 0) THEN 'overtaken'
            WHEN EXISTS (SELECT FROM appstore.ledger_about(v_question.environment, v_question.original_transaction_id, v_question.transaction_id) AS s
                         WHERE (s.revoked_at, s.access_until) IS DISTINCT FROM (v_question.revoked_at, v_question.access_until))
                THEN 'changed'
            ELSE 'same' END;
        UPDATE appstore.reconcile_questions AS q SET result = v_result, settled_at = p_now WHERE q.question_id = v_question.question_id;
        IF v_result IN ('same', 'changed') THEN
            INSERT INTO appstore.reconcile_counts (day, rule, answered, changed)
            VALUES ((p_now AT TIME ZONE 'UTC')::date, v_question.rule, 1, (v_result = 'changed')::integer)
            ON CONFLICT (day, rule) DO UPDATE
            SET answered = reconcile_counts.answered + 1, changed = reconcile_counts.changed + excluded.changed;
        END IF;
        -- 3. Rules without a schedule ask until there is an answer.
        IF v_result <> 'unanswered' AND v_question.rule IN ('no_renewal_info', 'revoked_doubt', 'price_consent') THEN
            DELETE FROM appstore.reconcile_watches AS w
            WHERE w.original_transaction_id = v_question.original_transaction_id AND w.environment = v_question.environment
              AND w.rule = v_question.rule AND w.transaction_id IS NOT DISTINCT FROM v_question.transaction_id;
        END IF;
        -- 4. A call that could not be made is made up for before the schedule's next one, which may be weeks away.
        IF v_call.state = 'given_up' THEN
            UPDATE appstore.reconcile_watches AS w SET next_at = p_now
            WHERE w.original_transaction_id = v_question.original_transaction_id AND w.environment = v_question.environment
              AND w.rule = v_question.rule AND w.next_at > p_now + interval '1 hour' AND w.questions < 20;
        END IF;
        v_settled := v_settled + 1;
    END LOOP;
    RETURN v_settled;
END
$$;

COMMENT ON FUNCTION appstore.settle_questions(p_has_backlog boolean, p_now timestamp with time zone) IS 'Finds the results of the questions whose calls are settled and whose answers are in the ledger, at most 2,000. Returns how many.';

CREATE FUNCTION appstore.settled_events(settled_from timestamp with time zone, after_event_id bigint DEFAULT 0, max_events integer DEFAULT 1000, only_result appstore.result DEFAULT NULL::appstore.result, only_type text DEFAULT NULL::text, only_app text DEFAULT NULL::text) RETURNS TABLE(settled_at timestamp with time zone, event_id bigint, run integer, received_at timestamp with time zone, source text, notification_type text, subtype text, environment text, bundle_id text, result appstore.result, reason text, transaction_id text, original_transaction_id text, user_id text, product_id text, entitlements text[], until timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT o.settled_at, o.event_id, o.run, o.received_at, o.source, o.notification_type, o.subtype, o.environment, o.bundle_id, o.result,
           o.reason, o.transaction_id, o.original_transaction_id, coalesce(contract.user_id, charge.user_id),
           coalesce(contract.product_id, charge.product_id), terms.entitlements, terms.until
    FROM (
        SELECT o.* FROM appstore.outcomes AS o
        WHERE (o.settled_at, o.event_id) > (settled_from, after_event_id)
          AND (only_result IS NULL OR o.result = only_result)
          AND (only_type IS NULL OR only_type = o.notification_type OR only_type = o.notification_type || '/' || o.subtype)
          AND (only_app IS NULL OR o.bundle_id = only_app)
        ORDER BY o.settled_at, o.event_id
        LIMIT max_events
    ) AS o
    LEFT JOIN LATERAL (
        SELECT m.environment, m.user_id, m.product_id FROM appstore.contracts AS m
        WHERE m.original_transaction_id = o.original_transaction_id AND m.environment::text = o.environment OFFSET 0
    ) AS contract ON true
    LEFT JOIN LATERAL ( -- a consumable has no contract: its order names the user
        SELECT t.product_id, paid.user_id
        FROM appstore.transactions AS t
        LEFT JOIN LATERAL (
            SELECT d.user_id FROM appstore.orders AS d WHERE d.order_no = t.order_no AND d.environment = t.environment OFFSET 0
        ) AS paid ON true
        WHERE t.transaction_id = o.transaction_id AND t.environment::text = o.environment OFFSET 0
    ) AS charge ON true
    LEFT JOIN LATERAL (
        SELECT array_agg(e.entitlement ORDER BY e.entitlement) AS entitlements, max(e.until) AS until
        FROM appstore.entitlement_terms AS e
        WHERE e.original_transaction_id = o.original_transaction_id AND e.environment = contract.environment
    ) AS terms ON true
    ORDER BY o.settled_at, o.event_id
$$;

COMMENT ON FUNCTION appstore.settled_events(settled_from timestamp with time zone, after_event_id bigint, max_events integer, only_result appstore.result, only_type text, only_app text) IS 'The events that were settled at settled_from or later, in the order of (settled_at, event_id), of one instant those after after_event_id; at most max_events. user_id is the owner today of the contract that the event is about, else the user of the order; entitlements and until are what that contract gives today. only_type is a type or type/subtype. An event can appear with an earlier settled_at than others that were visible before: its transaction was committed later.';

CREATE FUNCTION appstore.settled_since(events integer) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT min(latest.settled_at)
    FROM (SELECT o.settled_at FROM appstore.outcomes AS o ORDER BY o.settled_at DESC, o.event_id DESC LIMIT events) AS latest
$$;

COMMENT ON FUNCTION appstore.settled_since(events integer) IS 'Since when the latest so many events have been settled; null when there are none.';

CREATE FUNCTION appstore.show_body(event_id bigint, reason text) RETURNS bytea
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_body bytea;
BEGIN
    PERFORM appstore.check_argument(reason ~ '\S', 'the reason is empty', 'Write why the body is needed: the audit keeps it.');
    SELECT i.body INTO v_body FROM appstore.inbox AS i WHERE i.event_id = show_body.event_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'event % does not exist, or its body has been deleted', event_id USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
    VALUES (clock_timestamp(), appstore.actor(), 'show_body', ARRAY[show_body.event_id], show_body.reason);
    RETURN v_body;
END
$$;

COMMENT ON FUNCTION appstore.show_body(event_id bigint, reason text) IS 'Returns the raw body of an event, which may name a person or a purchase, and records in the audit who read it and why.';

CREATE FUNCTION appstore.signers_of(p_body bytea) RETURNS TABLE(fingerprint bytea, signed_at timestamp with time zone)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_body jsonb;
    v_open text[];
    v_part text;
    v_json jsonb[];
BEGIN
    v_body := convert_from(p_body, 'UTF8')::jsonb;
    v_open := ARRAY[v_body ->> 'signedPayload', v_body ->> 'signedTransaction', v_body #>> '{answer,signedTransactionInfo}',
                    v_body #>> '{answer,signedRenewalInfo}', v_body #>> '{answer,signedAppTransactionInfo}'];
    FOR n IN 1 .. cardinality(v_open) + 3 LOOP
        CONTINUE WHEN v_open[n] IS NULL;
        v_json := '{}';
        FOR p IN 1 .. 2 LOOP
            v_part := translate(split_part(v_open[n], '.', p), '-_', '+/');
            v_json := v_json || convert_from(decode(v_part || repeat('=', -length(v_part) & 3), 'base64'), 'UTF8')::jsonb;
        END LOOP;
        signed_at := to_timestamp(coalesce(v_json[2] -> 'signedDate', v_json[2] -> 'receiptCreationDate')::double precision / 1000);
        FOR c IN 0 .. 1 LOOP
            fingerprint := sha256(decode(v_json[1] -> 'x5c' ->> c, 'base64'));
            RETURN NEXT;
        END LOOP;
        IF n = 1 THEN
            v_open := v_open || ARRAY[v_json[2] #>> '{data,signedTransactionInfo}', v_json[2] #>> '{data,signedRenewalInfo}',
                                      v_json[2] #>> '{appData,signedAppTransactionInfo}'];
        END IF;
    END LOOP;
EXCEPTION WHEN OTHERS THEN
    RETURN;
END
$$;

COMMENT ON FUNCTION appstore.signers_of(p_body bytea) IS 'SHA-256 of the leaf and the intermediate of each JWS in a body, also of those inside a notification or in an answer of the App Store Server API, and its signing date. Verifies nothing: for bodies that a worker has verified. Stops at what it cannot read, such as a receipt.';

CREATE FUNCTION appstore.state_digest(environment appstore.environment) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT encode(sha256(convert_to(string_agg(p.part || ' ' || p.rows || ' ' || p.digest, E'\n' ORDER BY p.part COLLATE "C"), 'UTF8')), 'hex')
    FROM appstore.state_digest_parts(state_digest.environment) AS p
$$;

COMMENT ON FUNCTION appstore.state_digest(environment appstore.environment) IS 'One SHA-256 (hex) over the ledger of an environment: registers, orders, claims, contracts, and the identities of effects. It is of one moment, but reads and sorts everything: SET statement_timeout = 0 for a large database, and have room for temporary files of its size.';

CREATE FUNCTION appstore.state_digest_parts(environment appstore.environment) RETURNS TABLE(part text, rows bigint, digest text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO, YMD'
    SET "IntervalStyle" TO 'postgres'
    SET bytea_output TO 'hex'
    SET extra_float_digits TO '1'
    AS $_$
#variable_conflict use_variable
DECLARE
    v_excluded text[];
    v_source   text;
BEGIN
    IF environment IS NULL THEN
        RAISE EXCEPTION 'environment must not be null' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Excluded are columns that depend on when and in which order events came in. Of an effect only its identity counts; of the grant of a
    -- charge whose first fact had no period, that of the period as it is known now. What an answer said first is told for its news, and is no
    -- news after the notification of the same.
    FOR part, v_excluded, v_source IN
        SELECT p.name, p.excluded, coalesce(p.source, 'appstore.' || p.name) FROM (
        VALUES ('consumption_obligations', '{}'::text[], NULL),
               ('contracts', '{}', NULL),
               ('effects', '{}',
                '(SELECT e.environment, e.kind,
                         CASE WHEN e.kind = ''granted'' AND e.subject = e.transaction_id AND t.is_subscription
                              THEN coalesce(t.original_transaction_id || ''/'' || t.web_order_line_item_id, e.subject)
                              ELSE e.subject END AS subject
                  FROM appstore.effect_log AS e
                  LEFT JOIN appstore.transactions AS t ON t.transaction_id = e.transaction_id AND t.environment = e.environment
                  WHERE e.kind <> ''status_found'')'),
               ('orders', '{ordered_at}', NULL),
               ('ownership_claims', '{}', NULL),
               ('refund_requests', '{left_transaction_id}', NULL),
               ('transactions', '{left_contract}', NULL),
               ('v1_renewals', '{}', NULL)
        ) AS p (name, excluded, source)
    LOOP
        EXECUTE format(
            'SELECT count(*), encode(appstore.chained_digest(sorted.line), ''hex'') '
            'FROM (SELECT (to_jsonb(t) - $2)::text COLLATE "C" AS line FROM %s AS t WHERE t.environment = $1 ORDER BY line) AS sorted',
            v_source)
        INTO rows, digest USING environment, v_excluded;
        RETURN NEXT;
    END LOOP;
END
$_$;

COMMENT ON FUNCTION appstore.state_digest_parts(environment appstore.environment) IS 'For each table of the ledger how many rows an environment has, and a SHA-256 (hex) over them: where two databases differ. Independent of session settings, the database''s collation, and the order in which events came in.';

CREATE FUNCTION appstore.still_holds(w appstore.reconcile_watches, m appstore.contracts, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE w.rule WHEN 'revoked_doubt' THEN appstore.is_refund_in_doubt(w.environment, w.transaction_id, p_now)
                       WHEN 'no_renewal_info' THEN appstore.is_stale(w.rule, m, p_now)
                       -- A period that began later is another watch.
                       ELSE coalesce(appstore.is_stale(w.rule, m, p_now) AND m.current_period_end = w.since, false) END
$$;

COMMENT ON FUNCTION appstore.still_holds(w appstore.reconcile_watches, m appstore.contracts, p_now timestamp with time zone) IS 'Whether the rule of a watch holds for its contract now.';

CREATE FUNCTION appstore.stop_redelivery(id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
DECLARE
    v_endpoint text;
BEGIN
    UPDATE appstore.redeliveries AS r SET state = 'stopped', ended_at = clock_timestamp()
    WHERE r.redelivery_id = stop_redelivery.id AND (r.state = 'open') IS TRUE
    RETURNING r.endpoint INTO v_endpoint;
    IF FOUND THEN
        PERFORM appstore.audit_endpoint('stop_redelivery', v_endpoint, NULL, jsonb_build_object('redelivery_id', id));
        RETURN true;
    ELSIF EXISTS (SELECT FROM appstore.redeliveries AS r WHERE r.redelivery_id = stop_redelivery.id) THEN
        RETURN false;
    END IF;
    RAISE EXCEPTION 'there is no redelivery %', id USING ERRCODE = 'no_data_found', HINT = 'The table appstore.redeliveries lists them.';
END
$$;

COMMENT ON FUNCTION appstore.stop_redelivery(id bigint) IS 'Ends a redelivery: what is in flight is still sent. Returns false when it had ended; fails when there is none.';

CREATE FUNCTION appstore.stop_repair(repair_id bigint, note text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.repairs AS r SET state = 'stopped', ended_at = clock_timestamp()
    WHERE r.repair_id = stop_repair.repair_id AND r.state = 'running';
    IF FOUND THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
        VALUES (clock_timestamp(), appstore.actor(), 'stop_repair', '{}', stop_repair.note,
                jsonb_build_object('repair_id', stop_repair.repair_id));
    ELSIF NOT EXISTS (SELECT FROM appstore.repairs AS r WHERE r.repair_id = stop_repair.repair_id) THEN
        RAISE EXCEPTION 'there is no repair %', repair_id USING ERRCODE = 'no_data_found';
    END IF;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION appstore.stop_repair(repair_id bigint, note text) IS 'Ends a repair that is running; a step in flight is the last one. What it has repaired stays repaired. False where it had ended already.';

CREATE FUNCTION appstore.store(source text, bodies bytea[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.begin_to_store();
    RETURN QUERY
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body)
        SELECT store.source, clock_timestamp(), given.body
        FROM unnest(store.bodies) WITH ORDINALITY AS given (body, position)
        ORDER BY given.position
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_queue.event_id;
END
$$;

COMMENT ON FUNCTION appstore.store(source text, bodies bytea[]) IS 'Stores bodies as events of a source and puts them into the queue. Returns their ids, in the order of the bodies. Only for the functions of the schema: no role may execute it.';

CREATE FUNCTION appstore.store_history_page(p_window_id bigint, p_epoch bigint, p_seconds integer, p_token text, p_uuids uuid[], p_signed_at timestamp with time zone[], p_first_attempt_at timestamp with time zone[], p_last_attempt_at timestamp with time zone[], p_attempts integer[], p_last_results text[], p_succeeded boolean[], p_bodies bytea[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_now      timestamptz;
    v_window   appstore.history_windows;
    v_cursor   appstore.history_cursors;
    v_new      uuid[];
    v_bodies   bytea[];
    v_ids      bigint[];
    v_walked   bigint;
    v_beside   bigint;
BEGIN
    PERFORM appstore.begin_to_store();
    v_now := clock_timestamp();
    SELECT w.* INTO v_window FROM appstore.history_windows AS w
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' AND NOT w.is_read FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
    IF v_cursor.mode = 'off' THEN -- otherwise a day of the past would be read to its end
        PERFORM appstore.postpone_history_window(p_window_id, p_epoch, NULL, interval '0', false);
        RETURN NULL;
    END IF;

    -- 1. Records that were not listed before, by another window or an earlier reading. The order avoids deadlocks of windows that overlap.
    WITH new AS (
        INSERT INTO appstore.history_records AS r (
            environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, signed_at, first_attempt_at,
            last_attempt_at, attempts, last_result)
        SELECT DISTINCT ON (l.uuid)
               v_window.environment, l.uuid, v_window.bundle_id,
               CASE WHEN s.first_event_id IS NOT NULL THEN 'confirmed' WHEN l.succeeded THEN 'taken_elsewhere'
                    WHEN l.last_attempt_at > v_now - interval '1 minute' THEN 'in_flight' ELSE 'recovered' END,
               false, CASE WHEN v_cursor.mode = 'beside' OR l.signed_at < v_cursor.walks_since THEN 'beside' ELSE 'walk' END, NULL, p_window_id,
               v_now, l.signed_at, l.first_attempt_at, l.last_attempt_at, l.attempts, l.last_result
        FROM unnest(p_uuids, p_signed_at, p_first_attempt_at, p_last_attempt_at, p_attempts, p_last_results, p_succeeded)
            AS l (uuid, signed_at, first_attempt_at, last_attempt_at, attempts, last_result, succeeded)
        LEFT JOIN LATERAL (
            SELECT s.first_event_id FROM appstore.seen_notifications AS s
            WHERE s.notification_uuid = l.uuid AND s.environment = v_window.environment OFFSET 0) AS s ON true
        ORDER BY l.uuid
        ON CONFLICT (notification_uuid, environment) DO NOTHING
        RETURNING r.notification_uuid, r.class, r.mode
    )
    SELECT coalesce(array_agg(new.notification_uuid ORDER BY new.notification_uuid) FILTER (WHERE new.class <> 'confirmed'), '{}'),
           count(*) FILTER (WHERE new.class = 'confirmed' AND new.mode = 'walk'),
           count(*) FILTER (WHERE new.class = 'confirmed' AND new.mode = 'beside')
    INTO v_new, v_walked, v_beside FROM new;

    -- 2. Those that were never pushed become events. Their record waits for the outcome.
    SELECT array_agg(p_bodies[array_position(p_uuids, n.uuid)] ORDER BY n.position) INTO v_bodies
    FROM unnest(v_new) WITH ORDINALITY AS n (uuid, position);
    v_ids := ARRAY(SELECT appstore.store('history_v2', v_bodies));
    UPDATE appstore.history_records AS r SET event_id = v_ids[array_position(v_new, r.notification_uuid)], is_open = true
    WHERE r.notification_uuid = ANY (v_new) AND r.environment = v_window.environment;

    -- 3. Attempts that were in flight when they were listed first, and have failed since. No condition names the index of open records.
    UPDATE appstore.history_records AS r
    SET class = 'recovered', attempts = p_attempts[array_position(p_uuids, r.notification_uuid)],
        last_attempt_at = p_last_attempt_at[array_position(p_uuids, r.notification_uuid)],
        last_result = p_last_results[array_position(p_uuids, r.notification_uuid)]
    WHERE r.notification_uuid = ANY (p_uuids) AND r.environment = v_window.environment AND r.class = 'in_flight' AND coalesce(r.is_open, false)
      AND NOT p_succeeded[array_position(p_uuids, r.notification_uuid)]
      AND p_last_attempt_at[array_position(p_uuids, r.notification_uuid)] <= v_now - interval '1 minute';

    -- 4. The window, and the time that it covers.
    UPDATE appstore.history_windows AS w
    SET token = p_token, pages = w.pages + 1, listed = w.listed + cardinality(p_uuids), stored = w.stored + cardinality(v_new),
        failures = 0, failing_since = NULL, last_error = NULL, run_at = v_now + make_interval(secs => p_seconds),
        is_read = p_token IS NULL AND w.kind = 'second',
        first_signed_at = least(w.first_signed_at, (SELECT min(d) FROM unnest(p_signed_at) AS d)),
        last_signed_at = greatest(w.last_signed_at, (SELECT max(d) FROM unnest(p_signed_at) AS d)),
        first_attempt_at = least(w.first_attempt_at, (SELECT min(d) FROM unnest(p_first_attempt_at) AS d)),
        last_attempt_at = greatest(w.last_attempt_at, (SELECT max(d) FROM unnest(p_first_attempt_at) AS d))
    WHERE w.window_id = p_window_id;
    IF p_token IS NULL AND v_window.kind <> 'second' THEN
        PERFORM appstore.close_history_window(p_window_id);
    END IF;
    PERFORM appstore.count_history(v_window.bundle_id, v_window.environment, 'beside', 'confirmed', v_beside);
    PERFORM appstore.count_history(v_window.bundle_id, v_window.environment, 'walk', 'confirmed', v_walked);
    RETURN cardinality(v_new);
END
$$;

COMMENT ON FUNCTION appstore.store_history_page(p_window_id bigint, p_epoch bigint, p_seconds integer, p_token text, p_uuids uuid[], p_signed_at timestamp with time zone[], p_first_attempt_at timestamp with time zone[], p_last_attempt_at timestamp with time zone[], p_attempts integer[], p_last_results text[], p_succeeded boolean[], p_bodies bytea[]) IS 'Stores a page of a leased window: its records, an event for each that is neither recorded nor among the seen notifications, and the token of the next page, null after the last one. Renews the lease for p_seconds. Returns how many events; null, without effect, when another lease has begun, or when the mode has become off. The arrays have an element for each record; p_uuids and p_signed_at were not verified.';

CREATE FUNCTION appstore.store_post(key_hash bytea, verb text, source text, body bytea) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_scope record;
BEGIN
    SELECT * INTO v_scope FROM appstore.posted_scope(body);
    IF v_scope.environment IS NULL THEN
        RAISE EXCEPTION 'the body names no environment'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'A post is a JSON object with the members environment and bundleIds.';
    END IF;
    -- The worker later verifies the purchase against the environment and apps that the body names.
    PERFORM appstore.authorize(key_hash, ARRAY[verb], ARRAY[v_scope.environment], v_scope.bundle_ids);
    RETURN (SELECT appstore.store(source, ARRAY[body]));
END
$$;

COMMENT ON FUNCTION appstore.store_post(key_hash bytea, verb text, source text, body bytea) IS 'Stores a client post when the key permits it for the environment and the apps that the body names.';

CREATE FUNCTION appstore.suggest_reasons(filter appstore.repair_filter) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_others  appstore.repair_filter := filter;
    v_reasons text;
BEGIN
    IF filter.reason IS NULL THEN
        RETURN;
    END IF;
    v_others.reason := NULL;
    SELECT string_agg(format('%s (%s)', counted.reason, counted.events), ', ' ORDER BY counted.events DESC, counted.reason COLLATE "C")
    INTO v_reasons
    FROM (
        SELECT known.reason, count(*) AS events
        FROM (SELECT o.reason FROM appstore.outcomes AS o
              WHERE o.result IN ('failed', 'rejected', 'unhandled', 'discarded') AND appstore.matches_filter(o, v_others)
              LIMIT 100000) AS known -- enough for a hint
        GROUP BY known.reason ORDER BY events DESC, known.reason COLLATE "C" LIMIT 10
    ) AS counted;
    RAISE NOTICE 'no event with the reason % was found', quote_literal(filter.reason) USING HINT =
        coalesce('With the other conditions there are: ' || v_reasons || '.', 'There is none with the other conditions either.');
END
$$;

COMMENT ON FUNCTION appstore.suggest_reasons(filter appstore.repair_filter) IS 'Of a repair that found nothing: raises a notice with up to ten reasons that occur with its other conditions, if it has a reason.';

CREATE FUNCTION appstore.take(consumer text, n bigint DEFAULT 100) RETURNS SETOF appstore.feed
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
DECLARE
    v_after bigint;
    v_last  bigint;
    v_taken bigint;
BEGIN
    PERFORM appstore.check_argument(n > 0, format('%s entries cannot be taken', coalesce(n::text, 'null')), 'n is at least 1.');
    SELECT c.position INTO v_after FROM appstore.feed_consumers AS c WHERE c.name = take.consumer FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no consumer %', quote_nullable(consumer)
            USING ERRCODE = 'no_data_found', HINT = 'Make it first: SELECT appstore.set_consumer(''mailer'').';
    END IF;
    v_last := v_after + (SELECT least(n, h.position - v_after) FROM appstore.feed_head AS h);
    IF v_last <= v_after THEN
        RETURN;
    END IF;
    -- EXECUTE plans for these positions, and so opens and locks the partitions that hold them; a cached plan locks all. The lock on the feed
    -- keeps partitions from being dropped until the commit.
    RETURN QUERY EXECUTE 'SELECT f.* FROM appstore.feed AS f WHERE f.position > $1 AND f.position <= $2 ORDER BY f.position'
        USING v_after, v_last;
    GET DIAGNOSTICS v_taken = ROW_COUNT;
    IF v_taken < v_last - v_after THEN -- positions have no gaps
        RAISE EXCEPTION 'entries after position % that consumer % has not taken have aged', v_after, consumer
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT =
            'Go on from now: appstore.set_consumer(…, (SELECT position FROM appstore.feed_head)). Then read appstore.entitlements for the state.';
    END IF;
    UPDATE appstore.feed_consumers AS c SET position = v_last, moved_at = clock_timestamp() WHERE c.name = take.consumer;
END
$_$;

COMMENT ON FUNCTION appstore.take(consumer text, n bigint) IS 'The next n entries of the feed for a named consumer, in order. Moves the consumer in the caller''s transaction: exactly once with what the caller writes. A second transaction of the consumer waits for the first. Fails with object_not_in_prerequisite_state when entries have aged.';

CREATE FUNCTION appstore.take_api_budget(bundle_id text, environment appstore.environment, endpoint text, setting double precision, class integer, wanted integer, OUT granted integer, OUT wait interval, OUT is_blocked boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    -- The part of a full bucket that each class leaves to the more urgent ones.
    c_levels    CONSTANT double precision[] := ARRAY[0, 0.1, 0.25, 0.4, 0.6];
    v_budget    appstore.api_budgets;
    v_now       timestamptz;
    v_allowance double precision;
    v_capacity  double precision;
    v_level     double precision;
BEGIN
    -- All workers need the row, and a crash may forget what was taken: do not hold it until the commit is on disk and on a standby.
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM appstore.check_argument(class BETWEEN 0 AND 4, format('there is no class %s', class), 'Classes are 0 to 4.');
    PERFORM appstore.check_argument(wanted >= 1, format('%s requests cannot be taken', wanted), 'At least one is.');
    INSERT INTO appstore.api_budgets AS b (bundle_id, environment, endpoint, setting, tokens)
    SELECT take_api_budget.bundle_id, take_api_budget.environment, take_api_budget.endpoint, take_api_budget.setting,
           greatest(take_api_budget.setting, 5)
    WHERE NOT EXISTS (
        SELECT FROM appstore.api_budgets AS b
        WHERE b.bundle_id = take_api_budget.bundle_id AND b.environment = take_api_budget.environment
          AND b.endpoint = take_api_budget.endpoint)
    ON CONFLICT DO NOTHING;
    SELECT b.* INTO STRICT v_budget FROM appstore.api_budgets AS b
    WHERE b.bundle_id = take_api_budget.bundle_id AND b.environment = take_api_budget.environment AND b.endpoint = take_api_budget.endpoint
    FOR NO KEY UPDATE;
    v_now := clock_timestamp();
    -- A clock that was ahead for a while has left times that would never come.
    IF v_budget.blocked_until > v_now + interval '1 hour 5 seconds' THEN
        v_budget.blocked_until := v_now + interval '1 hour 5 seconds';
    END IF;
    v_budget.refilled_at := least(v_budget.refilled_at, greatest(v_budget.blocked_until, v_now));
    v_allowance := appstore.api_allowance(take_api_budget.setting, v_budget.lowered_to, v_budget.last_429_at, v_now);
    v_capacity := greatest(v_allowance, 5);
    v_level := c_levels[class + 1] * v_capacity;
    v_budget.tokens := least(v_capacity, v_budget.tokens
                             + v_allowance * greatest(extract(epoch FROM v_now - v_budget.refilled_at)::double precision, 0));
    is_blocked := coalesce(v_budget.blocked_until > v_now, false);
    granted := 0;
    IF is_blocked THEN
        wait := v_budget.blocked_until - v_now;
        RETURN;
    ELSIF v_budget.tokens < v_level + 1 THEN
        wait := (v_level + 1 - v_budget.tokens) / v_allowance * interval '1 second';
        RETURN;
    END IF;
    granted := least(wanted, floor(v_budget.tokens - v_level)::integer, ceil(v_allowance)::integer);
    wait := interval '0';
    UPDATE appstore.api_budgets AS b
    SET setting = take_api_budget.setting, tokens = v_budget.tokens - granted, refilled_at = v_now,
        hour_began = date_trunc('hour', v_now, 'UTC'), last_class = take_api_budget.class,
        used_this_hour = CASE WHEN b.hour_began = date_trunc('hour', v_now, 'UTC') THEN b.used_this_hour ELSE 0 END + granted
    WHERE b.bundle_id = take_api_budget.bundle_id AND b.environment = take_api_budget.environment AND b.endpoint = take_api_budget.endpoint;
END
$$;

COMMENT ON FUNCTION appstore.take_api_budget(bundle_id text, environment appstore.environment, endpoint text, setting double precision, class integer, wanted integer, OUT granted integer, OUT wait interval, OUT is_blocked boolean) IS 'Takes requests from a budget: at least one of those wanted and at most a second''s worth, or none. Then wait is the time until the class may ask again, and is_blocked says whether a 429 is the reason. Class 0 takes all that is left, 1 to 4 leave 10, 25, 40 and 60 percent of the bucket. setting is the requests a second that the caller''s settings allow.';

CREATE FUNCTION appstore.take_deliveries(p_name text, p_epoch bigint, p_after bigint, p_in_flight bigint[], p_most integer, p_most_redelivered integer, p_most_bytes integer) RETURNS TABLE(kind text, "position" bigint, redelivery_id bigint, id uuid, type text, subject text, attempts integer, first_failed_ms bigint, held_ms bigint, body bytea, body_missing boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    SET "TimeZone" TO 'UTC'
    AS $$
#variable_conflict use_column
DECLARE
    c_read       CONSTANT bigint := 1000; -- the most entries that are read
    v_now        timestamptz := clock_timestamp();
    v_endpoint   appstore.endpoints;
    v_redelivery appstore.redeliveries;
    v_head       bigint;
    v_first      bigint;
    v_due        bigint[];
    v_next       bigint[];
    v_again      bigint[] := '{}';
    v_through    bigint; -- how far the feed was read
    v_again_from bigint;
    v_again_to   bigint;
BEGIN
    SELECT e.* INTO v_endpoint FROM appstore.endpoints AS e WHERE e.name = p_name AND e.epoch = p_epoch AND e.state = 'enabled';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- 1. Both of one snapshot. The lock on the feed that this read takes keeps partitions from being dropped until the commit.
    SELECT h.position, (SELECT f.position FROM appstore.feed AS f WHERE f.position > p_after ORDER BY f.position LIMIT 1)
    INTO v_head, v_first FROM appstore.feed_head AS h;
    IF v_first > p_after + 1 OR v_first IS NULL AND p_after < v_head OR p_after > v_head THEN
        RETURN; -- aged: expire_feed says so; or after a failover, until the lease is lost
    END IF;

    -- 2. What is due has half of the room while there is more to read; of an odd room, the half that chance gives it, so that neither waits for
    --    all of the other. A row whose entry is gone is given up by expire_deliveries. NOT IN, which is hashed: there may be thousands in flight.
    v_due := ARRAY(
        SELECT d.position FROM appstore.open_deliveries AS d
        WHERE d.endpoint = p_name AND d.given_up_at IS NULL AND d.run_at >= v_endpoint.due_from AND d.run_at <= v_now
          AND d.position NOT IN (SELECT known.position FROM unnest(p_in_flight) AS known (position))
          AND EXISTS (SELECT FROM appstore.feed AS f WHERE f.position = d.position OFFSET 0)
        ORDER BY d.run_at, d.position LIMIT CASE WHEN p_after < v_head THEN floor(p_most / 2.0 + random())::integer ELSE p_most END);
    v_through := least(v_head, p_after + c_read);
    v_next := ARRAY(
        SELECT f.position FROM appstore.feed AS f
        WHERE f.position > p_after AND f.position <= v_through AND appstore.endpoint_wants(v_endpoint, f)
          AND f.position NOT IN (SELECT known.position FROM unnest(p_in_flight) AS known (position))
          AND NOT EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = p_name AND d.position = f.position OFFSET 0)
        ORDER BY f.position LIMIT p_most - cardinality(v_due));
    IF cardinality(v_due) + cardinality(v_next) >= p_most THEN
        v_through := coalesce(v_next[cardinality(v_next)], p_after);
    END IF;
    IF p_most_redelivered > 0 THEN
        SELECT r.* INTO v_redelivery FROM appstore.redeliveries AS r WHERE r.endpoint = p_name AND r.state = 'open' ORDER BY r.redelivery_id LIMIT 1;
    END IF;
    IF v_redelivery.redelivery_id IS NOT NULL THEN
        v_again_from := greatest(v_redelivery.after, (SELECT f.position - 1 FROM appstore.feed AS f ORDER BY f.position LIMIT 1));
        v_again_to := least(v_redelivery.upto, v_again_from + c_read);
        v_again := ARRAY(
            SELECT f.position FROM appstore.feed AS f
            WHERE f.position > v_again_from AND f.position <= v_again_to AND appstore.endpoint_wants(v_endpoint, f)
              AND (v_redelivery.types IS NULL OR appstore.feed_wants(f.type, NULL, NULL, v_redelivery.types, NULL, NULL))
              AND f.position NOT IN (SELECT known.position FROM unnest(p_in_flight) AS known (position))
              AND NOT EXISTS (SELECT FROM appstore.open_deliveries AS d -- it comes anyway, in its order
                              WHERE d.endpoint = p_name AND d.position = f.position AND d.given_up_at IS NULL OFFSET 0)
            ORDER BY f.position LIMIT p_most_redelivered);
        IF cardinality(v_again) = p_most_redelivered THEN
            v_again_to := v_again[p_most_redelivered];
        END IF;
    END IF;
    IF v_due = '{}' AND v_next = '{}' AND v_again = '{}' AND v_through = p_after AND v_again_to IS NULL THEN
        RETURN;
    END IF;

    -- 3. Their bodies, until there are enough bytes. The size of a body in the inbox is known without reading it.
    RETURN QUERY
    WITH entry AS MATERIALIZED (
        SELECT c.kind, c.position, c.place, f.id, f.type, f.subject, d.attempts, d.first_failed_at, rendered.json,
               v_endpoint.format = 'raw' AND f.type <> 'test' AS is_raw, f.event_id, coalesce(octet_length(rendered.json), i.bytes, 0) AS bytes
        FROM (SELECT 'due' AS kind, due.position, due.place FROM unnest(v_due) WITH ORDINALITY AS due (position, place)
              UNION ALL
              SELECT 'next', next.position, next.place + 1000 FROM unnest(v_next) WITH ORDINALITY AS next (position, place)
              UNION ALL
              SELECT 'redelivery', again.position, again.place + 2000 FROM unnest(v_again) WITH ORDINALITY AS again (position, place)) AS c
        CROSS JOIN LATERAL (
            SELECT f.id, f.type, f.subject, f.data ->> 'event_id' AS event_id, f AS entry
            FROM appstore.feed AS f WHERE f.position = c.position OFFSET 0
        ) AS f
        LEFT JOIN LATERAL (
            SELECT d.attempts, d.first_failed_at FROM appstore.open_deliveries AS d
            WHERE d.endpoint = p_name AND d.position = c.position AND d.given_up_at IS NULL OFFSET 0
        ) AS d ON true
        LEFT JOIN LATERAL (
            SELECT convert_to(appstore.feed_event(f.entry, appstore.feed_generation(c.position)), 'UTF8') AS json
            WHERE v_endpoint.format = 'event' OR f.type = 'test'
        ) AS rendered ON true
        LEFT JOIN LATERAL (
            SELECT octet_length(i.body) AS bytes FROM appstore.inbox AS i WHERE rendered.json IS NULL AND i.event_id = f.event_id::bigint OFFSET 0
        ) AS i ON true
    ), measured AS MATERIALIZED (
        SELECT e.*, row_number() OVER (ORDER BY e.place) = 1 OR sum(e.bytes) OVER (ORDER BY e.place) <= p_most_bytes AS fits FROM entry AS e
    )
    (SELECT m.kind, m.position, CASE m.kind WHEN 'redelivery' THEN v_redelivery.redelivery_id END, m.id, m.type, m.subject, coalesce(m.attempts, 0),
           appstore.milliseconds(v_now - m.first_failed_at),
           CASE WHEN v_endpoint.keeps_order AND m.kind <> 'redelivery' THEN appstore.held_for(p_name, m.subject, m.position, v_now) END,
           coalesce(m.json, i.body), m.is_raw AND i.body IS NULL
    FROM measured AS m
    LEFT JOIN LATERAL (SELECT i.body FROM appstore.inbox AS i WHERE m.is_raw AND i.event_id = m.event_id::bigint OFFSET 0) AS i ON true
    WHERE m.fits
    ORDER BY m.place)
    UNION ALL
    SELECT t.kind, t.position, t.redelivery_id, NULL, NULL, NULL, 0, NULL, NULL, NULL, false
    FROM (SELECT 'through' AS kind, NULL::bigint AS redelivery_id,
                 coalesce((SELECT min(m.position) - 1 FROM measured AS m WHERE m.kind = 'next' AND NOT m.fits), v_through) AS position
          UNION ALL
          SELECT 'redelivered_through', v_redelivery.redelivery_id,
                 coalesce((SELECT min(m.position) - 1 FROM measured AS m WHERE m.kind = 'redelivery' AND NOT m.fits), v_again_to)) AS t
    WHERE CASE t.kind WHEN 'through' THEN t.position > p_after ELSE t.position > v_redelivery.after END;
END
$$;

COMMENT ON FUNCTION appstore.take_deliveries(p_name text, p_epoch bigint, p_after bigint, p_in_flight bigint[], p_most integer, p_most_redelivered integer, p_most_bytes integer) IS 'What the lease holder of an endpoint sends next, without what is in flight: what is due, what follows p_after, and what an open redelivery sends again; at most p_most of the first two, and p_most_bytes, but one at least. through and redelivered_through say how far the feed was read, at most 1,000 entries. No row when the lease is lost, or the next entry has aged.';

CREATE FUNCTION appstore.take_repair_step(OUT repair_id bigint, OUT pause double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_next     bigint;
    v_repair   appstore.repairs;
    v_progress appstore.repair_progress;
    v_is_done  boolean;
BEGIN
    -- 1. An advisory lock is for the step, so that the row stays free for appstore.stop_repair. It is read again under the lock.
    FOR v_next IN
        SELECT r.repair_id FROM appstore.repairs AS r WHERE r.state = 'running' AND r.run_at <= clock_timestamp() ORDER BY r.run_at, r.repair_id
    LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(hashtextextended('appstore.take_repair_step', v_next));
        SELECT r.* INTO v_repair FROM appstore.repairs AS r
        WHERE r.repair_id = v_next AND r.state = 'running' AND r.run_at <= clock_timestamp();
        EXIT WHEN FOUND;
    END LOOP;
    repair_id := v_repair.repair_id;

    -- 2. Its step. A person whom a proxy names is no login.
    IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = v_repair.actor)
       AND NOT appstore.has_console_role(v_repair.actor, 'operator') THEN
        UPDATE appstore.repairs AS r SET state = 'stopped', ended_at = clock_timestamp(), last_error = v_repair.actor || ' is no operator now'
        WHERE r.repair_id = v_repair.repair_id AND r.state = 'running';
    ELSIF repair_id IS NOT NULL THEN
        BEGIN
            PERFORM set_config('appstore.actor', v_repair.actor, true);
            v_progress := appstore.repair_step(v_repair.action, v_repair.filter, v_repair.note, v_repair.progress);
            v_is_done := v_progress.is_done OR v_progress.events >= v_repair.expected;
            -- It may have been stopped meanwhile: what this step has repaired counts all the same.
            UPDATE appstore.repairs AS r SET progress = v_progress, last_error = NULL, run_at = clock_timestamp() + v_progress.pause,
                   state = CASE WHEN r.state = 'running' AND v_is_done THEN 'done' ELSE r.state END,
                   ended_at = CASE WHEN r.state = 'running' AND v_is_done THEN clock_timestamp() ELSE r.ended_at END
            WHERE r.repair_id = v_repair.repair_id;
        EXCEPTION
            -- WHEN OTHERS is not for what a timeout cancels, which is an operator_intervention.
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_resources OR operator_intervention
                OR system_error THEN
                UPDATE appstore.repairs AS r SET run_at = clock_timestamp() + interval '5 seconds', last_error = SQLERRM
                WHERE r.repair_id = v_repair.repair_id;
            WHEN OTHERS THEN
                UPDATE appstore.repairs AS r SET state = 'failed', ended_at = clock_timestamp(), last_error = SQLERRM
                WHERE r.repair_id = v_repair.repair_id AND r.state = 'running';
        END;
    END IF;
    pause := (SELECT greatest(extract(epoch FROM min(r.run_at) - clock_timestamp()), 0)
              FROM appstore.repairs AS r WHERE r.state = 'running' HAVING count(*) > 0);
END
$$;

COMMENT ON FUNCTION appstore.take_repair_step(OUT repair_id bigint, OUT pause double precision) IS 'Takes the next step of the repair that is due first, in the name of the person who asked for it, and returns its number, and after how many seconds the next one is due; null where none is running. Several processes may call it at once.';

CREATE FUNCTION appstore.take_tells(p_told pg_snapshot, p_current pg_snapshot, p_is_rest boolean, p_limit integer, OUT kinds text[], OUT environments appstore.environment[], OUT refs text[], OUT told_at timestamp with time zone[], OUT is_full boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_from xid8 := pg_snapshot_xmax(p_told);
    v_to   xid8 := pg_snapshot_xmax(p_current);
    v_open xid8[] := ARRAY(SELECT pg_snapshot_xip(p_told));
BEGIN
    IF p_told IS NULL THEN -- xids of another cluster say nothing: every tell that is committed and not deleted is to be told
        WITH next AS MATERIALIZED (
            SELECT t.tell_id FROM appstore.tells AS t ORDER BY t.tell_id LIMIT p_limit
        ), taken AS (
            DELETE FROM appstore.tells AS t WHERE t.tell_id = ANY (ARRAY(SELECT next.tell_id FROM next)) RETURNING t.*
        )
        SELECT array_agg(taken.kind ORDER BY taken.tell_id), array_agg(taken.environment ORDER BY taken.tell_id),
               array_agg(taken.ref ORDER BY taken.tell_id), array_agg(taken.told_at ORDER BY taken.tell_id),
               (SELECT count(*) = p_limit FROM next)
        INTO kinds, environments, refs, told_at, is_full FROM taken;
    ELSE
        WITH next AS MATERIALIZED (
            SELECT t.ctid AS row_id, t.tell_id FROM appstore.tells AS t
            WHERE NOT p_is_rest AND t.xid >= v_from AND t.xid < v_to AND pg_visible_in_snapshot(t.xid, p_current)
            UNION ALL -- those that were open at the latest step
            SELECT t.ctid, t.tell_id FROM appstore.tells AS t
            WHERE NOT p_is_rest AND t.xid = ANY (v_open) AND pg_visible_in_snapshot(t.xid, p_current)
            UNION ALL -- the same, in their order: a step that sorts all that is left would take long beside a million
            (SELECT t.ctid, t.tell_id FROM appstore.tells AS t
             WHERE p_is_rest AND pg_visible_in_snapshot(t.xid, p_current) AND NOT pg_visible_in_snapshot(t.xid, p_told)
             ORDER BY t.tell_id LIMIT p_limit)
            ORDER BY tell_id LIMIT p_limit
        ), taken AS (
            DELETE FROM appstore.tells AS t WHERE t.ctid = ANY (ARRAY(SELECT next.row_id FROM next)) RETURNING t.*
        )
        SELECT array_agg(taken.kind ORDER BY taken.tell_id), array_agg(taken.environment ORDER BY taken.tell_id),
               array_agg(taken.ref ORDER BY taken.tell_id), array_agg(taken.told_at ORDER BY taken.tell_id),
               (SELECT count(*) = p_limit FROM next)
        INTO kinds, environments, refs, told_at, is_full FROM taken;
    END IF;
    kinds := coalesce(kinds, '{}');
    environments := coalesce(environments, '{}');
    refs := coalesce(refs, '{}');
    told_at := coalesce(told_at, '{}');
END
$$;

COMMENT ON FUNCTION appstore.take_tells(p_told pg_snapshot, p_current pg_snapshot, p_is_rest boolean, p_limit integer, OUT kinds text[], OUT environments appstore.environment[], OUT refs text[], OUT told_at timestamp with time zone[], OUT is_full boolean) IS 'Deletes and returns, in their order, the first tells that p_current sees and p_told does not; all where p_told is null. p_is_rest where an earlier step has taken some of them. is_full: whether p_limit were found, so that there may be more, also where another session deletes some of them meanwhile.';

CREATE FUNCTION appstore.tell_effects(p_environment appstore.environment, p_effect_ids uuid[], p_contracts text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO appstore.tells (kind, environment, ref)
    SELECT 'effect', p_environment, new.id::text
    FROM unnest(appstore.live_effects(p_environment, p_effect_ids)) AS new (id)
    CROSS JOIN LATERAL (SELECT e.occurred_at, e.event_id FROM appstore.effect_log AS e WHERE e.effect_id = new.id OFFSET 0) AS e
    ORDER BY e.occurred_at, e.event_id, new.id;
    INSERT INTO appstore.tells (kind, environment, ref) SELECT 'contract', p_environment, contract.id FROM unnest(p_contracts) AS contract (id);
END
$$;

COMMENT ON FUNCTION appstore.tell_effects(p_environment appstore.environment, p_effect_ids uuid[], p_contracts text[]) IS 'Writes a tell for each of these effects that is news, which this transaction has recorded, and for each of these contracts, which it has derived.';

CREATE FUNCTION appstore.tell_notifications(p_event_ids bigint[], p_sources text[], p_runs integer[], p_results appstore.result[], p_reasons text[], p_notification_uuids uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO appstore.tells (kind, ref)
    SELECT 'raw', s.event_id || ' ' || s.run
    FROM (SELECT u.*, appstore.told_as(u.result, u.reason, u.uuid) AS type
          FROM unnest(p_event_ids, p_sources, p_runs, p_results, p_reasons, p_notification_uuids)
              AS u (event_id, source, run, result, reason, uuid)) AS s
    WHERE s.source IN ('notification_v2', 'history_v2') AND s.type IS NOT NULL
      AND (s.run = 1 OR NOT EXISTS (
               SELECT FROM appstore.outcome_history AS h
               WHERE h.event_id = s.event_id AND appstore.told_as(h.result, h.reason, h.notification_uuid) IN (s.type, 'notification.received')
               OFFSET 0));
END
$$;

COMMENT ON FUNCTION appstore.tell_notifications(p_event_ids bigint[], p_sources text[], p_runs integer[], p_results appstore.result[], p_reasons text[], p_notification_uuids uuid[]) IS 'Writes a tell for each verified notification among these outcomes, unless an earlier run of the event was told so. Of copies, each that failed or was rejected is told; of all others one, since the rest are duplicates.';

CREATE FUNCTION appstore.tell_products() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
DECLARE
    v_changed appstore.products[];
BEGIN
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RETURN NULL;
    END IF;
    v_changed := ARRAY(SELECT ROW(p.*)::appstore.products FROM changed AS p);
    IF TG_OP = 'UPDATE' THEN
        v_changed := v_changed || ARRAY(SELECT ROW(p.*)::appstore.products FROM before AS p);
    END IF;
    IF cardinality(v_changed) = 0 THEN
        RETURN NULL;
    END IF;
    -- Until the commit no step reads products as they were: what is derived meanwhile, and not found here, is told after it.
    PERFORM FROM appstore.feed_head FOR UPDATE;
    INSERT INTO appstore.tells (kind, environment, ref)
    SELECT 'contract', m.environment, m.original_transaction_id
    FROM appstore.contracts AS m
    WHERE m.user_id IS NOT NULL AND (m.product_id, m.bundle_id) IN (SELECT p.product_id, p.bundle_id FROM unnest(v_changed) AS p);
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION appstore.tell_products() IS 'Where the feed is on, writes a tell for each contract that has an owner and one of the products that a statement has changed. Reads all contracts, once a statement, and holds up the sequencer until the commit.';

CREATE FUNCTION appstore.test_endpoint(name text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    SET "TimeZone" TO 'UTC'
    AS $$
#variable_conflict use_column
DECLARE
    v_endpoint appstore.endpoints := appstore.locked_endpoint(name);
    v_now      timestamptz := clock_timestamp();
BEGIN
    PERFORM appstore.check_argument(v_endpoint.state = 'enabled', format('endpoint %s is %s', name, v_endpoint.state),
                                    'Enable it first: SELECT appstore.resume_endpoint(…).');
    INSERT INTO appstore.tells (kind, ref, told_at) VALUES ('test', test_endpoint.name, v_now);
    PERFORM appstore.audit_endpoint('test_endpoint', name);
    RETURN appstore.feed_id(jsonb_build_array('test', v_now, test_endpoint.name));
END
$$;

COMMENT ON FUNCTION appstore.test_endpoint(name text) IS 'Tells an entry of type test, for this endpoint only, and returns its id. delivery_attempts shows what became of it.';

CREATE FUNCTION appstore.timeline(environment appstore.environment, original_transaction_id text) RETURNS TABLE(occurred_at timestamp with time zone, learned_at timestamp with time zone, event_id bigint, what text, transaction_id text, product_id text, order_no uuid, user_id text, detail text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT * FROM appstore.entries_about(timeline.environment, timeline.original_transaction_id)
$$;

COMMENT ON FUNCTION appstore.timeline(environment appstore.environment, original_transaction_id text) IS 'The history of a contract, oldest first: its orders, charges, refunds, posts and owners, the events about it without effect, and the end of access. occurred_at is when it happened, learned_at when the inbox received it, event_id in which event. detail holds codes and name=value pairs, separated by commas.';

CREATE FUNCTION appstore.told_as(result appstore.result, reason text, notification_uuid uuid) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN notification_uuid IS NULL THEN NULL -- nothing was verified
                WHEN result NOT IN ('rejected', 'duplicate', 'discarded') THEN 'notification.received'
                WHEN result = 'rejected' AND reason = 'wrong_bundle' THEN 'notification.rejected' END
$$;

COMMENT ON FUNCTION appstore.told_as(result appstore.result, reason text, notification_uuid uuid) IS 'The type of the entry that tells of a notification with this outcome; null: none does.';

CREATE FUNCTION appstore.unlink_owner(environment appstore.environment, original_transaction_id text, note text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user text; -- of the latest link
    v_left text; -- the owner without the links
BEGIN
    PERFORM appstore.check_environment(environment);
    PERFORM appstore.lock_for_link(environment, original_transaction_id);
    SELECT c.user_id INTO v_user FROM appstore.ownership_claims AS c
    WHERE c.original_transaction_id = unlink_owner.original_transaction_id AND c.environment = unlink_owner.environment AND c.kind = 'link'
    ORDER BY c.source_id DESC LIMIT 1;
    IF v_user IS NULL THEN
        RAISE EXCEPTION 'no link is in force in % for original_transaction_id %', environment, quote_nullable(original_transaction_id)
            USING ERRCODE = 'no_data_found',
                  HINT = 'Owners by an order or a post have no link: appstore.ownership_claims shows why a user is the owner.';
    END IF;
    PERFORM appstore.record_owner_link(unlink_owner.environment, unlink_owner.original_transaction_id, NULL, clock_timestamp(), appstore.actor(),
                                       unlink_owner.note);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'unlink_owner', '{}', unlink_owner.note,
            jsonb_build_object('environment', unlink_owner.environment, 'original_transaction_id', unlink_owner.original_transaction_id,
                               'user_id', v_user));
    SELECT m.user_id INTO v_left FROM appstore.contracts AS m
    WHERE m.original_transaction_id = unlink_owner.original_transaction_id AND m.environment = unlink_owner.environment;
    RETURN v_left;
END
$$;

COMMENT ON FUNCTION appstore.unlink_owner(environment appstore.environment, original_transaction_id text, note text) IS 'Takes back all links of a contract, as if link_owner had not been called for it, and returns its owner then: that of an order or a post, or null. It fails with no_data_found when no link is in force. Where it fails with 40P01 or 55P03, call it again.';

CREATE FUNCTION appstore.v1_counts(s appstore.contracts, l appstore.v1_renewals) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT l.stated_at IS NOT NULL AND (s.renewal_signed_date IS NULL OR l.stated_at > s.renewal_signed_date)
$$;

COMMENT ON FUNCTION appstore.v1_counts(s appstore.contracts, l appstore.v1_renewals) IS 'Whether the register of Notifications V1 counts for a renewal: the later statement counts, that of the JWS on a tie.';

CREATE FUNCTION appstore.walk_history(bundle_id text, environment appstore.environment, since timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := date_trunc('milliseconds', clock_timestamp());
    v_since  timestamptz := date_trunc('milliseconds', walk_history.since);
    v_cursor appstore.history_cursors;
    v_result integer;
BEGIN
    PERFORM appstore.check_environment(environment);
    IF v_since IS NULL OR v_since < v_now - appstore.history_limit(environment) OR v_since >= v_now THEN
        RAISE EXCEPTION 'Apple lists no notifications of % in %', coalesce(v_since::text, 'null'), environment
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = format('It lists those of the last %s days.', extract(epoch FROM appstore.history_limit(environment))::bigint / 86400);
    END IF;
    v_cursor := appstore.history_cursor(walk_history.bundle_id, environment);
    v_since := greatest(v_since, v_cursor.edge);
    IF v_since >= v_cursor.since THEN
        RETURN 0;
    END IF;
    v_result := appstore.plan_history_days(walk_history.bundle_id, environment, v_since, v_cursor.since);
    UPDATE appstore.history_cursors AS c SET since = v_since WHERE c.bundle_id = walk_history.bundle_id AND c.environment = walk_history.environment;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'walk_history', '{}',
            jsonb_build_object('bundle_id', walk_history.bundle_id, 'environment', environment, 'since', v_since));
    RETURN v_result;
END
$$;

COMMENT ON FUNCTION appstore.walk_history(bundle_id text, environment appstore.environment, since timestamp with time zone) IS 'Lets the workers read the history of an app from an earlier day on, up to 180 days ago, in Sandbox 30. Returns how many windows it made; 0 when they were made before. It fails with no_data_found when no worker has had the app''s key.';

CREATE FUNCTION appstore.wants_raw(e appstore.endpoints) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT e.format = 'raw' OR coalesce(e.types && '{notification.received,notification.rejected,notification.*}', false)
$$;

COMMENT ON FUNCTION appstore.wants_raw(e appstore.endpoints) IS 'Whether an endpoint gets notification.received or notification.rejected.';

CREATE FUNCTION appstore.watch_stale_contracts(p_bundle_id text, p_environment appstore.environment, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_page     CONSTANT integer := 2000;
    v_walk     record;
    v_from     timestamptz;
    v_to       timestamptz;
    v_found    bigint;
    v_has_more boolean := false;
BEGIN
    -- 1. A new app: what has ended or was asked for in the last 60 days, and all purchases.
    INSERT INTO appstore.reconcile_walks (bundle_id, environment, walk, until)
    SELECT p_bundle_id, p_environment, walk.name, walk.until
    FROM (VALUES ('before 3 days', p_now), ('before 2 days', p_now + interval '48 hours'), ('before 1 day', p_now + interval '24 hours'),
                 ('after 1 hour', p_now - interval '1440 hours'), ('after 1 day', p_now - interval '24 hours'),
                 ('after 3 days', p_now - interval '72 hours'), ('after 7 days', p_now - interval '168 hours'),
                 ('after 30 days', p_now - interval '720 hours'), ('purchases', '-infinity'), ('refunds', p_now - interval '1440 hours'),
                 ('late refunds', p_now - interval '156 hours'), ('sample', p_now)
         ) AS walk (name, until)
    ON CONFLICT (bundle_id, environment, walk) DO NOTHING;

    -- 2. Ends of periods: each of them is looked at whenever a rule could begin to hold. So a fact that came late is seen by the next walk.
    FOR v_walk IN
        SELECT w.walk, w.until, walk.gap FROM appstore.reconcile_walks AS w
        CROSS JOIN LATERAL (SELECT CASE w.walk WHEN 'before 3 days' THEN interval '-72 hours' WHEN 'before 2 days' THEN interval '-48 hours'
                                               WHEN 'before 1 day' THEN interval '-24 hours' WHEN 'after 1 hour' THEN interval '1 hour'
                                               WHEN 'after 1 day' THEN interval '24 hours' WHEN 'after 3 days' THEN interval '72 hours'
                                               WHEN 'after 7 days' THEN interval '168 hours' WHEN 'after 30 days' THEN interval '720 hours' END) AS walk (gap)
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND walk.gap IS NOT NULL
    LOOP
        v_from := v_walk.until;
        WITH ended AS MATERIALIZED (
            SELECT t.environment, t.bundle_id, t.original_transaction_id, t.transaction_id, t.expires_date FROM appstore.transactions AS t
            WHERE t.expires_date IS NOT NULL AND (t.expires_date AT TIME ZONE 'UTC') > (v_from AT TIME ZONE 'UTC')
              AND (t.expires_date AT TIME ZONE 'UTC') <= ((p_now - v_walk.gap) AT TIME ZONE 'UTC')
            ORDER BY (t.expires_date AT TIME ZONE 'UTC') FETCH FIRST c_page ROWS WITH TIES
        ), stale AS (
            SELECT e.original_transaction_id, rule.name, (m.contract).current_period_end
            FROM ended AS e
            CROSS JOIN LATERAL (
                SELECT m AS contract FROM appstore.contracts AS m
                WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = e.environment
                  AND m.current_transaction_id = e.transaction_id AND m.bundle_id = p_bundle_id OFFSET 0
            ) AS m
            CROSS JOIN unnest('{expired_silent,in_retry,price_consent}'::text[]) AS rule (name)
            WHERE e.environment = p_environment AND e.bundle_id = p_bundle_id AND appstore.is_stale(rule.name, m.contract, p_now)
        ), watched AS (
            INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, since, next_at)
            SELECT p_environment, s.original_transaction_id, s.name, p_bundle_id, s.current_period_end,
                   -- in_retry: the day that has begun last, so that it is asked once a day.
                   CASE s.name WHEN 'in_retry' THEN
                       s.current_period_end + greatest(1, floor(extract(epoch FROM p_now - s.current_period_end) / 86400)) * interval '24 hours'
                   ELSE p_now END
            FROM stale AS s
            -- A period that began later, whose predecessor's watch has not yet come to its end.
            ON CONFLICT (original_transaction_id, environment, rule) DO UPDATE
            SET since = excluded.since, next_at = excluded.next_at, questions = 0 WHERE reconcile_watches.since <> excluded.since
        )
        SELECT count(*), max(e.expires_date) INTO v_found, v_to FROM ended AS e;
        v_has_more := v_has_more OR v_found >= c_page;
        UPDATE appstore.reconcile_walks AS w SET until = CASE WHEN v_found >= c_page THEN v_to ELSE greatest(v_from, p_now - v_walk.gap) END
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = v_walk.walk;
    END LOOP;

    -- 3. Purchases without their renewal, 15 minutes after they were settled. One that was asked about is not asked about again for 30 days.
    SELECT w.until INTO v_from FROM appstore.reconcile_walks AS w
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'purchases';
    WITH settled AS MATERIALIZED (
        SELECT o.event_id, o.settled_at, o.original_transaction_id FROM appstore.outcomes AS o
        WHERE o.source IN ('client_transaction', 'client_receipt', 'unanswered_receipt', 'transaction_info', 'imported_transaction')
          AND o.settled_at > v_from AND o.settled_at <= p_now - interval '15 minutes'
        ORDER BY o.settled_at FETCH FIRST c_page ROWS WITH TIES
    ), bought AS (
        SELECT s.settled_at, s.original_transaction_id AS contract FROM settled AS s WHERE s.original_transaction_id IS NOT NULL
        UNION ALL
        SELECT s.settled_at, c.original_transaction_id FROM settled AS s
        CROSS JOIN LATERAL (
            SELECT c.original_transaction_id FROM appstore.event_contracts AS c WHERE c.event_id = s.event_id AND c.environment = p_environment OFFSET 0
        ) AS c
    ), watched AS (
        INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, since, next_at)
        SELECT p_environment, b.contract, 'no_renewal_info', p_bundle_id, b.settled_at, p_now
        FROM bought AS b
        CROSS JOIN LATERAL (
            SELECT m AS contract FROM appstore.contracts AS m
            WHERE m.original_transaction_id = b.contract AND m.environment = p_environment AND m.bundle_id = p_bundle_id OFFSET 0
        ) AS m
        WHERE appstore.is_stale('no_renewal_info', m.contract, p_now)
          AND NOT EXISTS (SELECT FROM appstore.reconcile_questions AS q
                          WHERE q.original_transaction_id = b.contract AND q.environment = p_environment
                            AND q.asked_at > p_now - interval '720 hours' OFFSET 0)
        ON CONFLICT (original_transaction_id, environment, rule) DO NOTHING
    )
    SELECT count(*), max(s.settled_at) INTO v_found, v_to FROM settled AS s;
    v_has_more := v_has_more OR v_found >= c_page;
    UPDATE appstore.reconcile_walks AS w SET until = CASE WHEN v_found >= c_page THEN v_to ELSE greatest(v_from, p_now - interval '15 minutes') END
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'purchases';

    -- 4. Refund requests. Apple wants an answer within 12 hours, so those that were asked 48 hours ago were due 36 hours ago. A second walk, a
    --    week after they were asked, finds those that came late.
    FOR v_walk IN
        SELECT w.walk, w.until, CASE w.walk WHEN 'refunds' THEN interval '36 hours' ELSE interval '156 hours' END AS gap
        FROM appstore.reconcile_walks AS w
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk IN ('refunds', 'late refunds')
    LOOP
        v_from := v_walk.until;
        WITH asked AS MATERIALIZED (
            SELECT c.environment, c.transaction_id, c.original_transaction_id, c.asked_at, c.due_at FROM appstore.consumption_obligations AS c
            WHERE c.due_at > v_from AND c.due_at <= p_now - v_walk.gap
            ORDER BY c.due_at FETCH FIRST c_page ROWS WITH TIES
        ), watched AS (
            INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, transaction_id, since, next_at)
            SELECT DISTINCT ON (a.original_transaction_id)
                   p_environment, a.original_transaction_id, 'revoked_doubt', p_bundle_id, a.transaction_id, a.asked_at, p_now
            FROM asked AS a
            WHERE a.environment = p_environment
              AND EXISTS (SELECT FROM appstore.transactions AS t
                          WHERE t.transaction_id = a.transaction_id AND t.environment = p_environment AND t.bundle_id = p_bundle_id OFFSET 0)
              AND appstore.is_refund_in_doubt(p_environment, a.transaction_id, p_now)
            ORDER BY a.original_transaction_id, a.asked_at DESC, a.transaction_id
            -- Another charge of the contract: the customer's history tells of both.
            ON CONFLICT (original_transaction_id, environment, rule) DO UPDATE
            SET transaction_id = excluded.transaction_id, since = excluded.since, next_at = excluded.next_at, questions = 0
            WHERE reconcile_watches.since <> excluded.since
        )
        SELECT count(*), max(a.due_at) INTO v_found, v_to FROM asked AS a;
        v_has_more := v_has_more OR v_found >= c_page;
        UPDATE appstore.reconcile_walks AS w SET until = CASE WHEN v_found >= c_page THEN v_to ELSE greatest(v_from, p_now - v_walk.gap) END
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = v_walk.walk;
    END LOOP;
    RETURN v_has_more;
END
$$;

COMMENT ON FUNCTION appstore.watch_stale_contracts(p_bundle_id text, p_environment appstore.environment, p_now timestamp with time zone) IS 'Writes a watch for each contract of an app for which a rule has begun to hold since the latest call. It looks at some 2,000 ends of periods, purchases and refund requests of each kind. Returns whether there may be more.';

CREATE FUNCTION appstore.withdraw_consent(user_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN appstore.end_consent(user_id, appstore.actor());
END
$$;

COMMENT ON FUNCTION appstore.withdraw_consent(user_id text) IS 'Withdraws the consent of a user: nothing is sent about the user''s purchases until appstore.give_consent is called again. Answers that wait are discarded; one that a worker is sending at that moment may still reach Apple. Returns false where no consent is in force and no answer waits.';

CREATE FUNCTION appstore_reports.active_subscriptions(at date DEFAULT ((now() AT TIME ZONE 'UTC'::text))::date, by text DEFAULT NULL::text, sandbox boolean DEFAULT false) RETURNS TABLE(day date, value text, subscriptions bigint, in_grace bigint, trials bigint, is_incomplete boolean)
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT * FROM appstore_reports.subscriptions_daily(at, at, by, sandbox)
$$;

COMMENT ON FUNCTION appstore_reports.active_subscriptions(at date, by text, sandbox boolean) IS 'Subscriptions that are paid and have not ended at the end of the day (UTC), or now if the day lasts. Grace periods and those that will not renew count; trials (a column of their own) and family members do not. by is app, product, storefront, offer or currency.';

CREATE FUNCTION appstore_reports.check_arguments(by text, every text DEFAULT 'day'::text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF by NOT IN ('app', 'product', 'storefront', 'offer', 'currency') THEN
        RAISE EXCEPTION 'by is %, it must be null, app, product, storefront, offer or currency', by
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF every IS NULL OR every NOT IN ('day', 'week', 'month', 'quarter', 'year') THEN
        RAISE EXCEPTION 'the length of a period is %, it must be day, week, month, quarter or year', coalesce(every, 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;

COMMENT ON FUNCTION appstore_reports.check_arguments(by text, every text) IS 'Raises 22023 for a word that the reports do not know.';

CREATE FUNCTION appstore_reports.churn(first_day date, last_day date, by text DEFAULT NULL::text, every text DEFAULT 'month'::text, sandbox boolean DEFAULT false) RETURNS TABLE(period date, value text, active_at_start bigint, churned bigint, churn_rate numeric, is_incomplete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    RETURN QUERY
    WITH active AS (
        SELECT (l.day + 1) AS period, l.value, sum(l.subscriptions)::bigint AS subscriptions
        FROM appstore_reports.levels(
            ARRAY(SELECT p.period - 1 FROM appstore_reports.periods(first_day, last_day, every) AS p), by, sandbox) AS l
        WHERE l.subscriptions > 0
        GROUP BY l.day, l.value
    )
    SELECT coalesce(a.period, m.period), coalesce(a.value, m.value), coalesce(a.subscriptions, 0), coalesce(m.churned, 0),
           round(coalesce(m.churned, 0)::numeric / nullif(a.subscriptions, 0), 6),
           coalesce(m.is_incomplete, (SELECT p.next > now()
                                      FROM appstore_reports.periods(a.period, a.period, every) AS p))
    FROM active AS a
    FULL JOIN appstore_reports.movement(first_day, last_day, by, every, sandbox) AS m ON m.period = a.period AND m.value = a.value
    ORDER BY coalesce(a.period, m.period), coalesce(a.value, m.value) COLLATE "C";
END
$$;

COMMENT ON FUNCTION appstore_reports.churn(first_day date, last_day date, by text, every text, sandbox boolean) IS 'For each period of a range the churned subscriptions of movement, divided by those that were active when the period began.';

CREATE FUNCTION appstore_reports.corrections() RETURNS TABLE(environment appstore.environment, transaction_id text, is_copy boolean, replaced_at timestamp with time zone, grace_ends_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
    WITH made AS NOT MATERIALIZED (
        -- 1. Only a charge that the customer made can replace a period that still runs, or be a restored copy of a period: a renewal by Apple
        --    begins when the period before it ends. The index transactions_not_renewed has these. A receipt does not say who made a charge.
        SELECT t.* FROM appstore.transactions AS t
        WHERE t.transaction_id <> t.original_transaction_id AND t.transaction_reason IS DISTINCT FROM 'RENEWAL' AND t.is_subscription
    )
    SELECT r.environment, r.transaction_id, bool_or(r.is_copy), min(r.replaced_at), max(r.grace_ends_at)
    FROM (
        SELECT c.environment, c.transaction_id, true AS is_copy, NULL::timestamptz AS replaced_at, NULL::timestamptz AS grace_ends_at
        FROM made AS c
        WHERE EXISTS (
            SELECT FROM appstore.transactions AS o
            WHERE o.period_no = c.period_no AND o.environment = c.environment AND o.is_purchased = c.is_purchased
              AND o.transaction_id <> c.transaction_id
              AND (o.transaction_id = o.original_transaction_id OR o.transaction_reason = 'RENEWAL'
                   OR (length(o.transaction_id), o.transaction_id) < (length(c.transaction_id), c.transaction_id)) OFFSET 0)
        UNION ALL
        SELECT c.environment, p.transaction_id, false, c.purchase_date, NULL
        FROM made AS c
        CROSS JOIN LATERAL (
            SELECT p.transaction_id FROM appstore.transactions AS p
            WHERE p.original_transaction_id = c.original_transaction_id AND p.environment = c.environment
              AND p.is_purchased = c.is_purchased AND p.is_subscription AND p.expires_date > c.purchase_date AND p.period_no <> c.period_no
              AND (p.purchase_date, length(p.transaction_id), p.transaction_id)
                  < (c.purchase_date, length(c.transaction_id), c.transaction_id) OFFSET 0
        ) AS p
        UNION ALL
        -- 2. The grace period of the charge that the effect names, or of the last one that had ended by then: Apple charges up to a day before.
        SELECT e.environment, t.transaction_id, false, NULL, e.grace_period_expires_date
        FROM appstore.effect_log AS e
        CROSS JOIN LATERAL (
            SELECT t.* FROM appstore.transactions AS t
            WHERE t.original_transaction_id = e.original_transaction_id AND t.environment = e.environment AND t.is_subscription
              AND (t.transaction_id = e.transaction_id
                   OR e.transaction_id IS NULL AND t.purchase_date <= e.occurred_at AND t.expires_date <= e.occurred_at + interval '24 hours')
              AND t.bundle_id = coalesce(e.vouched_bundle_id, t.bundle_id)
            ORDER BY t.purchase_date DESC, length(t.transaction_id), t.transaction_id
            LIMIT 1
        ) AS t
        WHERE e.grace_period_expires_date > t.expires_date
          -- With a charge within the grace period, the period that failed ended as it should.
          AND NOT EXISTS (
              SELECT FROM appstore.transactions AS n
              WHERE n.original_transaction_id = e.original_transaction_id AND n.environment = e.environment
                AND n.is_purchased = t.is_purchased AND n.is_subscription AND n.purchase_date > t.purchase_date
                AND n.purchase_date <= e.grace_period_expires_date OFFSET 0)
    ) AS r
    GROUP BY r.environment, r.transaction_id
$$;

COMMENT ON FUNCTION appstore_reports.corrections() IS 'What other rows say of a charge: that it is a restored copy of a charge with a row of its own, which reports leave out (is_copy); when a later charge of the contract replaced it before its end, such as by an upgrade (replaced_at); the end of the grace period in which no charge came (grace_ends_at).';

CREATE FUNCTION appstore_reports.days_between(start_at timestamp with time zone, end_at timestamp with time zone) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    -- An interval, and not the name UTC, which PostgreSQL would look up for each row.
    SELECT (end_at AT TIME ZONE interval '0')::date - (start_at AT TIME ZONE interval '0')::date
$$;

COMMENT ON FUNCTION appstore_reports.days_between(start_at timestamp with time zone, end_at timestamp with time zone) IS 'The days (UTC) from one instant to another.';

CREATE FUNCTION appstore_reports.dimension(by text, bundle_id text, product_id text, storefront text, offer_type integer, offer_identifier text, offer_discount_type text, currency text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE by
        WHEN 'app' THEN bundle_id
        WHEN 'product' THEN product_id
        WHEN 'storefront' THEN coalesce(storefront, 'unknown')
        WHEN 'offer' THEN coalesce(offer_identifier, CASE WHEN offer_type = 1 THEN 'introductory' END, offer_discount_type, 'none')
        WHEN 'currency' THEN coalesce(currency, 'unknown')
        ELSE 'all' END
$$;

COMMENT ON FUNCTION appstore_reports.dimension(by text, bundle_id text, product_id text, storefront text, offer_type integer, offer_identifier text, offer_discount_type text, currency text) IS 'The value by which a report groups a charge: see the argument by of the reports.';

CREATE FUNCTION appstore_reports.end_of(day date) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    SELECT least((day + 1)::timestamp AT TIME ZONE 'UTC', now())
$$;

COMMENT ON FUNCTION appstore_reports.end_of(day date) IS 'The instant (UTC) that counts for a day: its end, or now while it lasts.';

CREATE FUNCTION appstore_reports.levels(days date[], by text, sandbox boolean) RETURNS TABLE(day date, value text, currency text, subscriptions bigint, without_price bigint, in_grace bigint, trials bigint, mrr numeric, is_incomplete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '64MB'
    SET enable_sort TO 'off'
    SET parallel_tuple_cost TO '0.01'
    AS $$
#variable_conflict use_column
DECLARE
    v_ends        timestamptz[] := ARRAY(SELECT appstore_reports.end_of(d.day) FROM unnest(days) AS d (day) ORDER BY d.day);
    v_from        timestamptz := v_ends[1] - interval '90 days'; -- no grace period is as long
    -- The expression of the index transactions_by_expiry, where it leaves out most charges; otherwise processes share the whole table.
    v_recent      timestamp := CASE WHEN v_from > now() - interval '200 days' THEN v_from AT TIME ZONE 'UTC' END;
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by);
    -- The range is multiplied by all values and currencies.
    IF cardinality(days) > (CASE WHEN by IS NULL THEN 10000 ELSE 1100 END) THEN
        RAISE EXCEPTION 'the range has % days, at most 10000 are possible, or 1100 with by', cardinality(days)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH grouped AS (
        SELECT c.span, c.bundle_id, c.product_id, c.detail, c.currency,
               count(*) AS n, count(*) FILTER (WHERE c.price IS NULL) AS without_price, sum(c.price) AS price
        FROM (
            -- From which place on, after which place, from which place in grace, days, trial, introductory offer. In one number, which is
            -- quick to hash, and of which the planner does not expect as many values as there are charges: so each process groups its share.
            SELECT ((width_bucket(c.purchase_date, v_ends) + 1)::bigint << 48) + ((width_bucket(c.ended_at, v_ends) + 1)::bigint << 32)
                   + ((width_bucket(least(c.expires_date, c.ended_at), v_ends) + 1)::bigint << 16)
                   + 4 * greatest(0, least(appstore_reports.days_between(c.purchase_date, c.expires_date), 16383))
                   + CASE WHEN c.is_trial THEN 2 WHEN c.is_intro THEN 1 ELSE 0 END AS span,
                   c.bundle_id, c.product_id, c.currency, c.price,
                   appstore_reports.dimension(by, NULL, NULL, c.storefront, c.offer_type, c.offer_identifier, c.offer_discount_type,
                                              c.currency) AS detail,
                   clock_timestamp() AS barrier -- volatile, so that this stays a subquery
            FROM appstore_reports.charges AS c
            WHERE c.environment = v_environment AND c.is_subscription AND c.is_purchased AND c.purchase_date < v_ends[cardinality(v_ends)]
              AND c.expires_date > v_from AND (v_recent IS NULL OR c.expires_date AT TIME ZONE 'UTC' > v_recent)
        ) AS c
        GROUP BY c.span, c.bundle_id, c.product_id, c.detail, c.currency
    ), charged AS (
        SELECT g.first, g.after, g.grace, CASE by WHEN 'app' THEN g.bundle_id WHEN 'product' THEN g.product_id ELSE g.detail END AS value,
               g.currency, g.is_trial, g.n, g.without_price,
               CASE WHEN NOT g.is_trial THEN g.price * appstore_reports.times_a_month(p.duration, g.is_intro, g.days) END AS mrr
        FROM (
            SELECT g.*, g.span >> 48 AS first, g.span >> 32 & 65535 AS after, g.span >> 16 & 65535 AS grace,
                   (g.span >> 2 & 16383)::integer AS days, g.span & 2 <> 0 AS is_trial, g.span & 1 <> 0 AS is_intro
            FROM grouped AS g
        ) AS g
        LEFT JOIN (
            SELECT p.product_id, p.bundle_id, max(p.duration) AS duration FROM appstore.products AS p GROUP BY p.product_id, p.bundle_id
        ) AS p ON p.product_id = g.product_id AND p.bundle_id = g.bundle_id
        WHERE g.first < g.after
    ), change AS (
        SELECT g.first AS place, g.value, g.currency, CASE WHEN NOT g.is_trial THEN g.n ELSE 0 END AS paid,
               CASE WHEN NOT g.is_trial THEN g.without_price ELSE 0 END AS without_price, 0::bigint AS in_grace,
               CASE WHEN g.is_trial THEN g.n ELSE 0 END AS trials, g.mrr
        FROM charged AS g
        UNION ALL
        SELECT g.after, g.value, g.currency, CASE WHEN NOT g.is_trial THEN -g.n ELSE 0 END,
               CASE WHEN NOT g.is_trial THEN -g.without_price ELSE 0 END,
               CASE WHEN NOT g.is_trial AND g.grace < g.after THEN -g.n ELSE 0 END, CASE WHEN g.is_trial THEN -g.n ELSE 0 END,
               -g.mrr
        FROM charged AS g
        UNION ALL
        SELECT greatest(g.grace, g.first), g.value, g.currency, 0, 0, g.n, 0, 0
        FROM charged AS g WHERE g.grace < g.after AND NOT g.is_trial
    ), running AS (
        SELECT d.place, d.day, k.value, k.currency,
               sum(sum(c.paid)) OVER key AS paid, sum(sum(c.without_price)) OVER key AS without_price,
               sum(sum(c.in_grace)) OVER key AS in_grace, sum(sum(c.trials)) OVER key AS trials, sum(sum(c.mrr)) OVER key AS mrr
        FROM (SELECT DISTINCT c.value, c.currency FROM change AS c) AS k
        CROSS JOIN (SELECT d.day, row_number() OVER (ORDER BY d.day) AS place FROM unnest(days) AS d (day)) AS d
        LEFT JOIN change AS c ON c.place = d.place AND c.value = k.value AND c.currency IS NOT DISTINCT FROM k.currency
        GROUP BY d.place, d.day, k.value, k.currency
        WINDOW key AS (PARTITION BY k.value, k.currency ORDER BY d.place)
    )
    SELECT r.day, r.value, r.currency, r.paid::bigint, r.without_price::bigint, r.in_grace::bigint, r.trials::bigint,
           round(coalesce(r.mrr, 0) / 1000, 2), appstore_reports.end_of(r.day) >= now()
    FROM running AS r WHERE r.paid > 0 OR r.trials > 0;
END
$$;

COMMENT ON FUNCTION appstore_reports.levels(days date[], by text, sandbox boolean) IS 'What is active at the end of each day, by value and currency: see active_subscriptions and mrr, which read it.';

CREATE FUNCTION appstore_reports.movement(first_day date, last_day date, by text DEFAULT NULL::text, every text DEFAULT 'month'::text, sandbox boolean DEFAULT false) RETURNS TABLE(period date, value text, new_subscriptions bigint, first_known bigint, renewals bigint, expirations bigint, churned bigint, net bigint, is_incomplete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '64MB'
    SET parallel_tuple_cost TO '0.01'
    AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
    v_from        timestamptz;
    v_to          timestamptz;
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    SELECT min(p.period)::timestamptz, max(p.next)::timestamptz INTO v_from, v_to
    FROM appstore_reports.periods(first_day, last_day, every) AS p;
    RETURN QUERY
    WITH paid AS (
        SELECT n.purchase_date, n.ended_at, n.is_first_known, (n.renewal_number = 1 OR n.is_trial_conversion) AND NOT n.is_first_known AS is_new,
               appstore_reports.dimension(by, n.bundle_id, n.product_id, n.storefront, n.offer_type, n.offer_identifier,
                                          n.offer_discount_type, n.currency) AS value
        FROM appstore_reports.numbered AS n
        WHERE n.environment = v_environment AND n.is_subscription AND n.is_purchased AND NOT n.is_trial AND n.expires_date > n.purchase_date
          AND n.purchase_date < now() -- Apple charges up to a day ahead
          AND least(n.purchase_date, n.ended_at) < v_to AND greatest(n.purchase_date, n.ended_at) >= v_from
    ), happened AS (
        SELECT date_trunc(every, v.at)::date AS period, p.value, sum(v.began) AS began, sum(v.found) AS found, sum(v.renewed) AS renewed,
               sum(v.ended) AS ended
        FROM paid AS p
        CROSS JOIN LATERAL (VALUES (p.purchase_date, p.is_new::integer, p.is_first_known::integer,
                                    (NOT p.is_new AND NOT p.is_first_known)::integer, 0),
                                   (p.ended_at, 0, 0, 0, 1)) AS v (at, began, found, renewed, ended)
        WHERE v.at <= now()
        GROUP BY date_trunc(every, v.at)::date, p.value
    )
    SELECT r.period, h.value, h.began, h.found, h.renewed, h.ended, h.ended - h.renewed, h.began + h.found - h.ended + h.renewed, r.next > now()
    FROM appstore_reports.periods(first_day, last_day, every) AS r
    JOIN happened AS h ON h.period = r.period
    ORDER BY r.period, h.value COLLATE "C";
END
$$;

COMMENT ON FUNCTION appstore_reports.movement(first_day date, last_day date, by text, every text, sandbox boolean) IS 'How active_subscriptions moved in each period of a range: new ones (the first paid charge of a contract), less churned ones (those that ended, less renewals). first_known counts contracts that began before their first known charge: they are neither new nor renewed. A customer who returns is a renewal, so churned may be negative. every is day, week, month, quarter or year.';

CREATE FUNCTION appstore_reports.mrr(at date DEFAULT ((now() AT TIME ZONE 'UTC'::text))::date, by text DEFAULT NULL::text, sandbox boolean DEFAULT false) RETURNS TABLE(day date, value text, currency text, subscriptions bigint, without_price bigint, mrr numeric, mrr_usd numeric, is_incomplete boolean)
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT * FROM appstore_reports.mrr_of_days(ARRAY[at], by, sandbox)
$$;

COMMENT ON FUNCTION appstore_reports.mrr(at date, by text, sandbox boolean) IS 'Monthly recurring revenue at the end of the day (UTC), in units of each currency: the prices of active_subscriptions, each by the duration of its product: a day ×30, 3 days ×10, a week ×4, 2 weeks ×2, 4 weeks or a month ×1, 2 months 1/2, 3 months 1/3, 6 months 1/6, a year 1/12. mrr_usd is by the rate of the day in appstore.fx_rates. without_price counts those of which only a receipt is known. Apple advises against using price for financial reconciliation.';

CREATE FUNCTION appstore_reports.mrr_by_month(first_day date, last_day date, by text DEFAULT NULL::text, sandbox boolean DEFAULT false) RETURNS TABLE(day date, value text, currency text, subscriptions bigint, without_price bigint, mrr numeric, mrr_usd numeric, is_incomplete boolean)
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 100
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT * FROM appstore_reports.mrr_of_days(
        ARRAY(SELECT p.next - 1 FROM appstore_reports.periods(first_day, last_day, 'month') AS p), by, sandbox)
$$;

COMMENT ON FUNCTION appstore_reports.mrr_by_month(first_day date, last_day date, by text, sandbox boolean) IS 'mrr at the end of each month that overlaps the range; of a month that lasts, now, and flagged. Apple advises against using price for financial reconciliation.';

CREATE FUNCTION appstore_reports.mrr_of_days(days date[], by text, sandbox boolean) RETURNS TABLE(day date, value text, currency text, subscriptions bigint, without_price bigint, mrr numeric, mrr_usd numeric, is_incomplete boolean)
    LANGUAGE sql STABLE ROWS 100
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT l.day, l.value, l.currency, l.subscriptions, l.without_price, l.mrr,
           round(l.mrr * appstore_reports.usd_rate(l.currency, l.day), 2), l.is_incomplete
    FROM appstore_reports.levels(days, by, sandbox) AS l
    WHERE l.subscriptions > 0
    ORDER BY l.day, l.value COLLATE "C", l.currency COLLATE "C"
$$;

COMMENT ON FUNCTION appstore_reports.mrr_of_days(days date[], by text, sandbox boolean) IS 'What mrr and mrr_by_month return, for any days.';

CREATE FUNCTION appstore_reports.periods(first_day date, last_day date, every text) RETURNS TABLE(period date, next date)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_length interval := CASE every WHEN 'quarter' THEN interval '3 months' ELSE ('1 ' || every)::interval END;
    v_last   date := least(last_day, (statement_timestamp() AT TIME ZONE 'UTC')::date);
BEGIN
    IF NOT (isfinite(first_day) AND isfinite(v_last)) OR extract(epoch FROM v_length) / 86400 * 10000 < v_last - first_day THEN
        RAISE EXCEPTION 'the range from % to % has more than 10000 periods of a %', first_day, last_day, every
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT p.start::date, (p.start + v_length)::date
    FROM generate_series(date_trunc(every, first_day::timestamp), v_last::timestamp, v_length) AS p (start);
END
$$;

COMMENT ON FUNCTION appstore_reports.periods(first_day date, last_day date, every text) IS 'The periods that overlap a range of days and have begun, each with the first day of the next one. Raises 22023 for more than 10,000.';

CREATE FUNCTION appstore_reports.refunds(first_day date, last_day date, by text DEFAULT NULL::text, every text DEFAULT 'month'::text, sandbox boolean DEFAULT false) RETURNS TABLE(period date, value text, currency text, transactions bigint, refunded bigint, refund_rate numeric, gross numeric, refunded_amount numeric, revenue numeric, is_incomplete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '64MB'
    AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    RETURN QUERY
    SELECT s.period, s.value, s.currency, s.n, s.refunded, round(s.refunded::numeric / s.n, 6), round(s.gross / 1000, 2),
           round(s.lost / 100000000, 2), round(s.gross / 1000 - s.lost / 100000000, 2), r.next > now()
    FROM (
        SELECT date_trunc(every, c.purchase_date)::date AS period,
               appstore_reports.dimension(by, c.bundle_id, c.product_id, c.storefront, c.offer_type, c.offer_identifier,
                                          c.offer_discount_type, c.currency) AS value,
               c.currency, count(*) AS n, count(c.refunded_at) AS refunded, coalesce(sum(c.price), 0) AS gross,
               coalesce(sum(c.price * c.refunded_percentage), 0) AS lost
        FROM appstore_reports.charges AS c
        WHERE c.environment = v_environment AND c.is_purchased AND NOT c.is_trial AND c.price IS DISTINCT FROM 0
          AND c.purchase_date >= date_trunc(every, first_day::timestamp)
        GROUP BY 1, 2, 3
    ) AS s
    JOIN appstore_reports.periods(first_day, last_day, every) AS r ON r.period = s.period
    ORDER BY s.period, s.value COLLATE "C", s.currency COLLATE "C";
END
$$;

COMMENT ON FUNCTION appstore_reports.refunds(first_day date, last_day date, by text, every text, sandbox boolean) IS 'Paid charges of subscriptions and single purchases, how many of them were refunded since, in full or in part, and the revenue that is left. A refund belongs to the period of the purchase, so figures of the past change. Apple advises against using price for financial reconciliation.';

CREATE FUNCTION appstore_reports.renewal_status_at(at date DEFAULT ((now() AT TIME ZONE 'UTC'::text))::date, by text DEFAULT NULL::text, sandbox boolean DEFAULT false) RETURNS TABLE(day date, value text, status text, subscriptions bigint, is_incomplete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '64MB'
    AS $$
#variable_conflict use_column
DECLARE
    v_end         timestamptz := appstore_reports.end_of(at);
    v_from        timestamptz := v_end - interval '90 days'; -- as in appstore_reports.levels
    v_recent      timestamp := CASE WHEN v_from > now() - interval '200 days' THEN v_from AT TIME ZONE 'UTC' END;
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by);
    RETURN QUERY
    SELECT at, s.value, s.status, count(*), v_end >= now()
    FROM (
        SELECT appstore_reports.dimension(by, c.bundle_id, c.product_id, c.storefront, c.offer_type, c.offer_identifier,
                                          c.offer_discount_type, c.currency) AS value,
               CASE WHEN c.expires_date < v_end THEN 'billing_issue'
                    WHEN coalesce(e.kind = 'will_not_renew', NOT m.will_renew) THEN 'set_to_cancel'
                    ELSE 'set_to_renew' END AS status
        FROM appstore_reports.charges AS c
        LEFT JOIN LATERAL (
            -- Apple charges a renewal up to a day before the period begins, and the customer may turn renewal off in between.
            SELECT e.kind FROM appstore.effect_log AS e
            WHERE e.original_transaction_id = c.original_transaction_id AND e.environment = c.environment
              AND e.kind IN ('will_renew', 'will_not_renew')
              AND e.occurred_at >= c.purchase_date - CASE WHEN c.transaction_reason = 'RENEWAL' THEN interval '24 hours' ELSE '0' END
              AND e.occurred_at < v_end
            ORDER BY e.occurred_at DESC, e.kind DESC
            LIMIT 1
        ) AS e ON true
        -- Without such an effect, what the register of the current period says, if it said so by then.
        LEFT JOIN LATERAL (
            SELECT m.will_renew FROM appstore.contracts AS m
            WHERE m.original_transaction_id = c.original_transaction_id AND m.environment = c.environment
              AND m.current_transaction_id = c.transaction_id AND m.renewal_signed_date < v_end OFFSET 0
        ) AS m ON true
        WHERE c.environment = v_environment AND c.is_subscription AND c.is_purchased AND NOT c.is_trial
          AND c.purchase_date < v_end AND c.ended_at >= v_end
          AND c.expires_date > v_from AND (v_recent IS NULL OR c.expires_date AT TIME ZONE 'UTC' > v_recent)
    ) AS s
    GROUP BY s.value, s.status
    ORDER BY s.value COLLATE "C", s.status;
END
$$;

COMMENT ON FUNCTION appstore_reports.renewal_status_at(at date, by text, sandbox boolean) IS 'active_subscriptions by what was to happen to them at the end of the day (UTC): set_to_renew, set_to_cancel, or billing_issue for a grace period. By the effects will_renew and will_not_renew, so also of the past.';

CREATE FUNCTION appstore_reports.retention(product text DEFAULT NULL::text, unit text DEFAULT 'month'::text, first_day date DEFAULT NULL::date, last_day date DEFAULT NULL::date, sandbox boolean DEFAULT false) RETURNS TABLE(bundle_id text, product_identifier text, product_duration text, cohort date, period_number integer, cohort_size bigint, subscriptions bigint, refunded bigint, retained bigint, retention numeric, is_incomplete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '64MB'
    SET parallel_tuple_cost TO '0.01'
    AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(NULL, unit);
    RETURN QUERY
    WITH paid AS ( -- 1. charges of the standard price: a cohort begins with the first of them
        SELECT c.bundle_id, c.product_id, c.original_transaction_id, c.purchase_date::date AS day, c.refunded_at,
               min(c.purchase_date::date) OVER subscription AS began,
               max(c.expires_date::date - c.purchase_date::date) OVER subscription AS length,
               bool_or(c.is_first_known) OVER subscription AS is_cut
        FROM appstore_reports.numbered AS c
        WHERE c.environment = v_environment AND c.is_subscription AND c.is_purchased AND NOT c.is_trial AND NOT c.is_intro
          AND c.expires_date IS NOT NULL AND c.purchase_date < now() AND c.product_id = coalesce(product, c.product_id)
        WINDOW subscription AS (PARTITION BY c.bundle_id, c.product_id, c.original_transaction_id)
    ), timed AS ( -- 2. with the duration of the product, else that of the subscription's longest period
        SELECT p.*, CASE coalesce(d.duration, '') WHEN 'P7D' THEN 'P1W' WHEN 'P30D' THEN 'P1M' WHEN 'P4W' THEN 'P1M' WHEN 'P12M' THEN 'P1Y'
                    WHEN '' THEN CASE WHEN p.length BETWEEN 0 AND 1 THEN 'P1D' WHEN p.length = 3 THEN 'P3D'
                                      WHEN p.length BETWEEN 6 AND 8 THEN 'P1W' WHEN p.length BETWEEN 12 AND 16 THEN 'P2W'
                                      WHEN p.length BETWEEN 27 AND 37 THEN 'P1M' WHEN p.length BETWEEN 58 AND 62 THEN 'P2M'
                                      WHEN p.length BETWEEN 88 AND 95 THEN 'P3M' WHEN p.length BETWEEN 179 AND 185 THEN 'P6M'
                                      WHEN p.length BETWEEN 363 AND 375 THEN 'P1Y' END
                    ELSE d.duration END AS duration
        FROM paid AS p
        LEFT JOIN (
            SELECT q.product_id, q.bundle_id, max(q.duration) AS duration FROM appstore.products AS q GROUP BY q.product_id, q.bundle_id
        ) AS d ON d.product_id = p.product_id AND d.bundle_id = p.bundle_id
        WHERE NOT p.is_cut AND (first_day IS NULL OR p.began >= date_trunc(unit, first_day::timestamp))
          AND (last_day IS NULL OR date_trunc(unit, p.began::timestamp) <= last_day)
    ), placed AS ( -- 3. each subscription in the periods that it paid
        SELECT t.bundle_id, t.product_id, t.duration, date_trunc(unit, t.began::timestamp)::date AS cohort, t.original_transaction_id,
               round((t.day - t.began) / l.days)::integer AS place, l.days, bool_and(t.refunded_at IS NOT NULL) AS is_refunded
        FROM timed AS t
        JOIN (VALUES ('P1D', 1.0), ('P3D', 3), ('P1W', 7), ('P2W', 14), ('P1M', 30.4375), ('P2M', 60.875), ('P3M', 91.3125),
                     ('P6M', 182.625), ('P1Y', 365.25)) AS l (duration, days) ON l.duration = t.duration
        GROUP BY t.bundle_id, t.product_id, t.duration, date_trunc(unit, t.began::timestamp)::date, t.original_transaction_id,
                 round((t.day - t.began) / l.days)::integer, l.days
    ), counted AS (
        SELECT p.bundle_id, p.product_id, p.duration, p.cohort, p.days, p.place, count(*) AS n,
               count(*) FILTER (WHERE p.is_refunded) AS refunded
        FROM placed AS p GROUP BY p.bundle_id, p.product_id, p.duration, p.cohort, p.days, p.place
    ), cohorts AS (
        SELECT c.bundle_id, c.product_id, c.duration, c.cohort, c.days, c.n AS size, r.next
        FROM counted AS c CROSS JOIN LATERAL appstore_reports.periods(c.cohort, c.cohort, unit) AS r
        WHERE c.place = 0
    )
    SELECT k.bundle_id, k.product_id, k.duration, k.cohort, s.place, k.size, coalesce(c.n, 0), coalesce(c.refunded, 0),
           coalesce(c.n - c.refunded, 0), round(coalesce(c.n - c.refunded, 0)::numeric / k.size, 6),
           k.next + (s.place * k.days)::double precision * interval '1 day' > now()
    FROM cohorts AS k
    CROSS JOIN LATERAL (SELECT max(c.place) FROM counted AS c WHERE c.bundle_id = k.bundle_id AND c.product_id = k.product_id
                                                                   AND c.duration = k.duration) AS last (place)
    CROSS JOIN LATERAL generate_series(0, last.place) AS s (place)
    LEFT JOIN counted AS c ON c.bundle_id = k.bundle_id AND c.product_id = k.product_id AND c.duration = k.duration AND c.cohort = k.cohort
                          AND c.place = s.place
    WHERE k.cohort + (s.place * k.days)::double precision * interval '1 day' <= now()
    ORDER BY k.bundle_id COLLATE "C", k.product_id COLLATE "C", k.duration, k.cohort, s.place;
END
$$;

COMMENT ON FUNCTION appstore_reports.retention(product text, unit text, first_day date, last_day date, sandbox boolean) IS 'Cohorts by the unit (day, week, month, quarter, year) of the first paid charge of a product, without trials and introductory offers, and how many of each paid in the following periods of the product''s duration: period 0 is the first one. A change of product begins another cohort, a refunded period is not retained, and a customer who returns is. Always of the size of the cohort. Subscriptions whose beginning is not known are left out. product null for all.';

CREATE FUNCTION appstore_reports.subscriptions_daily(first_day date, last_day date, by text DEFAULT NULL::text, sandbox boolean DEFAULT false) RETURNS TABLE(day date, value text, subscriptions bigint, in_grace bigint, trials bigint, is_incomplete boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT l.day, l.value, sum(l.subscriptions)::bigint, sum(l.in_grace)::bigint, sum(l.trials)::bigint, l.is_incomplete
    FROM appstore_reports.levels(
        ARRAY(SELECT p.period FROM appstore_reports.periods(first_day, last_day, 'day') AS p), by, sandbox) AS l
    GROUP BY l.day, l.value, l.is_incomplete
    ORDER BY l.day, l.value COLLATE "C"
$$;

COMMENT ON FUNCTION appstore_reports.subscriptions_daily(first_day date, last_day date, by text, sandbox boolean) IS 'active_subscriptions at the end of each day of a range. A day without any has no row.';

CREATE FUNCTION appstore_reports.times_a_month(duration text, is_intro boolean, days integer) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE CASE WHEN is_intro THEN NULL ELSE duration END
        WHEN 'P1D' THEN 30.0
        WHEN 'P3D' THEN 10.0
        WHEN 'P7D' THEN 4.0 WHEN 'P1W' THEN 4.0
        WHEN 'P2W' THEN 2.0
        WHEN 'P4W' THEN 1.0 WHEN 'P1M' THEN 1.0
        WHEN 'P2M' THEN 1.0 / 2
        WHEN 'P3M' THEN 1.0 / 3
        WHEN 'P6M' THEN 1.0 / 6
        WHEN 'P12M' THEN 1.0 / 12 WHEN 'P1Y' THEN 1.0 / 12
        ELSE CASE
            WHEN NOT is_intro AND duration IS NOT NULL THEN 28.0 / nullif(days, 0)
            WHEN days BETWEEN 27 AND 33 THEN 1.0
            WHEN days BETWEEN 363 AND 375 THEN 1.0 / 12
            WHEN days BETWEEN 6 AND 8 THEN 4.0
            WHEN days BETWEEN 88 AND 95 THEN 1.0 / 3
            WHEN days BETWEEN 179 AND 185 THEN 1.0 / 6
            WHEN days BETWEEN 58 AND 62 THEN 1.0 / 2
            WHEN days BETWEEN 12 AND 16 THEN 2.0
            WHEN days = 3 THEN 10.0
            WHEN days BETWEEN 0 AND 1 THEN 30.0
            ELSE 28.0 / nullif(days, 0) END
        END
$$;

COMMENT ON FUNCTION appstore_reports.times_a_month(duration text, is_intro boolean, days integer) IS 'By what the price of a period is multiplied for MRR: by the duration of the product, or by the days of the period where that is unknown or the period is an introductory offer.';

CREATE FUNCTION appstore_reports.trials(first_day date, last_day date, by text DEFAULT NULL::text, every text DEFAULT 'month'::text, sandbox boolean DEFAULT false) RETURNS TABLE(period date, value text, trials bigint, converted bigint, refunded bigint, pending bigint, conversion_rate numeric, is_incomplete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '64MB'
    SET parallel_tuple_cost TO '0.01'
    AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    RETURN QUERY
    WITH trial AS (
        SELECT date_trunc(every, n.purchase_date)::date AS period,
               appstore_reports.dimension(by, n.bundle_id, n.product_id, n.storefront, n.offer_type, n.offer_identifier,
                                          n.offer_discount_type, n.currency) AS value,
               n.next_is_trial IS FALSE AND NOT n.next_is_refunded AS is_converted,
               n.next_is_trial IS FALSE AND n.next_is_refunded AS is_refunded,
               n.next_is_trial IS NULL AND n.ended_at > now() AS is_open,
               n.original_transaction_id
        FROM appstore_reports.numbered AS n
        WHERE n.environment = v_environment AND n.is_subscription AND n.is_purchased AND n.is_trial
    )
    SELECT r.period, t.value, count(*), count(*) FILTER (WHERE t.is_converted), count(*) FILTER (WHERE t.is_refunded),
           count(*) FILTER (WHERE t.is_open AND m.will_renew IS NOT FALSE),
           round(count(*) FILTER (WHERE t.is_converted)::numeric / count(*), 6),
           r.next > now() OR bool_or(t.is_open)
    FROM appstore_reports.periods(first_day, last_day, every) AS r
    JOIN trial AS t ON t.period = r.period
    LEFT JOIN appstore.contracts AS m ON m.original_transaction_id = t.original_transaction_id AND m.environment = v_environment
                                     AND t.is_open
    GROUP BY r.period, r.next, t.value
    ORDER BY r.period, t.value COLLATE "C";
END
$$;

COMMENT ON FUNCTION appstore_reports.trials(first_day date, last_day date, by text, every text, sandbox boolean) IS 'Free trials by the period in which they began, and how many became paid: converted have a paid charge as their next one, however late, refunded one that was refunded since, pending have not ended and will renew. All others were abandoned. A period is incomplete until its last trial ended.';

CREATE FUNCTION appstore_reports.usd_rate(currency text, day date) RETURNS numeric
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN usd_rate.currency = 'USD' THEN 1 ELSE (
        SELECT f.per_unit FROM appstore.fx_rates AS f
        WHERE f.currency = usd_rate.currency AND f.day <= usd_rate.day ORDER BY f.day DESC LIMIT 1) END
$$;

COMMENT ON FUNCTION appstore_reports.usd_rate(currency text, day date) IS 'US dollars for one unit of the currency on a day, by appstore.fx_rates; null without a rate.';

CREATE AGGREGATE appstore.chained_digest(text) (
    SFUNC = appstore.chain_link,
    STYPE = bytea,
    INITCOND = ''
);

COMMENT ON AGGREGATE appstore.chained_digest(text) IS 'A chain of SHA-256 over lines, in their order.';

CREATE TABLE appstore.api_budgets (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment NOT NULL,
    endpoint text NOT NULL COLLATE pg_catalog."C",
    setting double precision NOT NULL,
    lowered_to double precision,
    last_429_at timestamp with time zone,
    tokens double precision NOT NULL,
    refilled_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    blocked_until timestamp with time zone,
    hour_began timestamp with time zone DEFAULT date_trunc('hour'::text, clock_timestamp(), 'UTC'::text) NOT NULL,
    used_this_hour bigint DEFAULT 0 NOT NULL,
    last_class smallint,
    CONSTRAINT api_budgets_endpoint_is_a_name CHECK ((endpoint ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    CONSTRAINT api_budgets_lowered_by_429 CHECK ((((lowered_to IS NULL) = (last_429_at IS NULL)) AND ((lowered_to > (0)::double precision) IS NOT FALSE))),
    CONSTRAINT api_budgets_setting_is_a_rate CHECK (((setting > (0)::double precision) AND (setting < (1000)::double precision))),
    CONSTRAINT api_budgets_tokens_are_there CHECK ((tokens >= (0)::double precision))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

COMMENT ON TABLE appstore.api_budgets IS 'The budget of each app, environment and endpoint, which all workers share: a token is a request. appstore.take_api_budget spends them.';

COMMENT ON COLUMN appstore.api_budgets.endpoint IS 'The endpoint, such as consumption.';

COMMENT ON COLUMN appstore.api_budgets.setting IS 'Requests a second that the settings of the worker allow, a share of what Apple documents.';

COMMENT ON COLUMN appstore.api_budgets.lowered_to IS 'Requests a second after the latest 429; from then on a tenth of the setting is added each hour.';

COMMENT ON COLUMN appstore.api_budgets.last_429_at IS 'When Apple said last that the limit was exceeded.';

COMMENT ON COLUMN appstore.api_budgets.tokens IS 'Requests that were left at refilled_at; a second''s worth at most, and five where that is less.';

COMMENT ON COLUMN appstore.api_budgets.refilled_at IS 'Until when tokens were added. After a 429 the end of the block.';

COMMENT ON COLUMN appstore.api_budgets.blocked_until IS 'Nothing is asked before.';

COMMENT ON COLUMN appstore.api_budgets.hour_began IS 'The hour of used_this_hour.';

COMMENT ON COLUMN appstore.api_budgets.used_this_hour IS 'Requests that workers have taken since hour_began.';

COMMENT ON COLUMN appstore.api_budgets.last_class IS 'The class that took last: 0 deadline, 1 interactive, 2 reconcile, 3 history, 4 import.';

CREATE VIEW appstore.api_budget_status AS
 SELECT b.bundle_id,
    b.environment,
    b.endpoint,
    b.setting,
    a.allowance,
    hour.used AS used_this_hour,
    ((hour.used)::double precision / (a.allowance * (3600)::double precision)) AS used_ratio,
        CASE
            WHEN (b.blocked_until > statement_timestamp()) THEN b.blocked_until
            ELSE NULL::timestamp with time zone
        END AS blocked_until,
    b.last_429_at,
    (ARRAY['deadline'::text, 'interactive'::text, 'reconcile'::text, 'history'::text, 'import'::text])[(b.last_class + 1)] AS last_class
   FROM ((appstore.api_budgets b
     CROSS JOIN LATERAL ( SELECT appstore.api_allowance(b.setting, b.lowered_to, b.last_429_at, statement_timestamp()) AS allowance) a)
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (b.hour_began = date_trunc('hour'::text, statement_timestamp(), 'UTC'::text)) THEN b.used_this_hour
                    ELSE (0)::bigint
                END AS used) hour);

COMMENT ON VIEW appstore.api_budget_status IS 'What the workers may ask the App Store Server API, and what they have asked in this hour.';

COMMENT ON COLUMN appstore.api_budget_status.endpoint IS 'The endpoint, such as consumption.';

COMMENT ON COLUMN appstore.api_budget_status.setting IS 'Requests a second that the settings allow.';

COMMENT ON COLUMN appstore.api_budget_status.allowance IS 'Requests a second that are allowed now: less than the setting for some hours after a 429.';

COMMENT ON COLUMN appstore.api_budget_status.used_this_hour IS 'Requests that workers have taken since the hour began.';

COMMENT ON COLUMN appstore.api_budget_status.used_ratio IS 'used_this_hour in relation to what the allowance permits in an hour.';

COMMENT ON COLUMN appstore.api_budget_status.blocked_until IS 'After a 429, until when nothing is asked; null while asking is allowed.';

COMMENT ON COLUMN appstore.api_budget_status.last_429_at IS 'When Apple said last that the limit was exceeded.';

COMMENT ON COLUMN appstore.api_budget_status.last_class IS 'The urgency of the latest request: deadline, interactive, reconcile, history or import.';

ALTER TABLE appstore.api_keys ALTER COLUMN key_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.api_keys_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.audit_log (
    audit_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    event_ids bigint[] NOT NULL,
    note text,
    details jsonb
);

COMMENT ON TABLE appstore.audit_log IS 'Every repair and every change of keys: the actor, the action, the events and the reason.';

COMMENT ON COLUMN appstore.audit_log.audit_id IS 'The number of the entry.';

COMMENT ON COLUMN appstore.audit_log.at IS 'When it was done.';

COMMENT ON COLUMN appstore.audit_log.actor IS 'The login that did it, or the person who used the console.';

COMMENT ON COLUMN appstore.audit_log.action IS 'What was done: requeue, discard, link_owner, forget, make_api_key …';

COMMENT ON COLUMN appstore.audit_log.event_ids IS 'The events that were changed. A repair of more than 1,000 writes a row for each step.';

COMMENT ON COLUMN appstore.audit_log.note IS 'Free text of the actor. appstore.forget neither searches nor erases it: do not name users here.';

COMMENT ON COLUMN appstore.audit_log.details IS 'Depends on the action: the conditions of a repair, the alias of a forgotten user, a key. Where user_id names a user, appstore.forget replaces it.';

ALTER TABLE appstore.audit_log ALTER COLUMN audit_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.audit_log_audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE UNLOGGED TABLE appstore.batch_markers (
    lane bigint NOT NULL,
    event_ids bigint[] NOT NULL,
    is_alone boolean NOT NULL,
    marked_at timestamp with time zone NOT NULL,
    lost_at timestamp with time zone,
    server_start timestamp with time zone DEFAULT pg_postmaster_start_time() NOT NULL,
    CONSTRAINT batch_markers_alone_is_one CHECK (((NOT is_alone) OR (cardinality(event_ids) = 1))),
    CONSTRAINT batch_markers_has_events CHECK ((cardinality(event_ids) > 0))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE appstore.batch_markers IS 'Crash markers: which events each batch in flight holds. A marker whose advisory lock is free belongs to a batch whose worker died.';

COMMENT ON COLUMN appstore.batch_markers.lane IS 'Random and new for each batch; also the advisory lock that the batch holds.';

COMMENT ON COLUMN appstore.batch_markers.event_ids IS 'The events of the batch.';

COMMENT ON COLUMN appstore.batch_markers.is_alone IS 'The batch is one isolated event, with no other batch in its process.';

COMMENT ON COLUMN appstore.batch_markers.marked_at IS 'When the batch wrote its marker.';

COMMENT ON COLUMN appstore.batch_markers.lost_at IS 'When the lock was first found free. A worker that still runs gets time to report.';

COMMENT ON COLUMN appstore.batch_markers.server_start IS 'Under which start of the server the marker was written.';

CREATE TABLE appstore.call_kinds (
    kind text NOT NULL COLLATE pg_catalog."C",
    source text COLLATE pg_catalog."C",
    CONSTRAINT call_kinds_source_is_a_source CHECK ((source ~ '^[a-z][a-z0-9_]{0,62}$'::text))
);

COMMENT ON TABLE appstore.call_kinds IS 'The kinds of calls that can be answered, and what their answers become.';

COMMENT ON COLUMN appstore.call_kinds.kind IS 'The column kind of the outbox.';

COMMENT ON COLUMN appstore.call_kinds.source IS 'The source of the events that an answer becomes; null for answers that are no event.';

CREATE TABLE appstore.certificates (
    fingerprint bytea NOT NULL,
    certificate bytea NOT NULL,
    issuer bytea NOT NULL,
    first_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    status text COLLATE pg_catalog."C",
    this_update timestamp with time zone,
    next_update timestamp with time zone,
    answered_at timestamp with time zone,
    revoked_at timestamp with time zone,
    crl_reason text COLLATE pg_catalog."C",
    refuses_all boolean GENERATED ALWAYS AS (COALESCE((crl_reason = ANY (ARRAY['unspecified'::text, 'key_compromise'::text, 'ca_compromise'::text])), false)) STORED NOT NULL,
    is_ignored boolean DEFAULT false NOT NULL,
    run_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    last_error text,
    epoch bigint DEFAULT 0 NOT NULL,
    leased_until timestamp with time zone,
    CONSTRAINT certificates_answered_as_a_whole CHECK ((num_nonnulls(status, this_update, next_update, answered_at) = ANY (ARRAY[0, 4]))),
    CONSTRAINT certificates_fingerprint_is_its_digest CHECK ((fingerprint = sha256(certificate))),
    CONSTRAINT certificates_only_a_revocation_is_ignored CHECK (((NOT is_ignored) OR ((status = 'revoked'::text) IS TRUE))),
    CONSTRAINT certificates_revoked_with_time_and_reason CHECK ((num_nonnulls(revoked_at, crl_reason) =
CASE
    WHEN (status = 'revoked'::text) THEN 2
    ELSE 0
END)),
    CONSTRAINT certificates_status_is_known CHECK ((status = ANY (ARRAY['good'::text, 'revoked'::text])))
);

COMMENT ON TABLE appstore.certificates IS 'Leaf and intermediate certificates below the configured roots that signed events, and whether they are revoked. A worker leases a row to ask the responder; epoch is counted up, and a worker that returns with an older epoch is refused.';

COMMENT ON COLUMN appstore.certificates.fingerprint IS 'SHA-256 of the certificate.';

COMMENT ON COLUMN appstore.certificates.certificate IS 'The certificate in DER.';

COMMENT ON COLUMN appstore.certificates.issuer IS 'The certificate of its issuer in DER; of an intermediate, the root.';

COMMENT ON COLUMN appstore.certificates.first_seen_at IS 'When a worker first reported it.';

COMMENT ON COLUMN appstore.certificates.seen_at IS 'When a worker last reported it, every few hours while it signs. After 30 days it is not asked about.';

COMMENT ON COLUMN appstore.certificates.status IS 'good or revoked, as the last usable answer says; null: there was none.';

COMMENT ON COLUMN appstore.certificates.this_update IS 'From when on the responder knows this. An older answer is refused.';

COMMENT ON COLUMN appstore.certificates.next_update IS 'Until when the answer holds. A revocation counts until an answer says good.';

COMMENT ON COLUMN appstore.certificates.answered_at IS 'When the last usable answer came.';

COMMENT ON COLUMN appstore.certificates.revoked_at IS 'When it was revoked; null while it is good.';

COMMENT ON COLUMN appstore.certificates.crl_reason IS 'Why (RFC 5280): unspecified, key_compromise, superseded …';

COMMENT ON COLUMN appstore.certificates.refuses_all IS 'Whether events of any signing date are rejected, because the holder of a stolen key can choose the date; otherwise those from revoked_at on.';

COMMENT ON COLUMN appstore.certificates.is_ignored IS 'An operator has decided that the revocation has no effect: appstore.ignore_revocation.';

COMMENT ON COLUMN appstore.certificates.run_at IS 'When to ask next.';

COMMENT ON COLUMN appstore.certificates.failures IS 'How many questions in a row brought no usable answer.';

COMMENT ON COLUMN appstore.certificates.last_error IS 'Why the last question brought none; null when it did.';

COMMENT ON COLUMN appstore.certificates.epoch IS 'Counted up by each lease.';

COMMENT ON COLUMN appstore.certificates.leased_until IS 'Until when a worker has it; null: none.';

CREATE VIEW appstore.certificate_status AS
 SELECT c.fingerprint,
    c.status,
    c.revoked_at,
    c.crl_reason,
    c.refuses_all,
    c.is_ignored,
    c.this_update,
    c.next_update,
    c.answered_at,
    c.first_seen_at,
    c.seen_at,
    c.run_at AS next_question_at,
    c.failures,
    c.last_error
   FROM appstore.certificates c;

COMMENT ON VIEW appstore.certificate_status IS 'The certificates that signed events, and what their issuers say of them.';

COMMENT ON COLUMN appstore.certificate_status.fingerprint IS 'SHA-256 of the certificate.';

COMMENT ON COLUMN appstore.certificate_status.status IS 'good or revoked, as the last usable answer says; null: there was none.';

COMMENT ON COLUMN appstore.certificate_status.revoked_at IS 'When it was revoked.';

COMMENT ON COLUMN appstore.certificate_status.crl_reason IS 'Why.';

COMMENT ON COLUMN appstore.certificate_status.refuses_all IS 'Whether events of any signing date are rejected; otherwise those from revoked_at on.';

COMMENT ON COLUMN appstore.certificate_status.is_ignored IS 'An operator has decided that the revocation has no effect.';

COMMENT ON COLUMN appstore.certificate_status.this_update IS 'From when on the responder knows this.';

COMMENT ON COLUMN appstore.certificate_status.next_update IS 'Until when the answer holds.';

COMMENT ON COLUMN appstore.certificate_status.answered_at IS 'When the last usable answer came.';

COMMENT ON COLUMN appstore.certificate_status.first_seen_at IS 'When a worker first reported it.';

COMMENT ON COLUMN appstore.certificate_status.seen_at IS 'When a worker last reported it.';

COMMENT ON COLUMN appstore.certificate_status.next_question_at IS 'When a worker asks next.';

COMMENT ON COLUMN appstore.certificate_status.failures IS 'How many questions in a row brought no usable answer.';

COMMENT ON COLUMN appstore.certificate_status.last_error IS 'Why the last question brought none.';

CREATE TABLE appstore.client_posts (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    is_receipt boolean NOT NULL,
    transaction_id text COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    event_id bigint NOT NULL,
    conflict text COLLATE pg_catalog."C",
    CONSTRAINT client_posts_conflict_is_known CHECK ((conflict = ANY (ARRAY['owner_conflict'::text, 'too_late'::text]))),
    CONSTRAINT client_posts_transaction_is_named CHECK ((is_receipt OR (transaction_id IS NOT NULL))),
    CONSTRAINT client_posts_user_is_a_name CHECK (((char_length(user_id) >= 1) AND (char_length(user_id) <= 255)))
);

COMMENT ON TABLE appstore.client_posts IS 'Which user''s app posted a transaction of this contract, or a receipt that holds the contract: the first such post by arrival, which has the least (received_at, event_id).';

COMMENT ON COLUMN appstore.client_posts.is_receipt IS 'Whether a receipt was posted; otherwise a signed transaction.';

COMMENT ON COLUMN appstore.client_posts.transaction_id IS 'The posted transaction. For a receipt the purchase that was just made, null where the post names none of this contract.';

COMMENT ON COLUMN appstore.client_posts.conflict IS 'Derived: why the post did not make its user the owner, where an operator has to decide; on the first such post of the user for the contract.';

ALTER TABLE appstore.consents ALTER COLUMN consent_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.consents_consent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.console_logins (
    token_hash bytea NOT NULL,
    person text NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    shows_bodies boolean NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT console_logins_hash_is_sha256 CHECK ((octet_length(token_hash) = 32)),
    CONSTRAINT console_logins_role_known CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text])))
);

COMMENT ON TABLE appstore.console_logins IS 'The links of `appstore-inbox console login` that are not used yet. Each works once, for 60 seconds.';

COMMENT ON COLUMN appstore.console_logins.token_hash IS 'The SHA-256 of the token in the link.';

COMMENT ON COLUMN appstore.console_logins.person IS 'The login that made the link.';

COMMENT ON COLUMN appstore.console_logins.role IS 'What that login may do: viewer or operator.';

COMMENT ON COLUMN appstore.console_logins.shows_bodies IS 'Whether the login is a member of appstore_bodies.';

COMMENT ON COLUMN appstore.console_logins.expires_at IS 'When the link stops working.';

CREATE TABLE appstore.console_sessions (
    session_id bigint NOT NULL,
    session_hash bytea NOT NULL,
    person text NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    shows_bodies boolean NOT NULL,
    began_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ended_by text,
    CONSTRAINT console_sessions_ended_by CHECK (((ended_at IS NULL) = (ended_by IS NULL))),
    CONSTRAINT console_sessions_hash_is_sha256 CHECK ((octet_length(session_hash) = 32)),
    CONSTRAINT console_sessions_role_known CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text])))
);

COMMENT ON TABLE appstore.console_sessions IS 'The sessions of the console, for 30 days after their end.';

COMMENT ON COLUMN appstore.console_sessions.session_id IS 'The number by which appstore.end_console_session ends it.';

COMMENT ON COLUMN appstore.console_sessions.session_hash IS 'The SHA-256 of the secret in the browser''s cookie.';

COMMENT ON COLUMN appstore.console_sessions.person IS 'The login that made the link; the audit names it as the actor.';

COMMENT ON COLUMN appstore.console_sessions.role IS 'viewer or operator. The session ends when the person loses the role.';

COMMENT ON COLUMN appstore.console_sessions.shows_bodies IS 'Whether the person may ask for the body of an event.';

COMMENT ON COLUMN appstore.console_sessions.began_at IS 'When the link was used.';

COMMENT ON COLUMN appstore.console_sessions.expires_at IS 'When it ends by itself: twelve hours after its beginning.';

COMMENT ON COLUMN appstore.console_sessions.ended_at IS 'When it was ended before that.';

COMMENT ON COLUMN appstore.console_sessions.ended_by IS 'Who ended it.';

ALTER TABLE appstore.console_sessions ALTER COLUMN session_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.console_sessions_session_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.consumption_counted (
    environment appstore.environment NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    due_at timestamp with time zone NOT NULL,
    is_missed boolean NOT NULL
);

COMMENT ON TABLE appstore.consumption_counted IS 'The requests of the last two days that are over, so that appstore.apply_consumption_policies counts each missed one once.';

COMMENT ON COLUMN appstore.consumption_counted.due_at IS 'When it was due. The first notification of a request can come last, which makes this earlier; a later one is of another request.';

COMMENT ON COLUMN appstore.consumption_counted.is_missed IS 'Whether it was missed, by the policy of the time.';

CREATE TABLE appstore.consumption_decisions (
    decision_id bigint NOT NULL,
    environment appstore.environment NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    decided_at timestamp with time zone NOT NULL,
    decided_by text NOT NULL,
    origin text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    answer appstore.consumption_answer,
    call_id bigint,
    result text COLLATE pg_catalog."C",
    reason text,
    settled_at timestamp with time zone,
    CONSTRAINT consumption_decisions_answer_where_decided CHECK (((answer IS NULL) = (origin = 'elsewhere'::text))),
    CONSTRAINT consumption_decisions_call_with_consent CHECK (((call_id IS NOT NULL) = COALESCE((answer).consented, false))),
    CONSTRAINT consumption_decisions_origin_is_known CHECK ((origin = ANY (ARRAY['decision'::text, 'policy'::text, 'elsewhere'::text]))),
    CONSTRAINT consumption_decisions_result_is_known CHECK ((result = ANY (ARRAY['answered'::text, 'refused'::text, 'given_up'::text, 'discarded'::text]))),
    CONSTRAINT consumption_decisions_settled_in_the_end CHECK (((result IS NULL) = (settled_at IS NULL)))
);

COMMENT ON TABLE appstore.consumption_decisions IS 'Every decision how to answer a consumption request, and what became of it. The latest one counts; it is about each request that Apple signed until decided_at.';

COMMENT ON COLUMN appstore.consumption_decisions.decision_id IS 'The number of the decision.';

COMMENT ON COLUMN appstore.consumption_decisions.decided_at IS 'When it was decided, or when Apple signed the request, where that is later.';

COMMENT ON COLUMN appstore.consumption_decisions.decided_by IS 'The login, or the API key, that decided.';

COMMENT ON COLUMN appstore.consumption_decisions.origin IS 'decision: appstore.answer_consumption; policy: mode default of consumption_policies; elsewhere: appstore.consumption_answered.';

COMMENT ON COLUMN appstore.consumption_decisions.answer IS 'What was decided. evidence and details are null once the user is forgotten; without consent nothing else is kept.';

COMMENT ON COLUMN appstore.consumption_decisions.call_id IS 'The call of the outbox that sends it; null where nothing is sent.';

COMMENT ON COLUMN appstore.consumption_decisions.result IS 'The state in which the call ended: answered (Apple took it), refused, given_up or discarded; null while it is open or there is none.';

COMMENT ON COLUMN appstore.consumption_decisions.reason IS 'Why it was refused, given up or discarded: Apple''s code, apple_decided, replaced …';

COMMENT ON COLUMN appstore.consumption_decisions.settled_at IS 'When the call ended.';

ALTER TABLE appstore.consumption_decisions ALTER COLUMN decision_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.consumption_decisions_decision_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.consumption_obligations (
    environment appstore.environment NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    original_transaction_id text COLLATE pg_catalog."C",
    asked_at timestamp with time zone,
    due_at timestamp with time zone,
    reason text COLLATE pg_catalog."C",
    is_advanced_commerce boolean DEFAULT false NOT NULL,
    outcome text COLLATE pg_catalog."C",
    outcome_at timestamp with time zone,
    CONSTRAINT consumption_obligations_outcome_whole CHECK ((((outcome IS NULL) = (outcome_at IS NULL)) AND ((outcome IS NULL) OR (asked_at IS NOT NULL)))),
    CONSTRAINT consumption_obligations_request_whole CHECK ((((asked_at IS NULL) = (due_at IS NULL)) AND ((asked_at IS NULL) = (original_transaction_id IS NULL))))
);

COMMENT ON TABLE appstore.consumption_obligations IS 'Apple''s latest request about a transaction and what Apple decided then: a row for each transaction of refund_requests, which is also the lock under which the row is derived and the request decided. A function of the notifications, in whatever order they come.';

COMMENT ON COLUMN appstore.consumption_obligations.asked_at IS 'When Apple signed the first notification of its latest request; null where it asked nothing. Apple repeats a request and wants one answer.';

COMMENT ON COLUMN appstore.consumption_obligations.due_at IS 'Twelve hours after asked_at.';

COMMENT ON COLUMN appstore.consumption_obligations.reason IS 'consumptionRequestReason of that request.';

COMMENT ON COLUMN appstore.consumption_obligations.is_advanced_commerce IS 'See refund_requests.';

COMMENT ON COLUMN appstore.consumption_obligations.outcome IS 'Apple''s latest decision after the request: refunded or declined; null until then.';

COMMENT ON COLUMN appstore.consumption_obligations.outcome_at IS 'When Apple signed that decision.';

CREATE TABLE appstore.orders (
    environment appstore.environment NOT NULL,
    order_no uuid NOT NULL,
    user_id text COLLATE pg_catalog."C",
    product_id text COLLATE pg_catalog."C",
    bundle_id text COLLATE pg_catalog."C",
    ordered_at timestamp with time zone,
    status text DEFAULT 'pending'::text NOT NULL COLLATE pg_catalog."C",
    reason text COLLATE pg_catalog."C",
    period_no uuid,
    transaction_id text COLLATE pg_catalog."C",
    original_transaction_id text COLLATE pg_catalog."C",
    web_order_line_item_id text COLLATE pg_catalog."C",
    paid_product_id text COLLATE pg_catalog."C",
    paid_at timestamp with time zone,
    quantity integer,
    price bigint,
    currency text COLLATE pg_catalog."C",
    CONSTRAINT orders_made_for_a_user CHECK (
CASE
    WHEN (ordered_at IS NULL) THEN ((user_id IS NULL) OR ((order_no = period_no) IS TRUE))
    ELSE (user_id IS NOT NULL)
END),
    CONSTRAINT orders_paid_by_a_period CHECK ((((status = 'pending'::text) = (period_no IS NULL)) AND ((period_no IS NULL) = (transaction_id IS NULL)) AND ((period_no IS NULL) = (paid_at IS NULL)) AND ((period_no IS NULL) = (original_transaction_id IS NULL)))),
    CONSTRAINT orders_reason_is_known CHECK ((reason = 'product_mismatch'::text)),
    CONSTRAINT orders_status_is_known CHECK ((status = ANY (ARRAY['pending'::text, 'paid'::text, 'partly_refunded'::text, 'refunded'::text])))
);

COMMENT ON TABLE appstore.orders IS 'Orders: made by the shop, which gives order_no to the client as appAccountToken; or one for each paid period that no token pays (order_no = period_no).';

COMMENT ON COLUMN appstore.orders.product_id IS 'The product that the shop ordered; null while only Apple knows of the order.';

COMMENT ON COLUMN appstore.orders.bundle_id IS 'The app that the shop ordered for; null for any app.';

COMMENT ON COLUMN appstore.orders.ordered_at IS 'When the shop made the order; null while only Apple knows of it.';

COMMENT ON COLUMN appstore.orders.status IS 'pending, paid, partly_refunded (one of several transactions of its period is refunded) or refunded.';

COMMENT ON COLUMN appstore.orders.reason IS 'Why a transaction that names this order does not pay it.';

COMMENT ON COLUMN appstore.orders.period_no IS 'The period that pays the order; equal to order_no where no token pays.';

COMMENT ON COLUMN appstore.orders.transaction_id IS 'The least transaction of the period that pays the order.';

COMMENT ON COLUMN appstore.orders.paid_product_id IS 'The product that was bought.';

COMMENT ON COLUMN appstore.orders.paid_at IS 'purchaseDate of the transaction that pays it.';

CREATE TABLE appstore.outbox (
    call_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    call_key text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment DEFAULT 'Production'::appstore.environment NOT NULL,
    priority smallint DEFAULT 1 NOT NULL,
    event_id bigint,
    asked_by bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    payload bytea,
    asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deadline_at timestamp with time zone NOT NULL,
    run_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    is_leased boolean DEFAULT false NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_reason text,
    waits_for text,
    repeats integer DEFAULT 0 NOT NULL,
    state text DEFAULT 'open'::text NOT NULL COLLATE pg_catalog."C",
    reason text,
    settled_at timestamp with time zone,
    answer jsonb,
    answer_event_id bigint,
    answer_event_ids bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    fallback_source text COLLATE pg_catalog."C",
    fallback_event_id bigint,
    CONSTRAINT outbox_answer_is_small CHECK ((octet_length((answer)::text) <= 65536)),
    CONSTRAINT outbox_answer_of_the_answered CHECK (((answer_event_id IS NULL) OR (state = 'answered'::text))),
    CONSTRAINT outbox_fallback_is_a_source CHECK ((fallback_source ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    CONSTRAINT outbox_fallback_where_wanted CHECK (((fallback_event_id IS NULL) OR (fallback_source IS NOT NULL))),
    CONSTRAINT outbox_key_is_short CHECK (((octet_length(call_key) >= 1) AND (octet_length(call_key) <= 255))),
    CONSTRAINT outbox_kind_is_a_name CHECK ((kind ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    CONSTRAINT outbox_made_of_something CHECK (((event_id IS NOT NULL) OR (payload IS NOT NULL))),
    CONSTRAINT outbox_payload_within_limits CHECK ((octet_length(payload) <= 4194304)),
    CONSTRAINT outbox_priority_is_a_class CHECK (((priority >= 0) AND (priority <= 4))),
    CONSTRAINT outbox_reason_where_needed CHECK (((reason IS NOT NULL) OR (state = ANY (ARRAY['open'::text, 'answered'::text])))),
    CONSTRAINT outbox_settled_in_the_end CHECK ((((state = 'open'::text) = (settled_at IS NULL)) AND ((state = 'open'::text) OR (NOT is_leased)))),
    CONSTRAINT outbox_state_is_known CHECK ((state = ANY (ARRAY['open'::text, 'answered'::text, 'refused'::text, 'given_up'::text, 'discarded'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.outbox IS 'Calls to make. A worker leases a call: run_at moves to the end of the lease and epoch is counted up. A worker that returns with an older epoch is refused; a worker that dies needs no cleanup, because its call is due again when the lease ends.';

COMMENT ON COLUMN appstore.outbox.call_id IS 'The number of the call.';

COMMENT ON COLUMN appstore.outbox.kind IS 'The service that is called, such as verify_receipt.';

COMMENT ON COLUMN appstore.outbox.call_key IS 'Identifies the request; there is one open call for each key.';

COMMENT ON COLUMN appstore.outbox.environment IS 'Apple''s environment that is asked, or asked first.';

COMMENT ON COLUMN appstore.outbox.priority IS '0 a deadline, 1 a person or program waits, 2 reconciliation, 3 history, 4 import. Lower ones are made first, and spend of the budget first.';

COMMENT ON COLUMN appstore.outbox.event_id IS 'The event whose body the call sends.';

COMMENT ON COLUMN appstore.outbox.asked_by IS 'The events that requested the call, about a hundred at most; the body of any of them can be sent.';

COMMENT ON COLUMN appstore.outbox.payload IS 'The data to send where it is not an event''s body; never a secret.';

COMMENT ON COLUMN appstore.outbox.asked_at IS 'When it was written.';

COMMENT ON COLUMN appstore.outbox.deadline_at IS 'When an open call is given up.';

COMMENT ON COLUMN appstore.outbox.run_at IS 'When it is due: at once, at the end of a lease or of its back-off.';

COMMENT ON COLUMN appstore.outbox.is_leased IS 'Whether a worker makes the call until run_at.';

COMMENT ON COLUMN appstore.outbox.epoch IS 'Number of leases so far.';

COMMENT ON COLUMN appstore.outbox.attempts IS 'The attempts that count: not those that waited for the budget, for the end of a 429, or for a key.';

COMMENT ON COLUMN appstore.outbox.last_reason IS 'Why the latest attempt that counts brought no answer.';

COMMENT ON COLUMN appstore.outbox.waits_for IS 'Why it was postponed last: last_reason, or what the call itself has no part in, such as api_key.';

COMMENT ON COLUMN appstore.outbox.repeats IS 'How often in a row an attempt ended with last_reason.';

COMMENT ON COLUMN appstore.outbox.state IS 'open; answered; refused (a later answer would be the same); given_up (deadline passed); discarded.';

COMMENT ON COLUMN appstore.outbox.reason IS 'Why it was refused, given up or discarded.';

COMMENT ON COLUMN appstore.outbox.answer IS 'What of the answer is no event, such as the status of an order number, and how many events there are; never a JWS. Of an open call: its pages so far.';

COMMENT ON COLUMN appstore.outbox.answer_event_id IS 'The event that the answer became; the first one of an answer of several bodies.';

COMMENT ON COLUMN appstore.outbox.answer_event_ids IS 'The events that the answer became, in its order, at most 1,000. Of an open call: those of its pages so far.';

COMMENT ON COLUMN appstore.outbox.fallback_source IS 'The source under which the event''s body is stored in the inbox again when there is no answer.';

COMMENT ON COLUMN appstore.outbox.fallback_event_id IS 'The event under which the body was stored again.';

CREATE VIEW appstore.consumption_requests AS
 SELECT c.environment,
    c.transaction_id,
        CASE
            WHEN ((NOT (d.answer).consented) OR (d.reason = 'consent_withdrawn'::text)) THEN 'not_consented'::text
            WHEN (d.result = 'answered'::text) THEN 'answered'::text
            WHEN ((d.decision_id IS NOT NULL) AND (d.result IS NULL)) THEN
            CASE
                WHEN call.is_tried THEN 'sending'::text
                ELSE 'decided'::text
            END
            WHEN ((c.outcome IS NOT NULL) OR (c.due_at <= statement_timestamp())) THEN 'missed'::text
            WHEN (d.result = 'refused'::text) THEN 'refused'::text
            ELSE 'waiting'::text
        END AS state,
    c.asked_at,
    c.due_at,
    c.reason,
    c.original_transaction_id,
    t.bundle_id,
    t.product_id,
    COALESCE(o.user_id, m.user_id) AS user_id,
    t.order_no,
    c.is_advanced_commerce,
    d.decided_at,
    d.decided_by,
    (d.answer).consented AS consented,
    (d.answer).delivery AS delivery,
    (d.answer).percentage AS percentage,
    (d.answer).preference AS preference,
        CASE
            WHEN (d.result = 'answered'::text) THEN d.settled_at
            ELSE NULL::timestamp with time zone
        END AS answered_at,
        CASE
            WHEN (d.result = 'refused'::text) THEN d.reason
            ELSE NULL::text
        END AS refused_with,
    c.outcome,
    c.outcome_at,
        CASE
            WHEN (c.outcome = 'refunded'::text) THEN t.revocation_percentage
            ELSE NULL::integer
        END AS refunded_percentage,
    COALESCE(((policy.mode = 'backend'::text) OR ((policy.mode = 'default'::text) AND (EXISTS ( SELECT
           FROM appstore.consents k
          WHERE ((k.user_id = COALESCE(o.user_id, m.user_id)) AND (k.withdrawn_at IS NULL)))))), false) AS is_expected
   FROM ((((((appstore.consumption_obligations c
     LEFT JOIN LATERAL ( SELECT t_1.bundle_id,
            t_1.product_id,
            t_1.order_no,
            t_1.revocation_percentage
           FROM appstore.transactions t_1
          WHERE ((t_1.transaction_id = c.transaction_id) AND (t_1.environment = c.environment))
         OFFSET 0) t ON (true))
     LEFT JOIN LATERAL ( SELECT o_1.user_id
           FROM appstore.orders o_1
          WHERE ((o_1.order_no = t.order_no) AND (o_1.environment = c.environment))
         OFFSET 0) o ON (true))
     LEFT JOIN LATERAL ( SELECT m_1.user_id
           FROM appstore.contracts m_1
          WHERE ((m_1.original_transaction_id = c.original_transaction_id) AND (m_1.environment = c.environment))
         OFFSET 0) m ON (true))
     LEFT JOIN LATERAL ( SELECT d_1.decision_id,
            d_1.environment,
            d_1.transaction_id,
            d_1.decided_at,
            d_1.decided_by,
            d_1.origin,
            d_1.user_id,
            d_1.answer,
            d_1.call_id,
            d_1.result,
            d_1.reason,
            d_1.settled_at
           FROM appstore.consumption_decisions d_1
          WHERE ((d_1.transaction_id = c.transaction_id) AND (d_1.environment = c.environment) AND (d_1.decided_at >= c.asked_at))
          ORDER BY d_1.decided_at DESC, d_1.decision_id DESC
         LIMIT 1) d ON (true))
     LEFT JOIN LATERAL ( SELECT (o_1.epoch > 0) AS is_tried
           FROM appstore.outbox o_1
          WHERE (o_1.call_id = d.call_id)
         OFFSET 0) call ON (true))
     LEFT JOIN LATERAL ( SELECT p.mode
           FROM appstore.consumption_policies p
          WHERE ((p.bundle_id = t.bundle_id) AND ((p.product_id = t.product_id) OR (p.product_id IS NULL)))
          ORDER BY (p.product_id IS NULL)
         LIMIT 1) policy ON (true))
  WHERE (c.asked_at IS NOT NULL);

COMMENT ON VIEW appstore.consumption_requests IS 'Apple''s latest request about each purchase whose refund it considers or considered, what was decided to answer, and what Apple did. Decide those in state waiting until due_at: appstore.answer_consumption.';

COMMENT ON COLUMN appstore.consumption_requests.state IS 'waiting: nothing is decided. decided: the answer waits for a worker. sending: a worker has tried at least once. answered: Apple took it, or another program answered. refused: Apple refused it, and a correct answer can follow. missed: Apple decided or the time ended without an answer. not_consented: it was decided to send nothing, or the user withdrew the consent.';

COMMENT ON COLUMN appstore.consumption_requests.asked_at IS 'The first notification of the request; Apple repeats it and wants one answer.';

COMMENT ON COLUMN appstore.consumption_requests.due_at IS 'Twelve hours after asked_at.';

COMMENT ON COLUMN appstore.consumption_requests.reason IS 'Apple''s consumptionRequestReason.';

COMMENT ON COLUMN appstore.consumption_requests.user_id IS 'The user of the order, else the owner of the contract.';

COMMENT ON COLUMN appstore.consumption_requests.is_advanced_commerce IS 'Whether the answer is one of version 1: see refund_requests.';

COMMENT ON COLUMN appstore.consumption_requests.decided_at IS 'When the latest decision about it was made; null while there is none.';

COMMENT ON COLUMN appstore.consumption_requests.decided_by IS 'The login, or the API key, that decided.';

COMMENT ON COLUMN appstore.consumption_requests.consented IS 'Whether the user consented, as the decision says.';

COMMENT ON COLUMN appstore.consumption_requests.delivery IS 'Apple''s deliveryStatus in the answer.';

COMMENT ON COLUMN appstore.consumption_requests.percentage IS 'Apple''s consumptionPercentage in the answer, in thousandths of a percent.';

COMMENT ON COLUMN appstore.consumption_requests.preference IS 'Apple''s refundPreference in the answer; null where there is none.';

COMMENT ON COLUMN appstore.consumption_requests.answered_at IS 'When Apple took the answer, or when it was recorded that another program answered.';

COMMENT ON COLUMN appstore.consumption_requests.refused_with IS 'Why Apple refused the latest answer: such as apple_4000209.';

COMMENT ON COLUMN appstore.consumption_requests.outcome IS 'Apple''s decision: refunded or declined; null until it is known.';

COMMENT ON COLUMN appstore.consumption_requests.outcome_at IS 'When Apple signed that decision.';

COMMENT ON COLUMN appstore.consumption_requests.refunded_percentage IS 'The refunded part of the price in thousandths of a percent, where Apple says it.';

COMMENT ON COLUMN appstore.consumption_requests.is_expected IS 'Whether an answer is expected by consumption_policies: from the backend, or the default one with the user''s consent.';

CREATE TABLE appstore.customer_revisions (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    revision text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.customer_revisions IS 'Until where the transaction history of a customer was read, under each id that was asked for or found: a later import asks for what is new only.';

COMMENT ON COLUMN appstore.customer_revisions.original_transaction_id IS 'An originalTransactionId, or the id that a file names.';

COMMENT ON COLUMN appstore.customer_revisions.revision IS 'Apple''s revision of the last page.';

CREATE TABLE appstore.delivery_attempts (
    attempt_id bigint NOT NULL,
    endpoint text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    subject text COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    is_redelivery boolean NOT NULL,
    result text NOT NULL COLLATE pg_catalog."C",
    status integer,
    milliseconds integer,
    answer_bytes bigint,
    answer text,
    error text,
    CONSTRAINT delivery_attempts_answer_is_short CHECK ((char_length(answer) <= 4096)),
    CONSTRAINT delivery_attempts_result_is_known CHECK ((result = ANY (ARRAY['delivered'::text, 'failed'::text, 'refused'::text, 'later'::text, 'probe_failed'::text, 'given_up'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='5000');

COMMENT ON TABLE appstore.delivery_attempts IS 'What became of each attempt to deliver an entry. Never the request. Kept as retention.deliveries and retention.failed_deliveries say.';

COMMENT ON COLUMN appstore.delivery_attempts.attempt_id IS 'The number of the attempt.';

COMMENT ON COLUMN appstore.delivery_attempts.endpoint IS 'The name of the endpoint.';

COMMENT ON COLUMN appstore.delivery_attempts."position" IS 'The entry.';

COMMENT ON COLUMN appstore.delivery_attempts.subject IS 'The subject of the entry.';

COMMENT ON COLUMN appstore.delivery_attempts.at IS 'When it was reported.';

COMMENT ON COLUMN appstore.delivery_attempts.is_redelivery IS 'Whether it is part of a redelivery.';

COMMENT ON COLUMN appstore.delivery_attempts.result IS 'delivered; failed; refused (by us: address, TLS, configuration); later (the receiver said when to come again); probe_failed (the breaker is open: counts no attempt); given_up.';

COMMENT ON COLUMN appstore.delivery_attempts.status IS 'The HTTP status; null where there was no answer.';

COMMENT ON COLUMN appstore.delivery_attempts.milliseconds IS 'How long it took.';

COMMENT ON COLUMN appstore.delivery_attempts.answer_bytes IS 'Length of the answer, as far as it was read.';

COMMENT ON COLUMN appstore.delivery_attempts.answer IS 'The begin of the answer, of failures and tests only. appstore.forget deletes it where the entry is about the user.';

COMMENT ON COLUMN appstore.delivery_attempts.error IS 'What failed.';

CREATE VIEW appstore.deliveries AS
 SELECT a.attempt_id,
    a.endpoint,
    a."position",
    f.id,
    f.type,
    a.subject,
    a.at,
    a.is_redelivery,
    a.result,
    a.status,
    a.milliseconds,
    a.answer_bytes,
    a.answer,
    a.error
   FROM (appstore.delivery_attempts a
     LEFT JOIN LATERAL ( SELECT f_1.id,
            f_1.type
           FROM appstore.feed f_1
          WHERE (f_1."position" = a."position")
         OFFSET 0) f ON (true));

COMMENT ON VIEW appstore.deliveries IS 'The attempts of delivery_attempts, with what they were about.';

COMMENT ON COLUMN appstore.deliveries.attempt_id IS 'The number of the attempt.';

COMMENT ON COLUMN appstore.deliveries.endpoint IS 'The name of the endpoint.';

COMMENT ON COLUMN appstore.deliveries."position" IS 'The entry.';

COMMENT ON COLUMN appstore.deliveries.id IS 'feed.id: the header webhook-id. Null when the entry has aged.';

COMMENT ON COLUMN appstore.deliveries.type IS 'feed.type.';

COMMENT ON COLUMN appstore.deliveries.subject IS 'feed.subject.';

COMMENT ON COLUMN appstore.deliveries.at IS 'When it was reported.';

COMMENT ON COLUMN appstore.deliveries.is_redelivery IS 'Whether it is part of a redelivery.';

COMMENT ON COLUMN appstore.deliveries.result IS 'delivered, failed, refused, later, probe_failed or given_up.';

COMMENT ON COLUMN appstore.deliveries.status IS 'The HTTP status; null where there was no answer.';

COMMENT ON COLUMN appstore.deliveries.milliseconds IS 'How long it took.';

COMMENT ON COLUMN appstore.deliveries.answer_bytes IS 'Length of the answer, as far as it was read.';

COMMENT ON COLUMN appstore.deliveries.answer IS 'The begin of the answer, of failures and tests only.';

COMMENT ON COLUMN appstore.deliveries.error IS 'What failed.';

ALTER TABLE appstore.delivery_attempts ALTER COLUMN attempt_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.delivery_attempts_attempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.effect_log (
    effect_id uuid NOT NULL,
    environment appstore.environment NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    event_id bigint NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    original_transaction_id text COLLATE pg_catalog."C",
    transaction_id text COLLATE pg_catalog."C",
    product_id text COLLATE pg_catalog."C",
    order_no uuid,
    user_id text COLLATE pg_catalog."C",
    vouched_bundle_id text COLLATE pg_catalog."C",
    grace_period_expires_date timestamp with time zone
);

COMMENT ON TABLE appstore.effect_log IS 'Each thing that happened to a customer, once. Append-only: environment, kind and subject are the identity, other columns are as of the commit. Read appstore.effects, which has the order number of today.';

COMMENT ON COLUMN appstore.effect_log.effect_id IS 'UUIDv5 of environment, kind and subject: the same in every installation and after any replay.';

COMMENT ON COLUMN appstore.effect_log.kind IS 'What happened: granted, refunded, revoked …';

COMMENT ON COLUMN appstore.effect_log.subject IS 'The identity of what happened: a paid period, a transaction, a notificationUUID.';

COMMENT ON COLUMN appstore.effect_log.occurred_at IS 'When Apple says that it happened.';

COMMENT ON COLUMN appstore.effect_log.recorded_at IS 'When it was stored, shortly before the commit.';

COMMENT ON COLUMN appstore.effect_log.order_no IS 'The order of the transaction as seen at the commit. A purchase that arrives later can give the transaction another order.';

COMMENT ON COLUMN appstore.effect_log.user_id IS 'The owner at the commit; a later owner does not change it.';

COMMENT ON COLUMN appstore.effect_log.vouched_bundle_id IS 'The app whose shared secret alone authenticates the effect (Notifications V1); null where Apple''s signature or answer does.';

COMMENT ON COLUMN appstore.effect_log.grace_period_expires_date IS 'Of the start of a grace period, or of a found status that tells of one: its end, which the register of the renewal keeps for the latest only.';

CREATE VIEW appstore.effects AS
 SELECT e.effect_id,
    e.environment,
    e.kind,
    e.subject,
    e.event_id,
    e.occurred_at,
    e.recorded_at,
    e.original_transaction_id,
    e.transaction_id,
    e.product_id,
    t.order_no,
    e.user_id,
    e.vouched_bundle_id
   FROM (appstore.effect_log e
     LEFT JOIN LATERAL ( SELECT t_1.order_no
           FROM appstore.transactions t_1
          WHERE ((t_1.transaction_id = e.transaction_id) AND (t_1.environment = e.environment))
         OFFSET 0) t ON (true))
  WHERE ((e.vouched_bundle_id IS NULL) OR (NOT (EXISTS ( SELECT
           FROM appstore.transactions c
          WHERE ((c.original_transaction_id = e.original_transaction_id) AND (c.environment = e.environment) AND (c.bundle_id <> e.vouched_bundle_id))
         OFFSET 0))));

COMMENT ON VIEW appstore.effects IS 'Each thing that happened to a customer, once: appstore.effect_log with the order of its transaction as it is now, without effects that only another app''s shared secret authenticates. Indexes find effects by effect_id and by original_transaction_id; new ones are told in appstore.feed.';

COMMENT ON COLUMN appstore.effects.kind IS 'What happened: granted, refunded, revoked …';

COMMENT ON COLUMN appstore.effects.order_no IS 'The order of the transaction today. A refund can come before its purchase: then it is the order of the purchase from its arrival on.';

COMMENT ON COLUMN appstore.effects.user_id IS 'The owner when it was stored; a later owner does not change it.';

CREATE TABLE appstore.open_deliveries (
    endpoint text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    subject text COLLATE pg_catalog."C",
    run_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    first_failed_at timestamp with time zone,
    last_status integer,
    last_error text,
    given_up_at timestamp with time zone,
    CONSTRAINT open_deliveries_failed_first CHECK (((attempts = 0) OR (first_failed_at IS NOT NULL)))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');

COMMENT ON TABLE appstore.open_deliveries IS 'The exceptions: entries that an endpoint did not take, that wait for an earlier one of their subject, or that were given up. A row goes when its entry is delivered.';

COMMENT ON COLUMN appstore.open_deliveries.endpoint IS 'The name of the endpoint.';

COMMENT ON COLUMN appstore.open_deliveries."position" IS 'The entry.';

COMMENT ON COLUMN appstore.open_deliveries.subject IS 'The subject of the entry.';

COMMENT ON COLUMN appstore.open_deliveries.run_at IS 'When it is due. infinity: when an earlier one that waits for the same subject is delivered. Of one that was given up, as it was.';

COMMENT ON COLUMN appstore.open_deliveries.attempts IS 'How many attempts count. None does where the receiver only asked to come later.';

COMMENT ON COLUMN appstore.open_deliveries.first_failed_at IS 'When the endpoint first did not take it; null: it only waits. It holds later entries of its subject for ten minutes. Of a redelivery that failed, ten minutes earlier, so that it holds none.';

COMMENT ON COLUMN appstore.open_deliveries.last_status IS 'The HTTP status of the last attempt; null where there was no answer.';

COMMENT ON COLUMN appstore.open_deliveries.last_error IS 'The error of the last attempt; aged where the entry is gone.';

COMMENT ON COLUMN appstore.open_deliveries.given_up_at IS 'When it was given up; redeliver takes it up again.';

CREATE TABLE appstore.redeliveries (
    redelivery_id bigint NOT NULL,
    endpoint text NOT NULL COLLATE pg_catalog."C",
    after bigint NOT NULL,
    upto bigint NOT NULL,
    types text[] COLLATE pg_catalog."C",
    state text DEFAULT 'open'::text NOT NULL COLLATE pg_catalog."C",
    asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text DEFAULT appstore.actor() NOT NULL,
    note text,
    sent bigint DEFAULT 0 NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT redeliveries_ended_in_the_end CHECK (((state = 'open'::text) = (ended_at IS NULL))),
    CONSTRAINT redeliveries_state_is_known CHECK ((state = ANY (ARRAY['open'::text, 'done'::text, 'stopped'::text, 'aged'::text])))
);

COMMENT ON TABLE appstore.redeliveries IS 'Ranges of the feed that an endpoint gets again, beside what is new, one after the other.';

COMMENT ON COLUMN appstore.redeliveries.redelivery_id IS 'The number of the redelivery.';

COMMENT ON COLUMN appstore.redeliveries.endpoint IS 'The name of the endpoint.';

COMMENT ON COLUMN appstore.redeliveries.after IS 'Its cursor: what follows this position is sent next.';

COMMENT ON COLUMN appstore.redeliveries.upto IS 'The last position.';

COMMENT ON COLUMN appstore.redeliveries.types IS 'Only these types of those that the endpoint gets; null: all.';

COMMENT ON COLUMN appstore.redeliveries.state IS 'open; done; stopped (by an operator); aged (what was next is gone).';

COMMENT ON COLUMN appstore.redeliveries.asked_at IS 'When it was asked for.';

COMMENT ON COLUMN appstore.redeliveries.actor IS 'The login that asked for it.';

COMMENT ON COLUMN appstore.redeliveries.note IS 'Free text of the actor, as in audit_log.';

COMMENT ON COLUMN appstore.redeliveries.sent IS 'How many attempts it made.';

COMMENT ON COLUMN appstore.redeliveries.ended_at IS 'When it was no longer open.';

CREATE VIEW appstore.endpoint_status AS
 SELECT e.name,
    e.url,
    e.format,
    e.state,
    e.why,
    e.state_since,
    e."position",
    (h."position" - e."position") AS lag,
    (statement_timestamp() - COALESCE(( SELECT f.told_at
           FROM (appstore.open_deliveries d
             CROSS JOIN LATERAL ( SELECT f_1.told_at
                   FROM appstore.feed f_1
                  WHERE (f_1."position" = d."position")
                 OFFSET 0) f)
          WHERE ((d.endpoint = e.name) AND (d.given_up_at IS NULL))
          ORDER BY d."position"
         LIMIT 1), ( SELECT f.told_at
           FROM appstore.feed f
          WHERE (f."position" = (e."position" + 1))))) AS oldest_undelivered,
    ( SELECT count(*) AS count
           FROM ( SELECT
                   FROM appstore.open_deliveries d
                  WHERE ((d.endpoint = e.name) AND (d.given_up_at IS NULL))
                 LIMIT 10000) one) AS open,
    ( SELECT count(*) AS count
           FROM ( SELECT
                   FROM appstore.open_deliveries d
                  WHERE ((d.endpoint = e.name) AND (d.given_up_at IS NOT NULL))
                 LIMIT 10000) one) AS given_up,
    ( SELECT count(*) AS count
           FROM appstore.redeliveries r
          WHERE ((r.endpoint = e.name) AND (r.state = 'open'::text))) AS redeliveries,
        CASE
            WHEN (e.open_until IS NULL) THEN 'closed'::text
            ELSE 'open'::text
        END AS breaker,
    e.open_until AS next_probe_at,
    e.failures,
    e.failing_since,
    e.succeeded_at AS last_success_at,
    e.last_error,
    COALESCE((e.leased_until > statement_timestamp()), false) AS is_leased
   FROM (appstore.endpoints e
     CROSS JOIN appstore.feed_head h);

COMMENT ON VIEW appstore.endpoint_status IS 'How each endpoint does. Counts stop at 10,000, which then means as many or more.';

COMMENT ON COLUMN appstore.endpoint_status.name IS 'The name of the endpoint.';

COMMENT ON COLUMN appstore.endpoint_status.url IS 'Where to POST.';

COMMENT ON COLUMN appstore.endpoint_status.format IS 'event or raw.';

COMMENT ON COLUMN appstore.endpoint_status.state IS 'enabled, paused, disabled or behind.';

COMMENT ON COLUMN appstore.endpoint_status.why IS 'Why it is not enabled.';

COMMENT ON COLUMN appstore.endpoint_status.state_since IS 'Since when it has this state.';

COMMENT ON COLUMN appstore.endpoint_status."position" IS 'Up to where the feed was read for it.';

COMMENT ON COLUMN appstore.endpoint_status.lag IS 'How many entries follow, wanted or not.';

COMMENT ON COLUMN appstore.endpoint_status.oldest_undelivered IS 'Since when the oldest entry has waited that it has not got; null: none waits.';

COMMENT ON COLUMN appstore.endpoint_status.open IS 'Entries that failed or wait for one that did.';

COMMENT ON COLUMN appstore.endpoint_status.given_up IS 'Entries that were given up.';

COMMENT ON COLUMN appstore.endpoint_status.redeliveries IS 'Redeliveries that are open.';

COMMENT ON COLUMN appstore.endpoint_status.breaker IS 'closed; or open: only a probe is sent.';

COMMENT ON COLUMN appstore.endpoint_status.next_probe_at IS 'When the next probe is sent.';

COMMENT ON COLUMN appstore.endpoint_status.failures IS 'How many attempts in a row failed.';

COMMENT ON COLUMN appstore.endpoint_status.failing_since IS 'Since when no attempt succeeded; null while it works.';

COMMENT ON COLUMN appstore.endpoint_status.last_success_at IS 'When an attempt succeeded last.';

COMMENT ON COLUMN appstore.endpoint_status.last_error IS 'The error of the attempt that failed last.';

COMMENT ON COLUMN appstore.endpoint_status.is_leased IS 'Whether a worker serves it.';

CREATE TABLE appstore.products (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    entitlement text NOT NULL COLLATE pg_catalog."C",
    days integer,
    duration text COLLATE pg_catalog."C",
    CONSTRAINT products_days_positive CHECK ((days > 0)),
    CONSTRAINT products_days_within_a_century CHECK ((days <= 36500)),
    CONSTRAINT products_duration_is_a_period CHECK ((duration ~ '^P[1-9][0-9]{0,2}[DWMY]$'::text))
);

COMMENT ON TABLE appstore.products IS 'The entitlements of an app''s product: rows that the operator writes. A product that is not listed gives an entitlement of its own name. Apps share an entitlement where their rows name the same one.';

COMMENT ON COLUMN appstore.products.bundle_id IS 'The app that sells the product; another app''s product of the same id is another product.';

COMMENT ON COLUMN appstore.products.entitlement IS 'A name of yours, which several products may share.';

COMMENT ON COLUMN appstore.products.days IS 'How long a non-renewing product lasts from its purchase; null for ever.';

COMMENT ON COLUMN appstore.products.duration IS 'How long a period of an auto-renewable subscription lasts, by ISO 8601 (P1W, P1M, P1Y), for reports; null where the periods themselves say it. The greatest one of the product''s rows counts.';

CREATE VIEW appstore.entitlement_terms AS
 SELECT m.environment,
    m.user_id,
    m.product_id,
    COALESCE(p.entitlement, m.product_id) AS entitlement,
    term.until,
        CASE
            WHEN (m.status = 4) THEN m.current_period_end
            ELSE NULL::timestamp with time zone
        END AS grace_from,
        CASE
            WHEN (c.transaction_id IS NULL) THEN 'purchase_unknown'::text
            WHEN (term.until IS NULL) THEN 'duration_unknown'::text
            WHEN (((m.revoked_at IS NOT NULL) AND ((m.current_period_end IS NULL) OR (term.until < m.current_period_end))) OR ((m.status = 5) AND (m.renewal_signed_date >= c.first_signed_date))) THEN
            CASE
                WHEN c.is_upgraded THEN 'upgraded'::text
                WHEN c.is_purchased THEN 'refunded'::text
                ELSE 'revoked'::text
            END
            WHEN ((m.status = ANY (ARRAY[3, 4])) AND (GREATEST(m.renewal_signed_date, l.stated_at) >= c.first_signed_date)) THEN 'billing_retry'::text
            ELSE 'expired'::text
        END AS why_ended,
        CASE
            WHEN (c.is_subscription IS NOT FALSE) THEN m.will_renew
            ELSE false
        END AS will_renew,
    m.original_transaction_id,
    m.bundle_id
   FROM ((((appstore.contracts m
     LEFT JOIN appstore.transactions c ON (((c.transaction_id = m.current_transaction_id) AND (c.environment = m.environment))))
     LEFT JOIN appstore.products p ON (((p.product_id = m.product_id) AND (p.bundle_id = m.bundle_id))))
     LEFT JOIN LATERAL ( SELECT r.stated_at
           FROM appstore.v1_renewals r
          WHERE ((r.original_transaction_id = m.original_transaction_id) AND (r.environment = m.environment) AND (r.bundle_id = m.bundle_id))
         OFFSET 0) l ON (true))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN ((m.access_until IS NOT NULL) OR (c.product_type IS DISTINCT FROM 'Non-Renewing Subscription'::text)) THEN m.access_until
                    WHEN (p.product_id IS NOT NULL) THEN COALESCE((m.current_period_start + ((p.days)::double precision * '24:00:00'::interval)), 'infinity'::timestamp with time zone)
                    ELSE NULL::timestamp with time zone
                END AS until) term)
  WHERE ((m.product_id IS NOT NULL) AND (c.confers_access OR (c.transaction_id IS NULL)));

COMMENT ON VIEW appstore.entitlement_terms IS 'The entitlements of each contract, and until when, with or without an owner: a row for each entitlement that appstore.products lists for its product, else one of the product''s name. appstore.entitlements shows which are active now.';

COMMENT ON COLUMN appstore.entitlement_terms.entitlement IS 'The name in appstore.products, else the product''s.';

COMMENT ON COLUMN appstore.entitlement_terms.until IS 'infinity where it does not end; null while the purchase or its duration is unknown.';

COMMENT ON COLUMN appstore.entitlement_terms.grace_from IS 'From when access is a grace period.';

COMMENT ON COLUMN appstore.entitlement_terms.why_ended IS 'The reason once it has ended: expired, billing_retry, refunded, revoked (of a family member), upgraded, duration_unknown (a non-renewing product that appstore.products does not list), purchase_unknown.';

COMMENT ON COLUMN appstore.entitlement_terms.will_renew IS 'Whether the subscription renews; null while it is unknown.';

CREATE VIEW appstore.entitlements AS
 SELECT entitlements_at.environment,
    entitlements_at.user_id,
    entitlements_at.product_id,
    entitlements_at.entitlement,
    entitlements_at.active,
    entitlements_at.until,
    entitlements_at.why,
    entitlements_at.in_grace,
    entitlements_at.will_renew,
    entitlements_at.original_transaction_id,
    entitlements_at.bundle_id
   FROM appstore.entitlements_at(now()) entitlements_at(environment, user_id, product_id, entitlement, active, until, why, in_grace, will_renew, original_transaction_id, bundle_id);

COMMENT ON VIEW appstore.entitlements IS 'The entitlements of each user, active and ended: a row for each contract and entitlement. Two apps that give an entitlement of one name have a row each.';

COMMENT ON COLUMN appstore.entitlements.entitlement IS 'The name in appstore.products, else the product''s.';

COMMENT ON COLUMN appstore.entitlements.active IS 'Whether the user may use it now.';

COMMENT ON COLUMN appstore.entitlements.until IS 'infinity where it does not end; null while the purchase or its duration is unknown.';

COMMENT ON COLUMN appstore.entitlements.why IS 'active, grace_period, or how it ended: see entitlement_terms.why_ended.';

COMMENT ON COLUMN appstore.entitlements.in_grace IS 'Whether it is active although the last charge failed.';

COMMENT ON COLUMN appstore.entitlements.will_renew IS 'Whether the subscription renews; null while it is unknown.';

CREATE TABLE appstore.event_contracts (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    event_id bigint NOT NULL
);

COMMENT ON TABLE appstore.event_contracts IS 'The contracts of events that are about more than one, such as receipts; an outcome has room for one. Consumables are left out.';

CREATE VIEW appstore.failed AS
 SELECT o.event_id,
    o.source,
    o.received_at,
    o.settled_at,
    o.reason,
    o.last_error,
    o.attempts,
    o.run,
    o.notification_type,
    o.subtype,
    o.notification_uuid,
    o.environment,
    o.bundle_id,
    o.transaction_id,
    o.original_transaction_id
   FROM appstore.outcomes o
  WHERE (o.result = 'failed'::appstore.result);

COMMENT ON VIEW appstore.failed IS 'The dead letters: events that failed at each attempt. appstore.requeue_event runs one again, appstore.discard_event discards it.';

COMMENT ON COLUMN appstore.failed.reason IS 'A code: merge_failed, timed_out, killed_worker, lost_connection, signed_in_the_future.';

CREATE TABLE appstore.feed_consumers (
    name text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    moved_at timestamp with time zone NOT NULL,
    CONSTRAINT feed_consumers_name_is_a_name CHECK ((name ~ '^[a-z][a-z0-9_.-]{0,62}$'::text))
)
WITH (fillfactor='50');

COMMENT ON TABLE appstore.feed_consumers IS 'Named readers of the feed and how far each is. The feed is kept for one that is behind, up to twice as long as retention.feed.';

COMMENT ON COLUMN appstore.feed_consumers.name IS 'A name of yours: lower-case letters, digits, and . _ -';

COMMENT ON COLUMN appstore.feed_consumers."position" IS 'The last position that it has taken.';

COMMENT ON COLUMN appstore.feed_consumers.moved_at IS 'When it took something last.';

CREATE TABLE appstore.feed_generations (
    generation integer NOT NULL,
    from_position bigint NOT NULL,
    began_at timestamp with time zone NOT NULL,
    is_complete boolean NOT NULL
);

COMMENT ON TABLE appstore.feed_generations IS 'Where each generation of the feed begins. Entries before from_position mean the same in the generation before: a reader of that one goes on from there.';

COMMENT ON COLUMN appstore.feed_generations.generation IS 'feed_head.generation at that time.';

COMMENT ON COLUMN appstore.feed_generations.from_position IS 'Its first position.';

COMMENT ON COLUMN appstore.feed_generations.began_at IS 'When it began.';

COMMENT ON COLUMN appstore.feed_generations.is_complete IS 'Whether all that changed since the generation before is told; false where the feed was off in between.';

CREATE TABLE appstore.feed_switch (
    is_only boolean DEFAULT true NOT NULL,
    is_on boolean DEFAULT false NOT NULL,
    wants_raw boolean DEFAULT false NOT NULL,
    CONSTRAINT feed_switch_is_one_row CHECK (is_only)
);

COMMENT ON TABLE appstore.feed_switch IS 'One row: whether changes are told. A transaction that changes the ledger reads it and so holds a lock on the table until its commit. appstore.enable_feed and appstore.disable_feed wait for that.';

COMMENT ON COLUMN appstore.feed_switch.is_only IS 'Always true: the key of the only row.';

COMMENT ON COLUMN appstore.feed_switch.is_on IS 'Whether changes are told. Written by appstore.enable_feed and appstore.disable_feed.';

COMMENT ON COLUMN appstore.feed_switch.wants_raw IS 'Whether an endpoint wants notifications themselves. Written by appstore.make_endpoint, change_endpoint and remove_endpoint.';

CREATE TABLE appstore.fence (
    is_only boolean DEFAULT true NOT NULL,
    contract integer NOT NULL,
    CONSTRAINT fence_is_one_row CHECK (is_only)
);

COMMENT ON TABLE appstore.fence IS 'One row: the contract between the schema and the programs that use it. Each claim of a worker compares it with its own, so that a worker of another release claims nothing.';

COMMENT ON COLUMN appstore.fence.is_only IS 'Always true: the key of the only row.';

COMMENT ON COLUMN appstore.fence.contract IS 'The version of the last breaking step.';

CREATE TABLE appstore.fx_rates (
    currency text NOT NULL COLLATE pg_catalog."C",
    day date NOT NULL,
    per_unit numeric NOT NULL,
    CONSTRAINT fx_rates_per_unit_positive CHECK ((per_unit > (0)::numeric))
);

COMMENT ON TABLE appstore.fx_rates IS 'Exchange rates for reports: rows that the operator writes. A rate holds until the next one of its currency; US dollars need none. Without a rate a figure in US dollars is null.';

COMMENT ON COLUMN appstore.fx_rates.day IS 'The day (UTC) from which the rate holds.';

COMMENT ON COLUMN appstore.fx_rates.per_unit IS 'US dollars for one unit of the currency.';

CREATE TABLE appstore.history_counts (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment NOT NULL,
    mode text NOT NULL COLLATE pg_catalog."C",
    class text NOT NULL COLLATE pg_catalog."C",
    records bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

COMMENT ON TABLE appstore.history_counts IS 'How many records got each class, each counted once when its class was certain; also those that have aged.';

COMMENT ON COLUMN appstore.history_counts.mode IS 'As that of history_records.';

COMMENT ON COLUMN appstore.history_counts.class IS 'As that of history_records.';

COMMENT ON COLUMN appstore.history_counts.records IS 'How many.';

CREATE TABLE appstore.history_windows (
    window_id bigint NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    starts_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    made_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    state text DEFAULT 'open'::text NOT NULL COLLATE pg_catalog."C",
    run_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    is_leased boolean DEFAULT false NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    token text,
    is_read boolean DEFAULT false NOT NULL,
    pages integer DEFAULT 0 NOT NULL,
    listed integer DEFAULT 0 NOT NULL,
    stored integer DEFAULT 0 NOT NULL,
    restarts integer DEFAULT 0 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    last_error text,
    compared_to timestamp with time zone,
    compared_event bigint,
    first_signed_at timestamp with time zone,
    last_signed_at timestamp with time zone,
    first_attempt_at timestamp with time zone,
    last_attempt_at timestamp with time zone,
    closed_at timestamp with time zone,
    CONSTRAINT history_windows_closed_in_the_end CHECK ((((state = 'open'::text) = (closed_at IS NULL)) AND ((state = 'open'::text) OR (NOT is_leased)))),
    CONSTRAINT history_windows_failing_in_the_open CHECK (((failing_since IS NULL) OR (state = 'open'::text))),
    CONSTRAINT history_windows_is_a_range CHECK (((starts_at < ends_at) OR (state = 'too_old'::text))),
    CONSTRAINT history_windows_kind_is_known CHECK ((kind = ANY (ARRAY['near'::text, 'day'::text, 'second'::text]))),
    CONSTRAINT history_windows_state_is_known CHECK ((state = ANY (ARRAY['open'::text, 'done'::text, 'too_old'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.history_windows IS 'The windows in which the history is read: starts_at is part of it, ends_at is not. Both are in the past and do not change, since Apple takes a token only with the same request. A worker leases a window as it leases a call; a worker with an older epoch changes nothing.';

COMMENT ON COLUMN appstore.history_windows.window_id IS 'The number of the window.';

COMMENT ON COLUMN appstore.history_windows.kind IS 'near: a quarter of an hour with an overlap, or what a pause left; day: a day of the past; second: the second walk of a day, after eight days.';

COMMENT ON COLUMN appstore.history_windows.starts_at IS 'Its start; an hour later after each time that Apple called it too old.';

COMMENT ON COLUMN appstore.history_windows.ends_at IS 'Its end; earlier after it was halved, since its tokens expired too often.';

COMMENT ON COLUMN appstore.history_windows.made_at IS 'When it was written.';

COMMENT ON COLUMN appstore.history_windows.state IS 'open; done: all pages were read; too_old: Apple no longer keeps any of it.';

COMMENT ON COLUMN appstore.history_windows.run_at IS 'When it is due: at once, at the end of a lease or of its back-off.';

COMMENT ON COLUMN appstore.history_windows.is_leased IS 'Whether a worker reads it until run_at.';

COMMENT ON COLUMN appstore.history_windows.epoch IS 'Number of leases so far.';

COMMENT ON COLUMN appstore.history_windows.token IS 'The paginationToken of the next page; null for the first one.';

COMMENT ON COLUMN appstore.history_windows.is_read IS 'All pages of a second walk were read; what was pushed is compared with them.';

COMMENT ON COLUMN appstore.history_windows.pages IS 'Pages since the first one was read last.';

COMMENT ON COLUMN appstore.history_windows.listed IS 'Records on these pages.';

COMMENT ON COLUMN appstore.history_windows.stored IS 'Records that became an event. Of a second walk: what Apple did not list at the first one.';

COMMENT ON COLUMN appstore.history_windows.restarts IS 'How often its token was refused since it was made or halved.';

COMMENT ON COLUMN appstore.history_windows.failures IS 'Failed attempts since the last page.';

COMMENT ON COLUMN appstore.history_windows.failing_since IS 'The first of these failures.';

COMMENT ON COLUMN appstore.history_windows.last_error IS 'Why the latest attempt brought no page; null after a page.';

COMMENT ON COLUMN appstore.history_windows.compared_to IS 'Outcomes until here, and compared_event of that instant, were compared.';

COMMENT ON COLUMN appstore.history_windows.compared_event IS 'The last event that was compared.';

COMMENT ON COLUMN appstore.history_windows.first_signed_at IS 'The least signedDate of its records. This column and the following ones tell by which date Apple filters.';

COMMENT ON COLUMN appstore.history_windows.last_signed_at IS 'The greatest signedDate.';

COMMENT ON COLUMN appstore.history_windows.first_attempt_at IS 'The least first attempt.';

COMMENT ON COLUMN appstore.history_windows.last_attempt_at IS 'The greatest first attempt.';

COMMENT ON COLUMN appstore.history_windows.closed_at IS 'When it was done or too old.';

CREATE VIEW appstore.history_coverage AS
 SELECT c.bundle_id,
    c.environment,
    c.mode,
    lower(r.range) AS covered_from,
    COALESCE(upper(r.range), c.anchor) AS covered_to,
    (statement_timestamp() - COALESCE(upper(r.range), c.anchor)) AS age,
    c.since,
    c.edge,
    w.open_windows,
    w.failing_since,
    COALESCE(n.confirmed, (0)::bigint) AS confirmed,
    COALESCE(n.recovered, (0)::bigint) AS recovered,
    COALESCE(n.taken_elsewhere, (0)::bigint) AS taken_elsewhere,
    COALESCE(n.refused_here, (0)::bigint) AS refused_here,
    COALESCE(n.in_flight, (0)::bigint) AS in_flight,
    COALESCE(n.unlisted, (0)::bigint) AS unlisted,
    (((n.unlisted * n.not_pushed))::double precision / (NULLIF(n.confirmed, 0))::double precision) AS missed_by_both
   FROM (((appstore.history_cursors c
     LEFT JOIN LATERAL ( SELECT r_1.r AS range
           FROM unnest(c.covered) r_1(r)
          WHERE ((lower(r_1.r) <= c.anchor) AND (upper(r_1.r) >= c.anchor))) r ON (true))
     CROSS JOIN LATERAL ( SELECT count(*) AS open_windows,
            min(w_1.failing_since) AS failing_since
           FROM appstore.history_windows w_1
          WHERE ((w_1.bundle_id = c.bundle_id) AND (w_1.environment = c.environment) AND (w_1.state = 'open'::text))) w)
     LEFT JOIN LATERAL ( SELECT (COALESCE(sum(n_1.records) FILTER (WHERE (n_1.class = 'confirmed'::text)), (0)::numeric))::bigint AS confirmed,
            (COALESCE(sum(n_1.records) FILTER (WHERE (n_1.class = 'recovered'::text)), (0)::numeric))::bigint AS recovered,
            (COALESCE(sum(n_1.records) FILTER (WHERE (n_1.class = 'taken_elsewhere'::text)), (0)::numeric))::bigint AS taken_elsewhere,
            (COALESCE(sum(n_1.records) FILTER (WHERE (n_1.class = 'refused_here'::text)), (0)::numeric))::bigint AS refused_here,
            (COALESCE(sum(n_1.records) FILTER (WHERE (n_1.class = 'in_flight'::text)), (0)::numeric))::bigint AS in_flight,
            (COALESCE(sum(n_1.records) FILTER (WHERE (n_1.class = 'unlisted'::text)), (0)::numeric))::bigint AS unlisted,
            (COALESCE(sum(n_1.records) FILTER (WHERE ((n_1.class = ANY (ARRAY['recovered'::text, 'taken_elsewhere'::text])) AND (n_1.mode = 'walk'::text))), (0)::numeric))::bigint AS not_pushed
           FROM appstore.history_counts n_1
          WHERE ((n_1.bundle_id = c.bundle_id) AND (n_1.environment = c.environment))) n ON (true));

COMMENT ON VIEW appstore.history_coverage IS 'Until when Apple''s notification history was read, of each app and environment. Proved: every record that Apple returned for this time is in the inbox, or had been settled before. Not proved: that Apple listed everything; notifications V1 are not listed, nor is what Apple never tried to send. missed_by_both is an estimate of that.';

COMMENT ON COLUMN appstore.history_coverage.mode IS 'walk, beside (another service owns the URL) or off.';

COMMENT ON COLUMN appstore.history_coverage.covered_from IS 'The start of the time around the beginning that was read without a hole; null while no window was. It moves back as the days of the past are read.';

COMMENT ON COLUMN appstore.history_coverage.covered_to IS 'The end of that time. A window that fails and is covered by no other holds it back.';

COMMENT ON COLUMN appstore.history_coverage.age IS 'How long ago that was; some 5 to 20 minutes.';

COMMENT ON COLUMN appstore.history_coverage.since IS 'How far back the history is read.';

COMMENT ON COLUMN appstore.history_coverage.edge IS 'Apple refused an earlier start as too far in the past; null while it has refused none.';

COMMENT ON COLUMN appstore.history_coverage.open_windows IS 'Windows that are not complete; history_gaps lists them.';

COMMENT ON COLUMN appstore.history_coverage.failing_since IS 'Since when the first of them that fails has failed.';

COMMENT ON COLUMN appstore.history_coverage.confirmed IS 'Records that were pushed and listed. This and the following counts contain aged records.';

COMMENT ON COLUMN appstore.history_coverage.recovered IS 'Records that were not pushed and that the history brought.';

COMMENT ON COLUMN appstore.history_coverage.taken_elsewhere IS 'Records that were not pushed here, and to which another server has answered 200. Normal before the URL was moved here.';

COMMENT ON COLUMN appstore.history_coverage.refused_here IS 'Records whose event was rejected or failed.';

COMMENT ON COLUMN appstore.history_coverage.in_flight IS 'Records that were listed during an attempt, of which it is not known how it ended.';

COMMENT ON COLUMN appstore.history_coverage.unlisted IS 'Notifications that were pushed and that neither walk has listed.';

COMMENT ON COLUMN appstore.history_coverage.missed_by_both IS 'An estimate of how many notifications came neither by push nor by the history: unlisted times those that were only listed, by confirmed. It supposes that the two fail independently. null while nothing is confirmed.';

CREATE VIEW appstore.history_gaps AS
 SELECT w.bundle_id,
    w.environment,
    w.window_id,
    w.kind,
    w.starts_at,
    w.ends_at,
        CASE
            WHEN (w.last_error IS NOT NULL) THEN w.last_error
            WHEN (c.mode = 'off'::text) THEN 'off'::text
            WHEN (w.is_leased AND (w.run_at > statement_timestamp())) THEN 'reading'::text
            WHEN (w.run_at < (statement_timestamp() - '00:10:00'::interval)) THEN 'no_worker'::text
            ELSE 'waiting'::text
        END AS why,
    w.made_at,
    w.failing_since,
    w.failures,
    w.restarts,
    w.pages,
    w.listed,
    w.stored,
    w.run_at AS next_run_at
   FROM (appstore.history_windows w
     JOIN appstore.history_cursors c ON (((c.bundle_id = w.bundle_id) AND (c.environment = w.environment))))
  WHERE (w.state = 'open'::text);

COMMENT ON VIEW appstore.history_gaps IS 'The windows of Apple''s notification history that are not complete, and why.';

COMMENT ON COLUMN appstore.history_gaps.window_id IS 'The number of the window.';

COMMENT ON COLUMN appstore.history_gaps.kind IS 'near: the latest time; day: a day of the past; second: the second walk of a day, after eight days.';

COMMENT ON COLUMN appstore.history_gaps.starts_at IS 'Its start.';

COMMENT ON COLUMN appstore.history_gaps.ends_at IS 'Its end.';

COMMENT ON COLUMN appstore.history_gaps.why IS 'The reason of the latest attempt that brought no page, such as rate_limited, http_503, token_missing, token_repeated or answer_of_another_app; else waiting, reading, off, or no_worker: none with a key of the app has had room for ten minutes.';

COMMENT ON COLUMN appstore.history_gaps.made_at IS 'When the window was made.';

COMMENT ON COLUMN appstore.history_gaps.failing_since IS 'Its first failure since its last page; null where it only waits.';

COMMENT ON COLUMN appstore.history_gaps.failures IS 'Failures since its last page.';

COMMENT ON COLUMN appstore.history_gaps.restarts IS 'How often its token was refused.';

COMMENT ON COLUMN appstore.history_gaps.pages IS 'Pages that were read.';

COMMENT ON COLUMN appstore.history_gaps.listed IS 'Records on these pages.';

COMMENT ON COLUMN appstore.history_gaps.stored IS 'Records that became an event.';

COMMENT ON COLUMN appstore.history_gaps.next_run_at IS 'When it is due, or the end of its lease.';

CREATE TABLE appstore.history_records (
    environment appstore.environment NOT NULL,
    notification_uuid uuid NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    class text NOT NULL COLLATE pg_catalog."C",
    is_open boolean NOT NULL,
    mode text NOT NULL COLLATE pg_catalog."C",
    event_id bigint,
    window_id bigint NOT NULL,
    listed_at timestamp with time zone NOT NULL,
    signed_at timestamp with time zone,
    first_attempt_at timestamp with time zone,
    last_attempt_at timestamp with time zone,
    attempts integer NOT NULL,
    last_result text COLLATE pg_catalog."C",
    CONSTRAINT history_records_class_is_known CHECK ((class = ANY (ARRAY['confirmed'::text, 'in_flight'::text, 'recovered'::text, 'taken_elsewhere'::text, 'refused_here'::text, 'unlisted'::text]))),
    CONSTRAINT history_records_mode_is_known CHECK ((mode = ANY (ARRAY['walk'::text, 'beside'::text]))),
    CONSTRAINT history_records_open_for_an_event CHECK (((NOT is_open) OR (event_id IS NOT NULL)))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.history_records IS 'Each notification that Apple listed, and those that were pushed and not listed. They are kept for a time, then only counted in history_counts.';

COMMENT ON COLUMN appstore.history_records.class IS 'confirmed: pushed and listed. recovered: not pushed, Apple''s attempts failed. taken_elsewhere: another server answered Apple with 200. in_flight: listed within a minute after an attempt. refused_here: its event was rejected or failed. unlisted: pushed, and absent from both walks.';

COMMENT ON COLUMN appstore.history_records.is_open IS 'The class can change: its event has no outcome yet, or the attempt may go on.';

COMMENT ON COLUMN appstore.history_records.mode IS 'walk; beside: another server may have taken it, since the mode was beside or it was signed before the mode became walk.';

COMMENT ON COLUMN appstore.history_records.event_id IS 'The event that it became; of an unlisted one the push. null where it had been pushed before.';

COMMENT ON COLUMN appstore.history_records.window_id IS 'The window that listed it first.';

COMMENT ON COLUMN appstore.history_records.listed_at IS 'When it was read, by this database''s clock.';

COMMENT ON COLUMN appstore.history_records.signed_at IS 'signedDate, as it was listed; not verified.';

COMMENT ON COLUMN appstore.history_records.first_attempt_at IS 'Apple''s first attempt.';

COMMENT ON COLUMN appstore.history_records.last_attempt_at IS 'Apple''s latest attempt when it was listed.';

COMMENT ON COLUMN appstore.history_records.attempts IS 'Apple''s attempts when it was listed.';

COMMENT ON COLUMN appstore.history_records.last_result IS 'sendAttemptResult of the latest attempt, such as SUCCESS or TIMED_OUT.';

ALTER TABLE appstore.history_windows ALTER COLUMN window_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.history_windows_window_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.import_items (
    import_id integer NOT NULL,
    line integer NOT NULL,
    environment appstore.environment NOT NULL,
    state appstore.import_item_state DEFAULT 'open'::appstore.import_item_state NOT NULL,
    event_id bigint,
    last_event_id bigint,
    asked smallint DEFAULT 0 NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    is_given boolean NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    revision text COLLATE pg_catalog."C",
    reason text COLLATE pg_catalog."C"
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.import_items IS 'The ids of an import, each once. They go 90 days after the end of the import.';

COMMENT ON COLUMN appstore.import_items.import_id IS 'The import.';

COMMENT ON COLUMN appstore.import_items.line IS 'The line of the file, counted from 1 with the header.';

COMMENT ON COLUMN appstore.import_items.environment IS 'Where it is asked next, or was found.';

COMMENT ON COLUMN appstore.import_items.state IS 'What became of it so far.';

COMMENT ON COLUMN appstore.import_items.event_id IS 'The first event that its answer became; null where the answer was empty.';

COMMENT ON COLUMN appstore.import_items.last_event_id IS 'The last one: its user becomes the owner when none of them waits in the queue.';

COMMENT ON COLUMN appstore.import_items.asked IS 'Requests that were answered, refused or failed.';

COMMENT ON COLUMN appstore.import_items.failures IS 'Requests in a row that failed for this reason.';

COMMENT ON COLUMN appstore.import_items.is_given IS 'The environment is that of the file or of the command: no other one is asked.';

COMMENT ON COLUMN appstore.import_items.id IS 'The id of any transaction of the customer.';

COMMENT ON COLUMN appstore.import_items.user_id IS 'Who owns it, until that is an owner link.';

COMMENT ON COLUMN appstore.import_items.revision IS 'Where its transaction history goes on, while it is being read.';

COMMENT ON COLUMN appstore.import_items.reason IS 'Why it failed, or fails; contract_unclear: the answer has several contracts and does not tell to which one the id belongs; not_linked: no purchase is known to which its user could be linked; not_owner: another user owns that purchase; database_ and a code: the database refuses it.';

CREATE TABLE appstore.import_links_due (
    import_id integer NOT NULL,
    first_line integer NOT NULL,
    line integer NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

COMMENT ON TABLE appstore.import_links_due IS 'Items that an answer covered while another transaction had locked their chunk, so that its link_at could not be set. An item is covered once: to insert its row waits for no other transaction.';

COMMENT ON COLUMN appstore.import_links_due.import_id IS 'The import.';

COMMENT ON COLUMN appstore.import_links_due.first_line IS 'The first line of the chunk.';

COMMENT ON COLUMN appstore.import_links_due.line IS 'The line of the item.';

CREATE VIEW appstore.import_misses AS
 SELECT i.import_id,
    i.line,
    i.id,
    i.user_id,
        CASE
            WHEN i.is_given THEN i.environment
            ELSE NULL::appstore.environment
        END AS environment,
        CASE
            WHEN (i.state = ANY (ARRAY['found'::appstore.import_item_state, 'covered'::appstore.import_item_state])) THEN COALESCE(i.reason, 'not_linked'::text)
            WHEN ((i.state = 'open'::appstore.import_item_state) AND (i.reason IS NULL)) THEN 'not_asked'::text
            ELSE COALESCE(i.reason, (i.state)::text)
        END AS why,
    (i.state)::text AS state,
    i.asked
   FROM (appstore.import_items i
     JOIN appstore.imports r USING (import_id))
  WHERE ((i.state = ANY (ARRAY['again'::appstore.import_item_state, 'unknown_to_apple'::appstore.import_item_state, 'failed'::appstore.import_item_state])) OR (i.reason IS NOT NULL) OR ((r.ended_at IS NOT NULL) AND ((i.state = 'open'::appstore.import_item_state) OR (i.user_id IS NOT NULL))));

COMMENT ON VIEW appstore.import_misses IS 'The items of imports that Apple did not know, refused, or whose user is no owner, and why.';

COMMENT ON COLUMN appstore.import_misses.import_id IS 'The import.';

COMMENT ON COLUMN appstore.import_misses.line IS 'The line of the file.';

COMMENT ON COLUMN appstore.import_misses.id IS 'The id.';

COMMENT ON COLUMN appstore.import_misses.environment IS 'The environment that the file or the command names; null where both were asked.';

COMMENT ON COLUMN appstore.import_misses.why IS 'unknown_to_apple; again: unknown, and asked once more; contract_unclear, not_linked or not_owner: found, but the user is no owner, or not yet where the import was stopped; not_asked: the import was stopped; else the error, such as apple_4000006.';

COMMENT ON COLUMN appstore.import_misses.state IS 'The state of the item.';

COMMENT ON COLUMN appstore.import_misses.asked IS 'How often it was asked.';

CREATE TABLE appstore.import_rates (
    import_id integer NOT NULL,
    at timestamp with time zone NOT NULL,
    settled integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

COMMENT ON TABLE appstore.import_rates IS 'How many items were settled in each ten seconds of the last minutes, for the estimate of the time left.';

COMMENT ON COLUMN appstore.import_rates.import_id IS 'The import.';

COMMENT ON COLUMN appstore.import_rates.at IS 'The begin of the ten seconds; there is a row only where something was settled.';

COMMENT ON COLUMN appstore.import_rates.settled IS 'Items that became found, covered, unknown or failed.';

CREATE VIEW appstore.import_status AS
 SELECT r.import_id,
    r.bundle_id,
    r.environment,
    r.depth,
    r.file_name,
    r.state,
    r.made_by,
    r.made_at,
    r.ended_at,
    r.items,
    r.last_line,
    r.repeated,
    r.bad_lines,
    n.found,
    n.covered,
    n.unknown,
    n.failed,
    n.waiting,
    (r.items - n.settled) AS remaining,
    COALESCE(n.failing_with, w.no_worker) AS failing_with,
    k.rate,
    b.allowance,
    b.blocked_until,
        CASE
            WHEN (r.state = 'running'::text) THEN (COALESCE((b.blocked_until - statement_timestamp()), '00:00:00'::interval) + (((GREATEST(((r.items - n.settled) - n.waiting), 0))::double precision / k.rate) * '00:00:01'::interval))
            ELSE NULL::interval
        END AS time_left,
        CASE
            WHEN (b.allowance > (0)::double precision) THEN (((GREATEST(((r.items - n.settled) - n.waiting), 0))::double precision / b.allowance) * '00:00:01'::interval)
            ELSE NULL::interval
        END AS least_time
   FROM ((((appstore.imports r
     CROSS JOIN LATERAL ( SELECT (r.found + (COALESCE(sum(c.found), (0)::bigint))::integer) AS found,
            (r.covered + (COALESCE(sum(c.covered), (0)::bigint))::integer) AS covered,
            (r.unknown + (COALESCE(sum(c.unknown), (0)::bigint))::integer) AS unknown,
            (r.failed + (COALESCE(sum(c.failed), (0)::bigint))::integer) AS failed,
            ((((r.found + r.covered) + r.unknown) + r.failed) + (COALESCE(sum((((c.found + c.covered) + c.unknown) + c.failed)), (0)::bigint))::integer) AS settled,
            (COALESCE(sum(c.waiting), (0)::bigint))::integer AS waiting,
            (array_agg(c.last_error ORDER BY c.run_at) FILTER (WHERE ((c.last_error IS NOT NULL) AND (r.state = 'running'::text))))[1] AS failing_with
           FROM appstore.import_chunks c
          WHERE (c.import_id = r.import_id)) n)
     CROSS JOIN LATERAL ( SELECT ((sum(k_1.settled))::double precision / (NULLIF(((count(*))::numeric * 10.0), (0)::numeric))::double precision) AS rate
           FROM appstore.import_rates k_1
          WHERE ((k_1.import_id = r.import_id) AND (k_1.at > (statement_timestamp() - '00:10:00'::interval)) AND (k_1.at < (statement_timestamp() - '00:00:10'::interval)))) k)
     LEFT JOIN LATERAL ( SELECT b_1.allowance,
            b_1.blocked_until
           FROM appstore.api_budget_status b_1
          WHERE ((b_1.bundle_id = r.bundle_id) AND (b_1.environment = COALESCE(r.environment, 'Production'::appstore.environment)) AND (b_1.endpoint =
                CASE r.depth
                    WHEN 'statuses'::text THEN 'subscription_statuses'::text
                    ELSE 'transaction_history'::text
                END))) b ON (true))
     LEFT JOIN LATERAL ( SELECT ('no worker asks in '::text || e.environment) AS no_worker
           FROM unnest(enum_range(NULL::appstore.environment)) e(environment)
          WHERE ((r.state = 'running'::text) AND (b.blocked_until IS NULL) AND ((EXISTS ( SELECT
                   FROM appstore.import_chunks c
                  WHERE ((c.import_id = r.import_id) AND (c.environment = e.environment) AND (c.phase <> 'link'::text) AND (c.run_at < (statement_timestamp() - '00:10:00'::interval))))) OR ((r.next_line = 1) AND (r.touched_at < (statement_timestamp() - '00:10:00'::interval)) AND (e.environment = COALESCE(r.environment, 'Production'::appstore.environment)))) AND (NOT (EXISTS ( SELECT
                   FROM (appstore.imports other
                     JOIN appstore.import_chunks c USING (import_id))
                  WHERE ((other.bundle_id = r.bundle_id) AND (other.depth = r.depth) AND (c.environment = e.environment) AND c.is_leased AND (c.run_at > statement_timestamp()))))))
          ORDER BY e.environment
         LIMIT 1) w ON (true))
  WHERE (r.state <> 'loading'::text);

COMMENT ON VIEW appstore.import_status IS 'The imports, how far they are, and when they will be done.';

COMMENT ON COLUMN appstore.import_status.import_id IS 'The number of the import.';

COMMENT ON COLUMN appstore.import_status.environment IS 'The environment of all items that name none; null where Production was asked first, then Sandbox.';

COMMENT ON COLUMN appstore.import_status.depth IS 'statuses or history.';

COMMENT ON COLUMN appstore.import_status.file_name IS 'The name of the file.';

COMMENT ON COLUMN appstore.import_status.state IS 'running, paused, stopped or done.';

COMMENT ON COLUMN appstore.import_status.made_by IS 'The login that began it.';

COMMENT ON COLUMN appstore.import_status.made_at IS 'When it was begun.';

COMMENT ON COLUMN appstore.import_status.ended_at IS 'When it was stopped or done.';

COMMENT ON COLUMN appstore.import_status.items IS 'How many ids it has, each counted once.';

COMMENT ON COLUMN appstore.import_status.last_line IS 'The greatest line of its ids.';

COMMENT ON COLUMN appstore.import_status.repeated IS 'Lines whose id an earlier line had.';

COMMENT ON COLUMN appstore.import_status.bad_lines IS 'Lines that were not imported.';

COMMENT ON COLUMN appstore.import_status.found IS 'Ids that Apple answered.';

COMMENT ON COLUMN appstore.import_status.covered IS 'Ids that the answer about another id named, so that they were not asked.';

COMMENT ON COLUMN appstore.import_status.unknown IS 'Ids that Apple did not know, twice.';

COMMENT ON COLUMN appstore.import_status.failed IS 'Ids that Apple refused.';

COMMENT ON COLUMN appstore.import_status.waiting IS 'Ids that Apple did not know, and that are asked once more a day later. They are part of remaining.';

COMMENT ON COLUMN appstore.import_status.remaining IS 'Ids that are not settled.';

COMMENT ON COLUMN appstore.import_status.failing_with IS 'Why requests fail or wait; null where they do not. no worker asks in …: for ten minutes none was there that processes the app and environment, and has a key that Apple accepts.';

COMMENT ON COLUMN appstore.import_status.rate IS 'Ids settled in a second, of the last ten minutes without the times in which nothing was settled; null while it is not known.';

COMMENT ON COLUMN appstore.import_status.allowance IS 'Requests in a second that Apple''s limit and the settings allow; null before the first one.';

COMMENT ON COLUMN appstore.import_status.blocked_until IS 'After a 429, until when nothing is asked; null while asking is allowed.';

COMMENT ON COLUMN appstore.import_status.time_left IS 'For what is remaining and not waiting, at this rate, after the block; null while it is not known.';

COMMENT ON COLUMN appstore.import_status.least_time IS 'For the same at the allowance, with a request for each id.';

ALTER TABLE appstore.imports ALTER COLUMN import_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.imports_import_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.inbox (
    event_id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT inbox_body_within_limits CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 4194304))),
    CONSTRAINT inbox_source_is_a_name CHECK ((source ~ '^[a-z][a-z0-9_]{0,62}$'::text))
)
PARTITION BY RANGE (event_id);
ALTER TABLE ONLY appstore.inbox ALTER COLUMN body SET STORAGE EXTERNAL;

COMMENT ON TABLE appstore.inbox IS 'Every event as it came in; append-only, never updated. Partitioned by event_id, so that old bodies go by dropping a partition.';

COMMENT ON COLUMN appstore.inbox.source IS 'Where the event came from: notification_v2, history_v2, notification_v1, client_transaction, client_receipt, verify_receipt, subscription_status, transaction_info …';

COMMENT ON COLUMN appstore.inbox.body IS 'The raw bytes. jsonb would refuse \u0000 and lone surrogates and so lose the event.';

CREATE SEQUENCE appstore.inbox_event_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE appstore.inbox_event_id OWNED BY appstore.inbox.event_id;

COMMENT ON SEQUENCE appstore.inbox_event_id IS 'The ids of events, in order of arrival. They may have gaps.';

CREATE TABLE appstore.inbox_default (
    event_id bigint DEFAULT nextval('appstore.inbox_event_id'::regclass) NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT inbox_body_within_limits CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 4194304))),
    CONSTRAINT inbox_source_is_a_name CHECK ((source ~ '^[a-z][a-z0-9_]{0,62}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', toast.autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE ONLY appstore.inbox_default ALTER COLUMN body SET STORAGE EXTERNAL;

COMMENT ON TABLE appstore.inbox_default IS 'Takes events for whose ids no partition exists, so that no insert can fail.';

CREATE TABLE appstore.inbox_first (
    event_id bigint DEFAULT nextval('appstore.inbox_event_id'::regclass) NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT inbox_body_within_limits CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 4194304))),
    CONSTRAINT inbox_source_is_a_name CHECK ((source ~ '^[a-z][a-z0-9_]{0,62}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', toast.autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE ONLY appstore.inbox_first ALTER COLUMN body SET STORAGE EXTERNAL;

COMMENT ON TABLE appstore.inbox_first IS 'The first partition. The worker makes the following ones ahead of time.';

CREATE VIEW appstore.inbox_partitions AS
 SELECT (parent.relname)::text AS parent,
    (c.relname)::text AS partition,
    b.from_id,
    b.to_id,
    COALESCE((b.to_id <= s.last_value), false) AS is_past,
    pg_total_relation_size((c.oid)::regclass) AS bytes
   FROM (((((pg_inherits h
     JOIN pg_class parent ON ((parent.oid = h.inhparent)))
     JOIN pg_class c ON ((c.oid = h.inhrelid)))
     CROSS JOIN appstore.inbox_event_id s)
     CROSS JOIN LATERAL ( SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) e)
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (e.bound <> 'DEFAULT'::text) THEN COALESCE(("substring"(e.bound, 'FROM \(''?(\d+)''?\)'::text))::bigint, (0)::bigint)
                    ELSE NULL::bigint
                END AS from_id,
            ("substring"(e.bound, 'TO \(''?(\d+)''?\)'::text))::bigint AS to_id) b)
  WHERE (h.inhparent = ANY (ARRAY[('appstore.inbox'::regclass)::oid, ('appstore.outcomes'::regclass)::oid]));

COMMENT ON VIEW appstore.inbox_partitions IS 'The partitions of the inbox and of the outcomes (parent): event ids from from_id up to, and without, to_id; null for the default partition.';

COMMENT ON COLUMN appstore.inbox_partitions.parent IS 'inbox or outcomes.';

COMMENT ON COLUMN appstore.inbox_partitions.partition IS 'The name of the partition''s table.';

COMMENT ON COLUMN appstore.inbox_partitions.from_id IS 'Its first event id; null for the default partition.';

COMMENT ON COLUMN appstore.inbox_partitions.to_id IS 'The event id after its last one; null for the default partition.';

COMMENT ON COLUMN appstore.inbox_partitions.is_past IS 'No new event can be stored in it.';

COMMENT ON COLUMN appstore.inbox_partitions.bytes IS 'Its size with indexes.';

CREATE VIEW appstore.inbox_status AS
 SELECT q.event_id,
    ( SELECT i.source
           FROM appstore.inbox i
          WHERE (i.event_id = q.event_id)) AS source,
    ( SELECT i.received_at
           FROM appstore.inbox i
          WHERE (i.event_id = q.event_id)) AS received_at,
        CASE
            WHEN (q.run_at <= statement_timestamp()) THEN 'ready'::text
            ELSE 'waiting'::text
        END AS state,
    NULL::appstore.result AS result,
    NULL::text AS reason,
    (NULL::text COLLATE "C") AS notification_type,
    (NULL::text COLLATE "C") AS subtype,
    NULL::uuid AS notification_uuid,
    (NULL::text COLLATE "C") AS environment,
    (NULL::text COLLATE "C") AS transaction_id,
    (NULL::text COLLATE "C") AS original_transaction_id,
    (q.attempts)::integer AS attempts,
    q.run_at AS next_run_at,
    q.last_error,
    NULL::timestamp with time zone AS settled_at
   FROM appstore.inbox_queue q
UNION ALL
 SELECT o.event_id,
    o.source,
    o.received_at,
    'settled'::text AS state,
    o.result,
    o.reason,
    o.notification_type,
    o.subtype,
    o.notification_uuid,
    o.environment,
    o.transaction_id,
    o.original_transaction_id,
    o.attempts,
    NULL::timestamp with time zone AS next_run_at,
    o.last_error,
    o.settled_at
   FROM appstore.outcomes o;

COMMENT ON VIEW appstore.inbox_status IS 'Every event: settled with its result, ready when it is due, or waiting until it is due. Events whose outcome was deleted by age are left out.';

COMMENT ON COLUMN appstore.inbox_status.state IS 'ready, waiting or settled.';

COMMENT ON COLUMN appstore.inbox_status.result IS 'What became of it; null until it is settled.';

COMMENT ON COLUMN appstore.inbox_status.reason IS 'A code; of a discarded event the words of the operator.';

COMMENT ON COLUMN appstore.inbox_status.next_run_at IS 'When it is due; null once it is settled.';

CREATE TABLE appstore.live_since (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    set_by text NOT NULL,
    set_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE appstore.live_since IS 'From when on an app''s effects are news: the feed tells none that occurred before, whatever its source. An app without a row has no past.';

COMMENT ON COLUMN appstore.live_since.since IS 'Written by appstore.set_live_since, or by the app''s first import: when its first notification came that is still known, else that instant.';

COMMENT ON COLUMN appstore.live_since.set_by IS 'The login that wrote it.';

COMMENT ON COLUMN appstore.live_since.set_at IS 'When it was written.';

CREATE TABLE appstore.maintenance_state (
    task text NOT NULL COLLATE pg_catalog."C",
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    settled_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    event_id bigint DEFAULT 0 NOT NULL,
    kept bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    not_before timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL
);

COMMENT ON TABLE appstore.maintenance_state IS 'How far each task of maintenance is: the walks of appstore.expire, expire_notifications and expire_deliveries, and the checks of aged partitions by appstore.drop_aged_partition; and the count of missed requests by appstore.apply_consumption_policies.';

COMMENT ON COLUMN appstore.maintenance_state.task IS 'A walk, such as rejected_bodies, or the name of a partition.';

COMMENT ON COLUMN appstore.maintenance_state.started_at IS 'When the walk or check began.';

COMMENT ON COLUMN appstore.maintenance_state.settled_at IS 'The outcome of that event, for walks in the order of the outcomes.';

COMMENT ON COLUMN appstore.maintenance_state.event_id IS 'The last event that was checked: of a walk in ascending order, of a partition in descending order. Of notifications, the next block; of deliveries, the last attempt. Of consumption, how many requests were missed so far.';

COMMENT ON COLUMN appstore.maintenance_state.kept IS 'The events of the partition that must be kept.';

COMMENT ON COLUMN appstore.maintenance_state.not_before IS 'Too many events must be kept: the check begins again then.';

CREATE VIEW appstore.order_status AS
 SELECT o.environment,
    o.order_no,
    o.user_id,
    COALESCE(o.product_id, o.paid_product_id) AS product_id,
    COALESCE(t.bundle_id, o.bundle_id) AS bundle_id,
    o.status,
    o.reason,
    o.ordered_at,
    o.paid_at,
    o.quantity,
    o.price,
    o.currency,
    o.transaction_id,
    o.original_transaction_id
   FROM (appstore.orders o
     LEFT JOIN LATERAL ( SELECT t_1.bundle_id
           FROM appstore.transactions t_1
          WHERE ((t_1.transaction_id = o.transaction_id) AND (t_1.environment = o.environment))
         OFFSET 0) t ON (true));

COMMENT ON VIEW appstore.order_status IS 'Every order, by its number: whether it is paid, and for what. appstore.user_orders has those of a user.';

COMMENT ON COLUMN appstore.order_status.product_id IS 'The product that was ordered; without an order of the shop the one that was bought.';

COMMENT ON COLUMN appstore.order_status.bundle_id IS 'The app that sold it; while it is pending the one that it was ordered for, null for any app.';

COMMENT ON COLUMN appstore.order_status.status IS 'pending, paid, partly_refunded (one of several transactions of its period is refunded) or refunded.';

COMMENT ON COLUMN appstore.order_status.reason IS 'product_mismatch where another product or app was bought with this number: it does not pay the order.';

COMMENT ON COLUMN appstore.order_status.ordered_at IS 'When the shop made the order; null for the order of a renewal, and of a purchase without an order.';

COMMENT ON COLUMN appstore.order_status.paid_at IS 'When the customer bought it; null while it is pending.';

ALTER TABLE appstore.outbox ALTER COLUMN call_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.outbox_call_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW appstore.outbox_status AS
 SELECT c.call_id,
    c.kind,
    c.bundle_id,
    c.environment,
    c.priority,
    c.event_id,
    c.state,
    c.reason,
        CASE
            WHEN ((c.state = 'open'::text) AND (c.run_at < (statement_timestamp() - '00:01:00'::interval))) THEN 'no_worker'::text
            WHEN (c.state = 'open'::text) THEN c.waits_for
            ELSE NULL::text
        END AS waits_for,
    c.attempts,
    c.asked_at,
        CASE
            WHEN (c.state = 'open'::text) THEN c.run_at
            ELSE NULL::timestamp with time zone
        END AS next_run_at,
    c.is_leased,
    c.deadline_at,
    c.settled_at,
    c.answer_event_id,
    c.fallback_event_id,
    c.answer,
    c.answer_event_ids
   FROM appstore.outbox c;

COMMENT ON VIEW appstore.outbox_status IS 'The calls of the outbox, without their payload.';

COMMENT ON COLUMN appstore.outbox_status.call_id IS 'The number of the call.';

COMMENT ON COLUMN appstore.outbox_status.kind IS 'The service that is called, such as verify_receipt.';

COMMENT ON COLUMN appstore.outbox_status.environment IS 'Apple''s environment that is asked, or asked first.';

COMMENT ON COLUMN appstore.outbox_status.priority IS '0 a deadline, 1 a person or program waits, 2 reconciliation, 3 history, 4 import. Lower ones are made first.';

COMMENT ON COLUMN appstore.outbox_status.event_id IS 'The event whose body the call sends.';

COMMENT ON COLUMN appstore.outbox_status.state IS 'open; answered; refused (a later answer would be the same); given_up (deadline passed); discarded.';

COMMENT ON COLUMN appstore.outbox_status.reason IS 'Why it was refused, given up or discarded.';

COMMENT ON COLUMN appstore.outbox_status.waits_for IS 'Of an open call: the reason of its latest attempt, or no_worker when it has been due for a minute: no worker runs, all are busy, or none has the app''s secret or key.';

COMMENT ON COLUMN appstore.outbox_status.asked_at IS 'When it was written.';

COMMENT ON COLUMN appstore.outbox_status.next_run_at IS 'When an open call is due.';

COMMENT ON COLUMN appstore.outbox_status.is_leased IS 'Whether a worker makes the call until next_run_at.';

COMMENT ON COLUMN appstore.outbox_status.deadline_at IS 'When an open call is given up.';

COMMENT ON COLUMN appstore.outbox_status.answer_event_id IS 'The event that the answer became; the first one of an answer of several bodies.';

COMMENT ON COLUMN appstore.outbox_status.fallback_event_id IS 'The event that stands for a missing answer.';

COMMENT ON COLUMN appstore.outbox_status.answer IS 'What of the answer is no event, such as the status of an order number, and how many events there are. Of an open call: its pages so far.';

COMMENT ON COLUMN appstore.outbox_status.answer_event_ids IS 'The events that the answer became, at most 1,000; see appstore.call_document.';

CREATE TABLE appstore.outcome_history (
    event_id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone NOT NULL,
    run integer NOT NULL,
    attempts integer NOT NULL,
    result appstore.result NOT NULL,
    reason text,
    last_error text,
    notification_type text COLLATE pg_catalog."C",
    subtype text COLLATE pg_catalog."C",
    notification_uuid uuid,
    environment text COLLATE pg_catalog."C",
    bundle_id text COLLATE pg_catalog."C",
    transaction_id text COLLATE pg_catalog."C",
    original_transaction_id text COLLATE pg_catalog."C",
    replaced_at timestamp with time zone NOT NULL,
    replaced_by text NOT NULL
);

COMMENT ON TABLE appstore.outcome_history IS 'Outcomes of earlier runs, moved here by a requeue or a discard. They go together with the outcome. Other columns are those of outcomes.';

COMMENT ON COLUMN appstore.outcome_history.result IS 'What became of the event in this run.';

COMMENT ON COLUMN appstore.outcome_history.reason IS 'A code, or the words of the operator who discarded the event.';

COMMENT ON COLUMN appstore.outcome_history.replaced_at IS 'When a repair ended this run.';

COMMENT ON COLUMN appstore.outcome_history.replaced_by IS 'The login that called the repair.';

CREATE TABLE appstore.outcomes_default (
    event_id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone NOT NULL,
    run integer NOT NULL,
    attempts integer NOT NULL,
    result appstore.result NOT NULL,
    reason text,
    last_error text,
    notification_type text COLLATE pg_catalog."C",
    subtype text COLLATE pg_catalog."C",
    notification_uuid uuid,
    environment text COLLATE pg_catalog."C",
    bundle_id text COLLATE pg_catalog."C",
    transaction_id text COLLATE pg_catalog."C",
    original_transaction_id text COLLATE pg_catalog."C",
    CONSTRAINT outcomes_reason_where_needed CHECK (((reason IS NOT NULL) OR (result <> ALL (ARRAY['unhandled'::appstore.result, 'rejected'::appstore.result, 'failed'::appstore.result, 'discarded'::appstore.result]))))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.outcomes_default IS 'Takes outcomes for whose ids no partition exists, so that no insert can fail.';

CREATE TABLE appstore.outcomes_first (
    event_id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone NOT NULL,
    run integer NOT NULL,
    attempts integer NOT NULL,
    result appstore.result NOT NULL,
    reason text,
    last_error text,
    notification_type text COLLATE pg_catalog."C",
    subtype text COLLATE pg_catalog."C",
    notification_uuid uuid,
    environment text COLLATE pg_catalog."C",
    bundle_id text COLLATE pg_catalog."C",
    transaction_id text COLLATE pg_catalog."C",
    original_transaction_id text COLLATE pg_catalog."C",
    CONSTRAINT outcomes_reason_where_needed CHECK (((reason IS NOT NULL) OR (result <> ALL (ARRAY['unhandled'::appstore.result, 'rejected'::appstore.result, 'failed'::appstore.result, 'discarded'::appstore.result]))))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.outcomes_first IS 'The first partition. The worker makes the following ones ahead of time.';

CREATE TABLE appstore.owner_links (
    link_id bigint NOT NULL,
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    linked_at timestamp with time zone NOT NULL,
    user_id text COLLATE pg_catalog."C",
    actor text NOT NULL,
    note text,
    import_id integer,
    CONSTRAINT owner_links_user_is_a_name CHECK (((char_length(user_id) >= 1) AND (char_length(user_id) <= 255)))
);

COMMENT ON TABLE appstore.owner_links IS 'Commands of an operator or the shop: from linked_at on the contract belongs to this user. A row without a user takes back all links of the contract before it. Append-only.';

COMMENT ON COLUMN appstore.owner_links.link_id IS 'Of several links of one instant the one with the greatest id counts.';

COMMENT ON COLUMN appstore.owner_links.linked_at IS 'When the command was given.';

COMMENT ON COLUMN appstore.owner_links.user_id IS 'The new owner; null where the links before are taken back.';

COMMENT ON COLUMN appstore.owner_links.actor IS 'The login that called appstore.link_owner or appstore.unlink_owner.';

COMMENT ON COLUMN appstore.owner_links.note IS 'Free text of the actor; null after appstore.forget, both of a link to the user and where it was taken back.';

COMMENT ON COLUMN appstore.owner_links.import_id IS 'The import whose file named the user; null for a command. Such a link never counts where an order was paid before it.';

ALTER TABLE appstore.owner_links ALTER COLUMN link_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.owner_links_link_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.ownership_claims (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    kind appstore.claim_kind NOT NULL,
    source_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    effective_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE appstore.ownership_claims IS 'Derived: the owners of a contract over time, and why. The owner is that of the claim with the greatest (effective_at, kind, source_id).';

COMMENT ON COLUMN appstore.ownership_claims.kind IS 'The origin of the claim.';

COMMENT ON COLUMN appstore.ownership_claims.source_id IS 'The order of an order claim; the instant of a link, in microseconds since 1970 with 20 digits; the contract of a restored one; else the transaction.';

COMMENT ON COLUMN appstore.ownership_claims.effective_at IS 'From when it counts.';

CREATE VIEW appstore.user_orders AS
 SELECT s.environment,
    s.order_no,
    s.user_id,
    s.product_id,
    s.bundle_id,
    s.status,
    s.reason,
    s.ordered_at,
    s.paid_at,
    s.quantity,
    s.price,
    s.currency,
    s.transaction_id,
    s.original_transaction_id
   FROM appstore.order_status s
  WHERE (s.ordered_at IS NOT NULL)
UNION ALL
 SELECT s.environment,
    s.order_no,
    s.user_id,
    s.product_id,
    s.bundle_id,
    s.status,
    s.reason,
    s.ordered_at,
    s.paid_at,
    s.quantity,
    s.price,
    s.currency,
    s.transaction_id,
    s.original_transaction_id
   FROM ((( SELECT DISTINCT c.environment,
            c.original_transaction_id,
            c.user_id
           FROM appstore.ownership_claims c) owned
     CROSS JOIN LATERAL ( SELECT t_1.transaction_id,
            t_1.period_no
           FROM appstore.transactions t_1
          WHERE ((t_1.original_transaction_id = owned.original_transaction_id) AND (t_1.environment = owned.environment))
         OFFSET 0) t)
     CROSS JOIN LATERAL ( SELECT s_1.environment,
            s_1.order_no,
            s_1.user_id,
            s_1.product_id,
            s_1.bundle_id,
            s_1.status,
            s_1.reason,
            s_1.ordered_at,
            s_1.paid_at,
            s_1.quantity,
            s_1.price,
            s_1.currency,
            s_1.transaction_id,
            s_1.original_transaction_id
           FROM appstore.order_status s_1
          WHERE ((s_1.order_no = t.period_no) AND (s_1.environment = owned.environment) AND (s_1.transaction_id = t.transaction_id))
         OFFSET 0) s)
  WHERE ((s.ordered_at IS NULL) AND (s.user_id = owned.user_id));

COMMENT ON VIEW appstore.user_orders IS 'The orders of users: those that the shop made, paid or not, and those of renewals and of purchases without an order. Always give a user_id: it is found by an index. Columns are those of appstore.order_status.';

COMMENT ON COLUMN appstore.user_orders.product_id IS 'The product that was ordered; without an order of the shop the one that was bought.';

COMMENT ON COLUMN appstore.user_orders.bundle_id IS 'The app that sold it; while it is pending the one that it was ordered for, null for any app.';

COMMENT ON COLUMN appstore.user_orders.status IS 'pending, paid, partly_refunded or refunded.';

COMMENT ON COLUMN appstore.user_orders.reason IS 'product_mismatch where another product or app was bought with this number.';

COMMENT ON COLUMN appstore.user_orders.ordered_at IS 'When the shop made the order; null for the order of a renewal, and of a purchase without an order.';

COMMENT ON COLUMN appstore.user_orders.paid_at IS 'When the customer bought it; null while it is pending.';

CREATE VIEW appstore.payments AS
 SELECT u.environment,
    u.user_id,
    u.order_no,
    u.status,
    u.product_id,
    u.paid_at,
    u.quantity,
    u.price,
    u.currency,
    u.transaction_id,
    u.original_transaction_id
   FROM appstore.user_orders u
  WHERE (u.status <> 'pending'::text);

COMMENT ON VIEW appstore.payments IS 'The payments of users: their orders that are paid, partly refunded or refunded, first purchases and renewals. Always give a user_id. appstore.unmatched lists payments without a user.';

COMMENT ON COLUMN appstore.payments.status IS 'paid, partly_refunded or refunded.';

COMMENT ON COLUMN appstore.payments.product_id IS 'The product that was bought.';

COMMENT ON COLUMN appstore.payments.paid_at IS 'When the customer bought it.';

CREATE TABLE appstore.reconcile_counts (
    day date NOT NULL,
    rule text NOT NULL COLLATE pg_catalog."C",
    questions bigint DEFAULT 0 NOT NULL,
    answered bigint DEFAULT 0 NOT NULL,
    changed bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE appstore.reconcile_counts IS 'The questions and results of each day (UTC) and rule. They are kept; the questions themselves age.';

COMMENT ON COLUMN appstore.reconcile_counts.day IS 'When it was asked, or the result was found.';

COMMENT ON COLUMN appstore.reconcile_counts.rule IS 'As in reconcile_questions.';

COMMENT ON COLUMN appstore.reconcile_counts.questions IS 'Questions that were asked.';

COMMENT ON COLUMN appstore.reconcile_counts.answered IS 'Results same and changed.';

COMMENT ON COLUMN appstore.reconcile_counts.changed IS 'The result changed.';

CREATE TABLE appstore.reconcile_questions (
    question_id bigint NOT NULL,
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL COLLATE pg_catalog."C",
    transaction_id text COLLATE pg_catalog."C",
    app_transaction_id text COLLATE pg_catalog."C",
    asked_at timestamp with time zone NOT NULL,
    call_id bigint NOT NULL,
    status integer,
    will_renew boolean,
    current_period_end timestamp with time zone,
    revoked_at timestamp with time zone,
    access_until timestamp with time zone,
    result text COLLATE pg_catalog."C",
    settled_at timestamp with time zone,
    CONSTRAINT reconcile_questions_result_is_known CHECK ((result = ANY (ARRAY['same'::text, 'changed'::text, 'overtaken'::text, 'unanswered'::text]))),
    CONSTRAINT reconcile_questions_rule_is_known CHECK ((rule = ANY (ARRAY['expired_silent'::text, 'no_renewal_info'::text, 'in_retry'::text, 'revoked_doubt'::text, 'price_consent'::text, 'sample'::text, 'operator'::text]))),
    CONSTRAINT reconcile_questions_settled_in_the_end CHECK (((result IS NULL) = (settled_at IS NULL)))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.reconcile_questions IS 'Each question to Apple about a contract, what the ledger said when it was asked, and whether the answer changed it. Kept for 90 days.';

COMMENT ON COLUMN appstore.reconcile_questions.question_id IS 'The number of the question.';

COMMENT ON COLUMN appstore.reconcile_questions.rule IS 'As in reconcile_watches; or sample: an active contract, chosen at random; operator: appstore.reconcile_contract.';

COMMENT ON COLUMN appstore.reconcile_questions.transaction_id IS 'The charge whose refund is in doubt.';

COMMENT ON COLUMN appstore.reconcile_questions.app_transaction_id IS 'Apple''s appTransactionId of the customer, where it is known: one customer is asked about once a day.';

COMMENT ON COLUMN appstore.reconcile_questions.asked_at IS 'When the call was written.';

COMMENT ON COLUMN appstore.reconcile_questions.call_id IS 'The call of the outbox.';

COMMENT ON COLUMN appstore.reconcile_questions.status IS 'That of the contract when it was asked, as in the following columns.';

COMMENT ON COLUMN appstore.reconcile_questions.will_renew IS 'Whether it was to renew then.';

COMMENT ON COLUMN appstore.reconcile_questions.current_period_end IS 'The end of its period then.';

COMMENT ON COLUMN appstore.reconcile_questions.revoked_at IS 'When it was revoked; for revoked_doubt when the charge was.';

COMMENT ON COLUMN appstore.reconcile_questions.access_until IS 'Until when it gave access then.';

COMMENT ON COLUMN appstore.reconcile_questions.result IS 'same; changed: the answer changed what the customer may use, or until when; overtaken: other events about the contract came meanwhile, so that nothing can be said; unanswered: the call ended without an answer, or the answer does not name the contract; null while it is open.';

COMMENT ON COLUMN appstore.reconcile_questions.settled_at IS 'When the result was found.';

ALTER TABLE appstore.reconcile_questions ALTER COLUMN question_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.reconcile_questions_question_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW appstore.reconcile_status AS
 SELECT rule.name AS rule,
    COALESCE(w.watched, (0)::bigint) AS watched,
    COALESCE(q.open, (0)::bigint) AS open,
    COALESCE(c.questions, (0)::bigint) AS questions,
    COALESCE(c.answered, (0)::bigint) AS answered,
    COALESCE(c.changed, (0)::bigint) AS changed,
        CASE rule.name
            WHEN 'sample'::text THEN ((c.recently_changed)::double precision / (NULLIF(c.recently_answered, (0)::numeric))::double precision)
            ELSE NULL::double precision
        END AS wrong_ratio
   FROM (((unnest('{expired_silent,no_renewal_info,in_retry,revoked_doubt,price_consent,sample,operator}'::text[]) rule(name)
     LEFT JOIN ( SELECT w_1.rule,
            count(*) AS watched
           FROM appstore.reconcile_watches w_1
          GROUP BY w_1.rule) w ON ((w.rule = rule.name)))
     LEFT JOIN ( SELECT q_1.rule,
            count(*) AS open
           FROM appstore.reconcile_questions q_1
          WHERE (q_1.result IS NULL)
          GROUP BY q_1.rule) q ON ((q.rule = rule.name)))
     LEFT JOIN ( SELECT c_1.rule,
            (sum(c_1.questions))::bigint AS questions,
            (sum(c_1.answered))::bigint AS answered,
            (sum(c_1.changed))::bigint AS changed,
            sum(c_1.answered) FILTER (WHERE (c_1.day > (((statement_timestamp() AT TIME ZONE 'UTC'::text))::date - 30))) AS recently_answered,
            sum(c_1.changed) FILTER (WHERE (c_1.day > (((statement_timestamp() AT TIME ZONE 'UTC'::text))::date - 30))) AS recently_changed
           FROM appstore.reconcile_counts c_1
          GROUP BY c_1.rule) c ON ((c.rule = rule.name)));

COMMENT ON VIEW appstore.reconcile_status IS 'What each rule of the reconciliation watches, has asked, and found. A rule whose questions never change anything is not worth asking.';

COMMENT ON COLUMN appstore.reconcile_status.rule IS 'A rule of stale_contracts; sample: active contracts, chosen at random; operator: appstore.reconcile_contract.';

COMMENT ON COLUMN appstore.reconcile_status.watched IS 'Contracts that looked stale and are looked at again.';

COMMENT ON COLUMN appstore.reconcile_status.open IS 'Questions without a result.';

COMMENT ON COLUMN appstore.reconcile_status.questions IS 'Questions so far.';

COMMENT ON COLUMN appstore.reconcile_status.answered IS 'Those whose answer could be compared with the ledger.';

COMMENT ON COLUMN appstore.reconcile_status.changed IS 'Those whose answer changed what the customer may use, or until when.';

COMMENT ON COLUMN appstore.reconcile_status.wrong_ratio IS 'Of sample: the share of the answers of the last 30 days that changed it: how often the ledger was wrong. null without an answer.';

CREATE TABLE appstore.reconcile_walks (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment NOT NULL,
    walk text NOT NULL COLLATE pg_catalog."C",
    until timestamp with time zone NOT NULL,
    CONSTRAINT reconcile_walks_walk_is_known CHECK ((walk = ANY (ARRAY['before 3 days'::text, 'before 2 days'::text, 'before 1 day'::text, 'after 1 hour'::text, 'after 1 day'::text, 'after 3 days'::text, 'after 7 days'::text, 'after 30 days'::text, 'purchases'::text, 'refunds'::text, 'late refunds'::text, 'sample'::text])))
);

COMMENT ON TABLE appstore.reconcile_walks IS 'How far appstore.reconcile has looked for stale contracts, of each app and environment whose key a worker has had.';

COMMENT ON COLUMN appstore.reconcile_walks.walk IS 'before and after: ends of periods, so long before or after them; purchases: events with a purchase and without its renewal; refunds and late refunds: refund requests, 48 hours and a week after Apple asked; sample: the random questions.';

COMMENT ON COLUMN appstore.reconcile_walks.until IS 'What happened until here was looked at: the ends, outcomes, or due times of requests. The share of the day until here was asked about.';

ALTER TABLE appstore.redeliveries ALTER COLUMN redelivery_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.redeliveries_redelivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.refund_requests (
    environment appstore.environment NOT NULL,
    notification_uuid uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    reason text COLLATE pg_catalog."C",
    signed_date timestamp with time zone NOT NULL,
    left_transaction_id text COLLATE pg_catalog."C",
    is_advanced_commerce boolean DEFAULT false NOT NULL,
    CONSTRAINT refund_requests_kind_is_known CHECK ((kind = ANY (ARRAY['asked'::text, 'refunded'::text, 'declined'::text])))
);

COMMENT ON TABLE appstore.refund_requests IS 'Apple''s requests and decisions about refunds: one row a notification. The lowest signing date counts, since Apple may sign a retry again.';

COMMENT ON COLUMN appstore.refund_requests.kind IS 'asked: Apple asks how the purchase was consumed; refunded and declined: Apple has decided.';

COMMENT ON COLUMN appstore.refund_requests.reason IS 'consumptionRequestReason of a request.';

COMMENT ON COLUMN appstore.refund_requests.left_transaction_id IS 'The transaction of a copy that was merged before and signed later; null in everything that Apple is known to send, whose copies name one transaction. Depends on the order of arrival and is not part of the state.';

COMMENT ON COLUMN appstore.refund_requests.is_advanced_commerce IS 'Whether the transaction was bought through the Advanced Commerce API, so that Apple takes answers of version 1 only.';

CREATE TABLE appstore.repairs (
    repair_id bigint NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    filter appstore.repair_filter NOT NULL,
    note text,
    actor text NOT NULL,
    asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expected bigint NOT NULL,
    state text DEFAULT 'running'::text NOT NULL COLLATE pg_catalog."C",
    run_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    progress appstore.repair_progress,
    ended_at timestamp with time zone,
    last_error text,
    CONSTRAINT repairs_action_is_known CHECK ((action = ANY (ARRAY['requeue'::text, 'discard'::text]))),
    CONSTRAINT repairs_ended_in_the_end CHECK (((state = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT repairs_failed_by_an_error CHECK (((state <> 'failed'::text) OR (last_error IS NOT NULL))),
    CONSTRAINT repairs_state_is_known CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text, 'failed'::text])))
);

COMMENT ON TABLE appstore.repairs IS 'Repairs of all events that meet conditions, which the console takes step by step: a restart goes on with them. Each step is in audit_log, too.';

COMMENT ON COLUMN appstore.repairs.repair_id IS 'The number of the repair.';

COMMENT ON COLUMN appstore.repairs.action IS 'requeue or discard.';

COMMENT ON COLUMN appstore.repairs.filter IS 'Which events.';

COMMENT ON COLUMN appstore.repairs.note IS 'Free text of the actor, as in audit_log: do not name users here. Of a discard, the reason of the outcomes.';

COMMENT ON COLUMN appstore.repairs.actor IS 'The person or login that asked for it.';

COMMENT ON COLUMN appstore.repairs.asked_at IS 'When it was asked for.';

COMMENT ON COLUMN appstore.repairs.expected IS 'How many events were to be repaired: those that met the conditions then; of more than 10,000, the most that the person named.';

COMMENT ON COLUMN appstore.repairs.state IS 'running; done; stopped: by an operator, or since the actor is none now; failed: the database refused a step.';

COMMENT ON COLUMN appstore.repairs.run_at IS 'When its next step is due.';

COMMENT ON COLUMN appstore.repairs.progress IS 'What the last step returned; before the first one, when the repair was asked for.';

COMMENT ON COLUMN appstore.repairs.ended_at IS 'When it was no longer running.';

COMMENT ON COLUMN appstore.repairs.last_error IS 'Why the last step was not taken.';

CREATE VIEW appstore.repair_status AS
 SELECT r.repair_id,
    r.action,
    jsonb_strip_nulls(to_jsonb(r.filter)) AS conditions,
    r.note,
    r.actor,
    r.asked_at,
    r.state,
    r.expected,
    COALESCE((r.progress).events, (0)::bigint) AS repaired,
    COALESCE((r.progress).event_id, (0)::bigint) AS checked_upto,
    r.ended_at,
    r.last_error,
        CASE
            WHEN ((r.state = 'running'::text) AND ((r.progress).events > 0)) THEN ((GREATEST((r.expected - (r.progress).events), (0)::bigint))::double precision * ((statement_timestamp() - (r.progress).started_at) / ((r.progress).events)::double precision))
            ELSE NULL::interval
        END AS time_left
   FROM appstore.repairs r;

COMMENT ON VIEW appstore.repair_status IS 'The repairs that the console runs or ran, and how far each is.';

COMMENT ON COLUMN appstore.repair_status.repair_id IS 'The number of the repair.';

COMMENT ON COLUMN appstore.repair_status.action IS 'requeue or discard.';

COMMENT ON COLUMN appstore.repair_status.conditions IS 'Which events, as appstore.repair_filter.';

COMMENT ON COLUMN appstore.repair_status.note IS 'Why.';

COMMENT ON COLUMN appstore.repair_status.actor IS 'The person or login that asked for it.';

COMMENT ON COLUMN appstore.repair_status.asked_at IS 'When it was asked for.';

COMMENT ON COLUMN appstore.repair_status.state IS 'running, done, stopped or failed.';

COMMENT ON COLUMN appstore.repair_status.expected IS 'How many events were to be repaired: those that met the conditions then; of more than 10,000, the most that the person named.';

COMMENT ON COLUMN appstore.repair_status.repaired IS 'How many events were repaired so far.';

COMMENT ON COLUMN appstore.repair_status.checked_upto IS 'The last event that was checked; the walk goes by id.';

COMMENT ON COLUMN appstore.repair_status.ended_at IS 'When it ended.';

COMMENT ON COLUMN appstore.repair_status.last_error IS 'Why the last step was not taken.';

COMMENT ON COLUMN appstore.repair_status.time_left IS 'At the rate so far; null where it has ended, or has repaired nothing yet.';

ALTER TABLE appstore.repairs ALTER COLUMN repair_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.repairs_repair_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.retention (
    is_only boolean DEFAULT true NOT NULL,
    bodies interval,
    outcomes interval,
    rejected_bodies interval DEFAULT '1 day'::interval NOT NULL,
    rejected_outcomes interval DEFAULT '30 days'::interval NOT NULL,
    notifications interval DEFAULT '200 days'::interval NOT NULL,
    feed interval DEFAULT '30 days'::interval NOT NULL,
    deliveries interval DEFAULT '3 days'::interval NOT NULL,
    failed_deliveries interval DEFAULT '30 days'::interval NOT NULL,
    history interval DEFAULT '30 days'::interval NOT NULL,
    import_bodies interval DEFAULT '3 days'::interval,
    partition_events bigint DEFAULT 10000000 NOT NULL,
    CONSTRAINT retention_bodies_a_day CHECK ((bodies >= '1 day'::interval)),
    CONSTRAINT retention_deliveries_an_hour CHECK ((deliveries >= '01:00:00'::interval)),
    CONSTRAINT retention_failed_deliveries_outlive_others CHECK ((failed_deliveries >= deliveries)),
    CONSTRAINT retention_feed_a_day CHECK ((feed >= '1 day'::interval)),
    CONSTRAINT retention_history_outlives_second_walk CHECK ((history >= '12 days'::interval)),
    CONSTRAINT retention_import_bodies_an_hour CHECK ((import_bodies >= '01:00:00'::interval)),
    CONSTRAINT retention_is_one_row CHECK (is_only),
    CONSTRAINT retention_notifications_outlive_history CHECK ((notifications >= '181 days'::interval)),
    CONSTRAINT retention_outcomes_outlive_bodies CHECK (((outcomes IS NULL) OR ((bodies IS NOT NULL) AND (outcomes >= bodies)))),
    CONSTRAINT retention_partition_events_sensible CHECK (((partition_events >= 1000) AND (partition_events <= 1000000000))),
    CONSTRAINT retention_rejected_bodies_an_hour CHECK ((rejected_bodies >= '01:00:00'::interval)),
    CONSTRAINT retention_rejected_outcomes_outlive_bodies CHECK ((rejected_outcomes >= rejected_bodies))
);

COMMENT ON TABLE appstore.retention IS 'One row of settings, which an operator changes by UPDATE. null means for ever.';

COMMENT ON COLUMN appstore.retention.is_only IS 'Always true: the key of the only row.';

COMMENT ON COLUMN appstore.retention.bodies IS 'How long raw bodies are kept after the event''s outcome.';

COMMENT ON COLUMN appstore.retention.outcomes IS 'How long outcomes and their history are kept.';

COMMENT ON COLUMN appstore.retention.rejected_bodies IS 'How long bodies of rejected events are kept in which nothing could be verified: anyone can post such a body.';

COMMENT ON COLUMN appstore.retention.rejected_outcomes IS 'How long the outcomes of those events are kept.';

COMMENT ON COLUMN appstore.retention.notifications IS 'How long seen_notifications remembers a notification. Apple retries for days, and its notification history repeats 180 days: a copy that comes later is called superseded, no_effect or unhandled instead of duplicate.';

COMMENT ON COLUMN appstore.retention.feed IS 'How long the feed is kept; up to twice as long for a named consumer or an enabled endpoint that is behind.';

COMMENT ON COLUMN appstore.retention.deliveries IS 'How long delivery_attempts is kept.';

COMMENT ON COLUMN appstore.retention.failed_deliveries IS 'How long the attempts of it that failed are kept.';

COMMENT ON COLUMN appstore.retention.history IS 'How long history_records is kept, whose records are then only counted, and closed windows.';

COMMENT ON COLUMN appstore.retention.import_bodies IS 'How long the bodies of imports are kept after the event''s outcome: what Apple said can be asked again.';

COMMENT ON COLUMN appstore.retention.partition_events IS 'Ids in a partition. Where bodies age, the worker also closes a partition after an eighth of their age.';

CREATE VIEW appstore.revoked_events AS
 SELECT e.event_id,
    e.source,
    e.received_at,
    e.settled_at,
    e.result,
    e.notification_type,
    e.subtype,
    e.environment,
    e.bundle_id,
    e.transaction_id,
    e.original_transaction_id,
    c.fingerprint,
    c.revoked_at,
    c.crl_reason,
    c.is_ignored
   FROM (appstore.certificates c
     CROSS JOIN LATERAL ( SELECT o.event_id,
            o.source,
            o.received_at,
            o.settled_at,
            o.run,
            o.attempts,
            o.result,
            o.reason,
            o.last_error,
            o.notification_type,
            o.subtype,
            o.notification_uuid,
            o.environment,
            o.bundle_id,
            o.transaction_id,
            o.original_transaction_id
           FROM (appstore.inbox i
             JOIN appstore.outcomes o ON (((o.event_id = i.event_id) AND (o.result <> ALL (ARRAY['rejected'::appstore.result, 'failed'::appstore.result, 'discarded'::appstore.result])))))
          WHERE ((c.refuses_all OR (i.received_at >= (c.revoked_at - '00:05:00'::interval))) AND (EXISTS ( SELECT
                   FROM appstore.signers_of(i.body) s(fingerprint, signed_at)
                  WHERE ((s.fingerprint = c.fingerprint) AND (c.refuses_all OR (s.signed_at >= c.revoked_at))))))
         OFFSET 0) e)
  WHERE (c.status = 'revoked'::text);

COMMENT ON VIEW appstore.revoked_events IS 'Events that were settled before their certificate was known to be revoked, and would be rejected now. The ledger keeps what they said. It reads every body, and misses those that have aged. Once for each revoked certificate of an event.';

COMMENT ON COLUMN appstore.revoked_events.result IS 'What became of the event.';

COMMENT ON COLUMN appstore.revoked_events.notification_type IS 'This column and the following ones: what the payload says of itself.';

COMMENT ON COLUMN appstore.revoked_events.fingerprint IS 'SHA-256 of the revoked certificate.';

COMMENT ON COLUMN appstore.revoked_events.revoked_at IS 'When it was revoked.';

COMMENT ON COLUMN appstore.revoked_events.crl_reason IS 'Why.';

COMMENT ON COLUMN appstore.revoked_events.is_ignored IS 'An operator has decided that the revocation has no effect.';

CREATE TABLE appstore.schema_definitions (
    name text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    digest bytea NOT NULL,
    objects text[] NOT NULL
);

COMMENT ON TABLE appstore.schema_definitions IS 'The files of functions, views and privileges as they were last applied. migrate replaces all of them when one differs.';

COMMENT ON COLUMN appstore.schema_definitions.name IS 'The path of the file in the folder sql, without its ending.';

COMMENT ON COLUMN appstore.schema_definitions."position" IS 'The place of the file in the order of creation; objects are dropped in reverse.';

COMMENT ON COLUMN appstore.schema_definitions.digest IS 'SHA-256 of the file.';

COMMENT ON COLUMN appstore.schema_definitions.objects IS 'What the file created, in order, as DROP takes it: ''ROUTINE appstore.admits(integer)''.';

CREATE TABLE appstore.schema_history (
    version integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    is_breaking boolean NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    fingerprint text,
    CONSTRAINT schema_history_version_positive CHECK ((version > 0))
);

COMMENT ON TABLE appstore.schema_history IS 'The version that the database was created with, and each step applied since.';

COMMENT ON COLUMN appstore.schema_history.version IS 'The number of the step; of the first row the version that the tables were created in.';

COMMENT ON COLUMN appstore.schema_history.name IS 'The file of the step, or tables.';

COMMENT ON COLUMN appstore.schema_history.is_breaking IS 'The step raised the contract: programs of earlier releases stop working with the database.';

COMMENT ON COLUMN appstore.schema_history.applied_at IS 'When it was applied.';

COMMENT ON COLUMN appstore.schema_history.fingerprint IS 'In the latest row what appstore.schema_fingerprint() said of the objects that migrate has made, in the form of sql/fingerprint.txt. appstore-inbox migrate --check compares with it where the program has no fingerprint of this major version of PostgreSQL.';

CREATE TABLE appstore.seen_notifications (
    environment appstore.environment NOT NULL,
    notification_uuid uuid NOT NULL,
    seen_on date DEFAULT (now() AT TIME ZONE 'UTC'::text) NOT NULL,
    first_event_id bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE appstore.seen_notifications IS 'The first event of each notificationUUID. Written after verification, in the transaction that applies it: a forged copy cannot suppress the genuine notification. Not partitioned, since its key does not name the event: appstore.expire_notifications deletes old rows. A notification that arrives after that is merged again, which changes nothing.';

COMMENT ON COLUMN appstore.seen_notifications.seen_on IS 'The day (UTC) of the merge. Four bytes, which fit between the other columns.';

COMMENT ON COLUMN appstore.seen_notifications.first_event_id IS 'The event that brought it first; other events with it are its duplicates.';

CREATE VIEW appstore.stale_contracts AS
 SELECT w.environment,
    w.original_transaction_id,
    w.bundle_id,
    w.rule,
    w.since,
    w.next_at AS next_question_at,
    w.questions,
    m.user_id,
    m.status,
    m.access_until,
    w.transaction_id
   FROM (appstore.reconcile_watches w
     LEFT JOIN appstore.contracts m ON (((m.original_transaction_id = w.original_transaction_id) AND (m.environment = w.environment))))
  WHERE appstore.still_holds(w.*, m.*, statement_timestamp());

COMMENT ON VIEW appstore.stale_contracts IS 'Contracts of which something should have been heard: those for which a rule of the reconciliation holds, and about which Apple will be asked.';

COMMENT ON COLUMN appstore.stale_contracts.rule IS 'expired_silent, no_renewal_info, in_retry, revoked_doubt or price_consent.';

COMMENT ON COLUMN appstore.stale_contracts.since IS 'The end of the period, when the purchase came, or when the refund was asked for.';

COMMENT ON COLUMN appstore.stale_contracts.next_question_at IS 'When Apple is asked, at the earliest: not within 15 minutes of another event about the contract, nor twice a day about one customer.';

COMMENT ON COLUMN appstore.stale_contracts.questions IS 'How often Apple was asked by this rule since then.';

COMMENT ON COLUMN appstore.stale_contracts.user_id IS 'The owner of the contract.';

COMMENT ON COLUMN appstore.stale_contracts.status IS 'The status that the ledger knows.';

COMMENT ON COLUMN appstore.stale_contracts.access_until IS 'Until when the contract gives access, as far as the ledger knows.';

COMMENT ON COLUMN appstore.stale_contracts.transaction_id IS 'The charge whose refund is in doubt.';

CREATE TABLE appstore.tells (
    tell_id bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    environment appstore.environment,
    ref text NOT NULL COLLATE pg_catalog."C",
    told_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT tells_has_environment CHECK (((environment IS NULL) = (kind = ANY (ARRAY['forgotten'::text, 'failed'::text, 'raw'::text, 'test'::text, 'disabled'::text])))),
    CONSTRAINT tells_kind_is_known CHECK ((kind = ANY (ARRAY['effect'::text, 'contract'::text, 'order'::text, 'forgotten'::text, 'failed'::text, 'raw'::text, 'test'::text, 'disabled'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE appstore.tells IS 'What changed and is not in the feed yet: written by the transaction that changes it, deleted by the step of the sequencer that numbers it. Empty while the feed is off.';

COMMENT ON COLUMN appstore.tells.tell_id IS 'The order within a step. Two transactions that change one contract write their tells one after the other, under its lock.';

COMMENT ON COLUMN appstore.tells.xid IS 'The transaction that wrote it, by which the sequencer finds what was committed since its last step.';

COMMENT ON COLUMN appstore.tells.kind IS 'effect, contract (its access may have changed), order (made by the shop), forgotten, failed (an event), raw (a notification to forward), test or disabled (an endpoint).';

COMMENT ON COLUMN appstore.tells.environment IS 'Null for all but effect, contract and order.';

COMMENT ON COLUMN appstore.tells.ref IS 'effect_id, original_transaction_id, order_no, the name of the forgotten user, event_id, event_id and run (raw), or the name of the endpoint, with the reason where it is disabled.';

COMMENT ON COLUMN appstore.tells.told_at IS 'When it was written.';

ALTER TABLE appstore.tells ALTER COLUMN tell_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.tells_tell_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.told_access (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    entitlement text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    active boolean NOT NULL,
    until timestamp with time zone,
    why text NOT NULL COLLATE pg_catalog."C",
    turns_at timestamp with time zone,
    changes integer NOT NULL
)
WITH (fillfactor='80');

COMMENT ON TABLE appstore.told_access IS 'The access that was told last, by contract, entitlement and user. access.changed is told when appstore.entitlements differs from it. Only the sequencer and appstore.forget write it. Empty while the feed is off.';

COMMENT ON COLUMN appstore.told_access.entitlement IS 'The name in appstore.products, else the product''s.';

COMMENT ON COLUMN appstore.told_access.active IS 'Whether the user may use it.';

COMMENT ON COLUMN appstore.told_access.until IS 'infinity where it does not end; null while it is unknown.';

COMMENT ON COLUMN appstore.told_access.why IS 'As in appstore.entitlements; owner_changed or plan_changed where it no longer has a row there.';

COMMENT ON COLUMN appstore.told_access.turns_at IS 'When the clock alone changes it next: the begin of a grace period, or the end.';

COMMENT ON COLUMN appstore.told_access.changes IS 'How often it was told since the feed was enabled. Part of the id of access.changed.';

CREATE TABLE appstore.told_orders (
    environment appstore.environment NOT NULL,
    order_no uuid NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    changes integer NOT NULL
);

COMMENT ON TABLE appstore.told_orders IS 'The status of each order of the shop that was told last. order.paid and order.refunded are told when the status differs. Empty while the feed is off.';

COMMENT ON COLUMN appstore.told_orders.status IS 'orders.status.';

COMMENT ON COLUMN appstore.told_orders.changes IS 'How often the status changed since the feed was enabled. Part of the id.';

CREATE VIEW appstore.unmatched AS
 SELECT first.environment,
        CASE
            WHEN (u.order_no <> u.period_no) THEN 'order_unknown'::text
            WHEN (named.product_id <> t.product_id) THEN 'product_mismatch'::text
            WHEN (named.bundle_id <> t.bundle_id) THEN 'bundle_mismatch'::text
            WHEN (named.order_no IS NOT NULL) THEN 'order_paid_before'::text
            WHEN (posted.user_id IS NOT NULL) THEN 'too_late'::text
            ELSE 'no_user'::text
        END AS reason,
        CASE
            WHEN (u.order_no <> u.period_no) THEN 'create_order'::text
            WHEN (COALESCE((named.order_no)::text, posted.user_id) IS NOT NULL) THEN 'link_owner_or_refund'::text
            ELSE 'post_within_72_hours'::text
        END AS resolution,
    COALESCE(named.order_no, u.order_no) AS order_no,
    COALESCE(named.user_id, posted.user_id) AS user_id,
    NULL::text AS owner_user_id,
    u.transaction_id,
    first.original_transaction_id,
    u.paid_product_id AS product_id,
    u.paid_at AS purchase_date,
    named.product_id AS ordered_product_id,
    named.bundle_id AS ordered_bundle_id,
    first.periods
   FROM ((((( SELECT o.environment,
            o.original_transaction_id,
            count(*) AS periods,
            (array_agg(o.order_no ORDER BY (o.order_no = o.period_no), o.paid_at, (length(o.transaction_id)), o.transaction_id))[1] AS order_no
           FROM appstore.orders o
          WHERE ((o.user_id IS NULL) AND (o.status = ANY (ARRAY['paid'::text, 'partly_refunded'::text])))
          GROUP BY o.environment, o.original_transaction_id) first
     CROSS JOIN LATERAL ( SELECT o.environment,
            o.order_no,
            o.user_id,
            o.product_id,
            o.bundle_id,
            o.ordered_at,
            o.status,
            o.reason,
            o.period_no,
            o.transaction_id,
            o.original_transaction_id,
            o.web_order_line_item_id,
            o.paid_product_id,
            o.paid_at,
            o.quantity,
            o.price,
            o.currency
           FROM appstore.orders o
          WHERE ((o.order_no = first.order_no) AND (o.environment = first.environment))
         OFFSET 0) u)
     LEFT JOIN LATERAL ( SELECT t_1.product_id,
            t_1.bundle_id,
            t_1.first_token
           FROM appstore.transactions t_1
          WHERE ((t_1.transaction_id = u.transaction_id) AND (t_1.environment = u.environment))
         OFFSET 0) t ON (true))
     LEFT JOIN LATERAL ( SELECT n.order_no,
            n.user_id,
            n.product_id,
            n.bundle_id
           FROM appstore.orders n
          WHERE ((n.order_no = t.first_token) AND (n.environment = u.environment) AND (u.order_no = u.period_no))
         OFFSET 0) named ON (true))
     LEFT JOIN LATERAL ( SELECT p.user_id
           FROM appstore.client_posts p
          WHERE ((p.original_transaction_id = u.original_transaction_id) AND (p.environment = u.environment) AND (NOT p.is_receipt) AND (u.order_no = u.period_no))
          ORDER BY p.received_at, p.event_id
         LIMIT 1) posted ON (true))
UNION ALL
 SELECT n.environment,
        CASE
            WHEN (n.product_id <> t.product_id) THEN 'product_mismatch'::text
            ELSE 'bundle_mismatch'::text
        END AS reason,
    'link_owner_or_refund'::text AS resolution,
    n.order_no,
    n.user_id,
    given.user_id AS owner_user_id,
    t.transaction_id,
    t.original_transaction_id,
    t.product_id,
    t.purchase_date,
    n.product_id AS ordered_product_id,
    n.bundle_id AS ordered_bundle_id,
    1 AS periods
   FROM ((appstore.orders n
     CROSS JOIN LATERAL ( SELECT t_1.environment,
            t_1.transaction_id,
            t_1.original_transaction_id,
            t_1.web_order_line_item_id,
            t_1.bundle_id,
            t_1.product_id,
            t_1.product_type,
            t_1.subscription_group_identifier,
            t_1.purchase_date,
            t_1.original_purchase_date,
            t_1.expires_date,
            t_1.quantity,
            t_1.app_account_token,
            t_1.in_app_ownership_type,
            t_1.revocation_date,
            t_1.revocation_reason,
            t_1.revocation_type,
            t_1.revocation_percentage,
            t_1.is_upgraded,
            t_1.offer_type,
            t_1.offer_identifier,
            t_1.offer_discount_type,
            t_1.offer_period,
            t_1.storefront,
            t_1.storefront_id,
            t_1.transaction_reason,
            t_1.currency,
            t_1.price,
            t_1.app_transaction_id,
            t_1.billing_plan_type,
            t_1.signed_date,
            t_1.payload_hash,
            t_1.first_signed_date,
            t_1.first_token,
            t_1.first_token_signed_date,
            t_1.first_token_hash,
            t_1.period_no,
            t_1.is_subscription,
            t_1.is_purchased,
            t_1.order_no,
            t_1.token_changed,
            t_1.left_token,
            t_1.confers_access,
            t_1.receipt_date,
            t_1.receipt_hash,
            t_1.receipt_expires_date,
            t_1.receipt_revocation_date,
            t_1.receipt_revocation_reason,
            t_1.receipt_is_upgraded,
            t_1.left_contract
           FROM appstore.transactions t_1
          WHERE ((t_1.first_token = n.order_no) AND (t_1.environment = n.environment) AND t_1.is_purchased)
          ORDER BY t_1.purchase_date, (length(t_1.transaction_id)), t_1.transaction_id
         LIMIT 1) t)
     CROSS JOIN LATERAL ( SELECT o.user_id
           FROM appstore.orders o
          WHERE ((o.order_no = t.order_no) AND (o.environment = n.environment) AND (o.status <> 'refunded'::text) AND (o.user_id <> n.user_id))
         OFFSET 0) given)
  WHERE ((n.reason IS NOT NULL) AND (NOT (EXISTS ( SELECT
           FROM appstore.ownership_claims l
          WHERE ((l.original_transaction_id = t.original_transaction_id) AND (l.environment = n.environment) AND (l.kind = 'link'::appstore.claim_kind) AND (l.effective_at >= t.purchase_date))))))
UNION ALL
 SELECT p.environment,
    p.conflict AS reason,
    'link_owner'::text AS resolution,
    t.order_no,
    p.user_id,
    COALESCE(o.user_id, m.user_id) AS owner_user_id,
    t.transaction_id,
    p.original_transaction_id,
    t.product_id,
    t.purchase_date,
    NULL::text AS ordered_product_id,
    NULL::text AS ordered_bundle_id,
    1 AS periods
   FROM (((appstore.client_posts p
     CROSS JOIN LATERAL ( SELECT m_1.user_id,
            m_1.current_transaction_id
           FROM appstore.contracts m_1
          WHERE ((m_1.original_transaction_id = p.original_transaction_id) AND (m_1.environment = p.environment))
         OFFSET 0) m)
     CROSS JOIN LATERAL ( SELECT t_1.transaction_id,
            t_1.order_no,
            t_1.product_id,
            t_1.purchase_date
           FROM appstore.transactions t_1
          WHERE ((t_1.transaction_id = COALESCE(p.transaction_id, m.current_transaction_id)) AND (t_1.environment = p.environment))
         OFFSET 0) t)
     LEFT JOIN LATERAL ( SELECT o_1.user_id
           FROM appstore.orders o_1
          WHERE ((o_1.order_no = t.order_no) AND (o_1.environment = p.environment) AND (p.transaction_id IS NOT NULL))
         OFFSET 0) o ON (true))
  WHERE (p.conflict IS NOT NULL);

COMMENT ON VIEW appstore.unmatched IS 'Cases that need an operator''s decision: purchases that were paid and have no user, orders whose payment belongs to another user, and posts of purchases that belong to another user. A row disappears when the resolution has been carried out.';

COMMENT ON COLUMN appstore.unmatched.reason IS 'order_unknown: paid with an order number that the shop has not made; product_mismatch, bundle_mismatch: what was bought is not what the order is for; order_paid_before: the order paid another purchase; no_user: nothing names a user; too_late: posted more than 72 hours after the purchase, or by a family member; owner_conflict: user_id posted what belongs to owner_user_id.';

COMMENT ON COLUMN appstore.unmatched.resolution IS 'create_order: with order_no; post_within_72_hours: the app posts a purchase within 72 hours of it, or call link_owner; link_owner_or_refund: call link_owner if it is for user_id, or refund; link_owner: call it for user_id, or for owner_user_id to confirm.';

COMMENT ON COLUMN appstore.unmatched.user_id IS 'The user who ordered or posted it.';

COMMENT ON COLUMN appstore.unmatched.owner_user_id IS 'The other user, to whom the purchase belongs today.';

COMMENT ON COLUMN appstore.unmatched.product_id IS 'The product that was bought.';

COMMENT ON COLUMN appstore.unmatched.ordered_product_id IS 'The product that was ordered.';

COMMENT ON COLUMN appstore.unmatched.ordered_bundle_id IS 'The app that it was ordered for.';

COMMENT ON COLUMN appstore.unmatched.periods IS 'How many paid periods of the contract have no user.';

CREATE VIEW appstore_reports.charges AS
 SELECT t.environment,
    t.transaction_id,
    t.original_transaction_id,
    t.bundle_id,
    t.product_id,
    t.is_subscription,
    t.is_purchased,
    t.storefront,
    t.offer_type,
    t.offer_identifier,
    t.offer_discount_type,
    t.currency,
    t.price,
    t.transaction_reason,
    t.purchase_date,
    t.expires_date,
    r.grace_ends_at,
    LEAST(
        CASE
            WHEN t.is_subscription THEN COALESCE(r.grace_ends_at, t.expires_date)
            ELSE NULL::timestamp with time zone
        END, t.revocation_date, r.replaced_at) AS ended_at,
    COALESCE((t.offer_discount_type = 'FREE_TRIAL'::text), false) AS is_trial,
    ((NOT (t.offer_type IS DISTINCT FROM 1)) AND (t.offer_discount_type IS DISTINCT FROM 'FREE_TRIAL'::text)) AS is_intro,
        CASE
            WHEN (t.is_purchased AND (t.is_upgraded IS NOT TRUE)) THEN t.revocation_date
            ELSE NULL::timestamp with time zone
        END AS refunded_at,
        CASE
            WHEN (t.is_purchased AND (t.is_upgraded IS NOT TRUE) AND (t.revocation_date IS NOT NULL)) THEN COALESCE(t.revocation_percentage, 100000)
            ELSE 0
        END AS refunded_percentage,
    GREATEST(t.signed_date, t.receipt_date) AS stated_at
   FROM (appstore.transactions t
     LEFT JOIN appstore_reports.corrections() r(environment, transaction_id, is_copy, replaced_at, grace_ends_at) ON (((r.transaction_id = t.transaction_id) AND (r.environment = t.environment))))
  WHERE (r.is_copy IS NOT TRUE);

COMMENT ON VIEW appstore_reports.charges IS 'What all reports are made of: each charge once, and until when it gave access.';

COMMENT ON COLUMN appstore_reports.charges.is_subscription IS 'Whether it is a period of an auto-renewable subscription.';

COMMENT ON COLUMN appstore_reports.charges.is_purchased IS 'False for what a family member shares.';

COMMENT ON COLUMN appstore_reports.charges.grace_ends_at IS 'The end of the grace period in which no charge came.';

COMMENT ON COLUMN appstore_reports.charges.ended_at IS 'The end of access: the earliest of expires_date, or the end of the grace period, of a refund or revocation, and of what replaced it.';

COMMENT ON COLUMN appstore_reports.charges.is_trial IS 'Whether it is a free trial, of whatever offer.';

COMMENT ON COLUMN appstore_reports.charges.is_intro IS 'Whether it is a paid introductory offer.';

COMMENT ON COLUMN appstore_reports.charges.refunded_at IS 'When Apple refunded it, in full or in part; null of a charge that an upgrade replaced.';

COMMENT ON COLUMN appstore_reports.charges.refunded_percentage IS 'Thousandths of a per cent of the price that were refunded.';

COMMENT ON COLUMN appstore_reports.charges.stated_at IS 'When Apple signed or stated it last.';

CREATE VIEW appstore_reports.numbered AS
 SELECT c.environment,
    c.transaction_id,
    c.original_transaction_id,
    c.bundle_id,
    c.product_id,
    c.is_subscription,
    c.is_purchased,
    c.storefront,
    c.offer_type,
    c.offer_identifier,
    c.offer_discount_type,
    c.currency,
    c.price,
    c.transaction_reason,
    c.purchase_date,
    c.expires_date,
    c.grace_ends_at,
    c.ended_at,
    c.is_trial,
    c.is_intro,
    c.refunded_at,
    c.refunded_percentage,
    c.stated_at,
    row_number() OVER contract AS renewal_number,
    ((row_number() OVER contract = 1) AND (c.transaction_reason IS NOT NULL) AND (c.transaction_id <> c.original_transaction_id)) AS is_first_known,
    COALESCE((lag(c.is_trial) OVER contract AND (NOT c.is_trial)), false) AS is_trial_conversion,
    lead(c.is_trial) OVER contract AS next_is_trial,
    (lead(c.refunded_at) OVER contract IS NOT NULL) AS next_is_refunded
   FROM appstore_reports.charges c
  WINDOW contract AS (PARTITION BY c.environment, c.original_transaction_id, c.is_purchased ORDER BY c.purchase_date, (length(c.transaction_id)), c.transaction_id);

COMMENT ON VIEW appstore_reports.numbered IS 'appstore_reports.charges with the place of each charge in its contract. Sorts all charges.';

COMMENT ON COLUMN appstore_reports.numbered.is_subscription IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.is_purchased IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.grace_ends_at IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.ended_at IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.is_trial IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.is_intro IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.refunded_at IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.refunded_percentage IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.stated_at IS 'See charges.';

COMMENT ON COLUMN appstore_reports.numbered.renewal_number IS '1 for the first charge of the contract; a trial counts.';

COMMENT ON COLUMN appstore_reports.numbered.is_first_known IS 'Whether it is the first charge that is known of a contract which began before. Of what only a receipt tells this is not known: false.';

COMMENT ON COLUMN appstore_reports.numbered.is_trial_conversion IS 'Whether it is paid and the charge before it was a trial.';

COMMENT ON COLUMN appstore_reports.numbered.next_is_trial IS 'Whether the next charge is a trial; null where there is none.';

COMMENT ON COLUMN appstore_reports.numbered.next_is_refunded IS 'Whether the next charge was refunded.';

CREATE VIEW appstore_reports.transactions AS
 SELECT COALESCE(m.user_id, n.original_transaction_id) AS rc_original_app_user_id,
    COALESCE(m.user_id, n.original_transaction_id) AS rc_last_seen_app_user_id_alias,
    n.storefront AS country,
        CASE
            WHEN (n.storefront IS NOT NULL) THEN 'from_sdk'::text
            ELSE NULL::text
        END AS country_source,
    n.product_id AS product_identifier,
    NULL::text AS product_display_name,
    p.duration AS product_duration,
    (n.purchase_date AT TIME ZONE 'UTC'::text) AS start_time,
        CASE
            WHEN n.is_subscription THEN (n.expires_date AT TIME ZONE 'UTC'::text)
            ELSE NULL::timestamp without time zone
        END AS end_time,
    (n.grace_ends_at AT TIME ZONE 'UTC'::text) AS grace_period_end_time,
    (n.ended_at AT TIME ZONE 'UTC'::text) AS effective_end_time,
    'app_store'::text AS store,
    n.is_subscription AS is_auto_renewable,
    n.is_trial AS is_trial_period,
    n.is_intro AS is_in_intro_offer_period,
    (n.environment = 'Sandbox'::appstore.environment) AS is_sandbox,
    (((((n.price)::numeric * 0.001) * ((100000 - n.refunded_percentage))::numeric) / (100000)::numeric) *
        CASE
            WHEN (n.currency = 'USD'::text) THEN (1)::numeric
            ELSE ( SELECT f.per_unit
               FROM appstore.fx_rates f
              WHERE ((f.currency = n.currency) AND (f.day <= ((n.purchase_date AT TIME ZONE 'UTC'::text))::date))
              ORDER BY f.day DESC
             LIMIT 1)
        END) AS price_in_usd,
    (((n.price)::numeric * 0.001) *
        CASE
            WHEN (n.currency = 'USD'::text) THEN (1)::numeric
            ELSE ( SELECT f.per_unit
               FROM appstore.fx_rates f
              WHERE ((f.currency = n.currency) AND (f.day <= ((n.purchase_date AT TIME ZONE 'UTC'::text))::date))
              ORDER BY f.day DESC
             LIMIT 1)
        END) AS purchase_price_in_usd,
    NULL::numeric AS takehome_percentage,
    NULL::numeric AS tax_percentage,
    NULL::numeric AS commission_percentage,
    n.transaction_id AS store_transaction_id,
    n.original_transaction_id AS original_store_transaction_id,
    (n.refunded_at AT TIME ZONE 'UTC'::text) AS refunded_at,
    e.unsubscribe_detected_at,
    e.billing_issues_detected_at,
    n.currency AS purchased_currency,
    ((((n.price)::numeric * 0.001) * ((100000 - n.refunded_percentage))::numeric) / (100000)::numeric) AS price_in_purchased_currency,
    ((n.price)::numeric * 0.001) AS purchase_price_in_purchased_currency,
    COALESCE(p.entitlements, ARRAY[n.product_id]) AS entitlement_identifiers,
    n.renewal_number,
    n.is_trial_conversion,
    NULL::text AS presented_offering,
        CASE
            WHEN n.is_purchased THEN 'PURCHASED'::text
            ELSE 'FAMILY_SHARED'::text
        END AS ownership_type,
    NULL::text AS reserved_subscriber_attributes,
    NULL::text AS custom_subscriber_attributes,
    NULL::text AS platform,
    NULL::text AS experiment_id,
    NULL::text AS experiment_variant,
    (n.stated_at AT TIME ZONE 'UTC'::text) AS updated_at,
    n.offer_identifier AS offer,
        CASE n.offer_type
            WHEN 1 THEN 'introductory'::text
            WHEN 2 THEN 'promotional'::text
            WHEN 3 THEN 'offer_code'::text
            WHEN 4 THEN 'win_back'::text
            ELSE (n.offer_type)::text
        END AS offer_type,
    (m.started_at AT TIME ZONE 'UTC'::text) AS first_seen_time,
    NULL::timestamp without time zone AS auto_resume_time
   FROM (((appstore_reports.numbered n
     LEFT JOIN appstore.contracts m ON (((m.original_transaction_id = n.original_transaction_id) AND (m.environment = n.environment))))
     LEFT JOIN ( SELECT p_1.product_id,
            p_1.bundle_id,
            max(p_1.duration) AS duration,
            array_agg(p_1.entitlement ORDER BY p_1.entitlement) AS entitlements
           FROM appstore.products p_1
          GROUP BY p_1.product_id, p_1.bundle_id) p ON (((p.product_id = n.product_id) AND (p.bundle_id = n.bundle_id))))
     LEFT JOIN ( SELECT e_1.environment,
            e_1.transaction_id,
            (
                CASE
                    WHEN (max(e_1.occurred_at) FILTER (WHERE (e_1.kind = 'will_renew'::text)) > max(e_1.occurred_at) FILTER (WHERE (e_1.kind = 'will_not_renew'::text))) THEN NULL::timestamp with time zone
                    ELSE max(e_1.occurred_at) FILTER (WHERE (e_1.kind = 'will_not_renew'::text))
                END AT TIME ZONE 'UTC'::text) AS unsubscribe_detected_at,
            (min(e_1.occurred_at) FILTER (WHERE (e_1.kind = ANY (ARRAY['billing_retry_started'::text, 'grace_period_started'::text]))) AT TIME ZONE 'UTC'::text) AS billing_issues_detected_at
           FROM appstore.effect_log e_1
          WHERE (e_1.kind = ANY (ARRAY['will_renew'::text, 'will_not_renew'::text, 'billing_retry_started'::text, 'grace_period_started'::text]))
          GROUP BY e_1.environment, e_1.transaction_id) e ON (((e.transaction_id = n.transaction_id) AND (e.environment = n.environment))));

COMMENT ON VIEW appstore_reports.transactions IS 'A row for each charge, also of Sandbox, with the column names of RevenueCat''s Scheduled Data Exports, so that queries for these run here. Times are in UTC. Columns that nothing here knows are null. Prices are what Apple''s transactions say: Apple advises against using price for financial reconciliation.';

COMMENT ON COLUMN appstore_reports.transactions.rc_original_app_user_id IS 'The user to whom the contract belongs today, else the contract''s originalTransactionId.';

COMMENT ON COLUMN appstore_reports.transactions.rc_last_seen_app_user_id_alias IS 'The same as rc_original_app_user_id.';

COMMENT ON COLUMN appstore_reports.transactions.country IS 'The storefront, as Apple names it: three letters, such as USA.';

COMMENT ON COLUMN appstore_reports.transactions.country_source IS 'from_sdk where the storefront is known.';

COMMENT ON COLUMN appstore_reports.transactions.product_identifier IS 'The product.';

COMMENT ON COLUMN appstore_reports.transactions.product_display_name IS 'Always null.';

COMMENT ON COLUMN appstore_reports.transactions.product_duration IS 'The duration in appstore.products; null where no row of the product has one.';

COMMENT ON COLUMN appstore_reports.transactions.start_time IS 'purchaseDate.';

COMMENT ON COLUMN appstore_reports.transactions.end_time IS 'expiresDate of a subscription.';

COMMENT ON COLUMN appstore_reports.transactions.grace_period_end_time IS 'The end of the grace period in which no charge came; null otherwise.';

COMMENT ON COLUMN appstore_reports.transactions.effective_end_time IS 'The end of access: of the period or its grace period, or earlier by a refund, a revocation or an upgrade.';

COMMENT ON COLUMN appstore_reports.transactions.store IS 'Always app_store.';

COMMENT ON COLUMN appstore_reports.transactions.is_auto_renewable IS 'Whether it is a period of an auto-renewable subscription.';

COMMENT ON COLUMN appstore_reports.transactions.is_trial_period IS 'Whether it is a free trial, of whatever offer.';

COMMENT ON COLUMN appstore_reports.transactions.is_in_intro_offer_period IS 'Whether it is a paid introductory offer.';

COMMENT ON COLUMN appstore_reports.transactions.is_sandbox IS 'Whether the environment is Sandbox.';

COMMENT ON COLUMN appstore_reports.transactions.price_in_usd IS 'price_in_purchased_currency by the rate of the day in appstore.fx_rates; null without a rate.';

COMMENT ON COLUMN appstore_reports.transactions.purchase_price_in_usd IS 'purchase_price_in_purchased_currency by the rate of the day in appstore.fx_rates; null without a rate.';

COMMENT ON COLUMN appstore_reports.transactions.takehome_percentage IS 'Always null: Apple does not tell it.';

COMMENT ON COLUMN appstore_reports.transactions.tax_percentage IS 'Always null: Apple does not tell it.';

COMMENT ON COLUMN appstore_reports.transactions.commission_percentage IS 'Always null: Apple does not tell it.';

COMMENT ON COLUMN appstore_reports.transactions.store_transaction_id IS 'Apple''s transactionId, the key within an environment.';

COMMENT ON COLUMN appstore_reports.transactions.original_store_transaction_id IS 'Apple''s originalTransactionId: the contract.';

COMMENT ON COLUMN appstore_reports.transactions.refunded_at IS 'When it was refunded, in full or in part; null where an upgrade replaced it.';

COMMENT ON COLUMN appstore_reports.transactions.unsubscribe_detected_at IS 'When the customer turned off renewal in this period and did not turn it on again.';

COMMENT ON COLUMN appstore_reports.transactions.billing_issues_detected_at IS 'When Apple first said that the renewal of this period failed.';

COMMENT ON COLUMN appstore_reports.transactions.purchased_currency IS 'The currency of the price.';

COMMENT ON COLUMN appstore_reports.transactions.price_in_purchased_currency IS 'The price less its refund; null of a charge that only a receipt tells.';

COMMENT ON COLUMN appstore_reports.transactions.purchase_price_in_purchased_currency IS 'The price; null of a charge that only a receipt tells.';

COMMENT ON COLUMN appstore_reports.transactions.entitlement_identifiers IS 'The entitlements of the product in appstore.products, else its own name.';

COMMENT ON COLUMN appstore_reports.transactions.renewal_number IS 'The place of the charge in its contract, from 1; a trial counts.';

COMMENT ON COLUMN appstore_reports.transactions.is_trial_conversion IS 'Whether it is paid and the charge before it was a trial.';

COMMENT ON COLUMN appstore_reports.transactions.presented_offering IS 'Always null.';

COMMENT ON COLUMN appstore_reports.transactions.ownership_type IS 'PURCHASED or FAMILY_SHARED.';

COMMENT ON COLUMN appstore_reports.transactions.reserved_subscriber_attributes IS 'Always null.';

COMMENT ON COLUMN appstore_reports.transactions.custom_subscriber_attributes IS 'Always null.';

COMMENT ON COLUMN appstore_reports.transactions.platform IS 'Always null.';

COMMENT ON COLUMN appstore_reports.transactions.experiment_id IS 'Always null.';

COMMENT ON COLUMN appstore_reports.transactions.experiment_variant IS 'Always null.';

COMMENT ON COLUMN appstore_reports.transactions.updated_at IS 'When Apple signed or stated the charge last.';

COMMENT ON COLUMN appstore_reports.transactions.offer IS 'The offer''s identifier; introductory offers have none.';

COMMENT ON COLUMN appstore_reports.transactions.offer_type IS 'introductory, promotional, offer_code or win_back.';

COMMENT ON COLUMN appstore_reports.transactions.first_seen_time IS 'The first charge of the contract.';

COMMENT ON COLUMN appstore_reports.transactions.auto_resume_time IS 'Always null.';

ALTER TABLE ONLY appstore.inbox ATTACH PARTITION appstore.inbox_default DEFAULT;

ALTER TABLE ONLY appstore.inbox ATTACH PARTITION appstore.inbox_first FOR VALUES FROM (MINVALUE) TO ('10000000');

ALTER TABLE ONLY appstore.outcomes ATTACH PARTITION appstore.outcomes_default DEFAULT;

ALTER TABLE ONLY appstore.outcomes ATTACH PARTITION appstore.outcomes_first FOR VALUES FROM (MINVALUE) TO ('10000000');

ALTER TABLE ONLY appstore.inbox ALTER COLUMN event_id SET DEFAULT nextval('appstore.inbox_event_id'::regclass);

ALTER TABLE ONLY appstore.api_budgets
    ADD CONSTRAINT api_budgets_pkey PRIMARY KEY (bundle_id, environment, endpoint);

ALTER TABLE ONLY appstore.api_keys
    ADD CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash);

ALTER TABLE ONLY appstore.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY appstore.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (audit_id);

ALTER TABLE ONLY appstore.batch_markers
    ADD CONSTRAINT batch_markers_pkey PRIMARY KEY (lane);

ALTER TABLE ONLY appstore.call_kinds
    ADD CONSTRAINT call_kinds_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY appstore.certificates
    ADD CONSTRAINT certificates_pkey PRIMARY KEY (fingerprint);

ALTER TABLE ONLY appstore.client_posts
    ADD CONSTRAINT client_posts_key UNIQUE NULLS NOT DISTINCT (original_transaction_id, environment, user_id, is_receipt, transaction_id);

ALTER TABLE ONLY appstore.consents
    ADD CONSTRAINT consents_pkey PRIMARY KEY (consent_id);

ALTER TABLE ONLY appstore.console_logins
    ADD CONSTRAINT console_logins_pkey PRIMARY KEY (token_hash);

ALTER TABLE ONLY appstore.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY appstore.consumption_counted
    ADD CONSTRAINT consumption_counted_pkey PRIMARY KEY (transaction_id, environment);

ALTER TABLE ONLY appstore.consumption_decisions
    ADD CONSTRAINT consumption_decisions_pkey PRIMARY KEY (decision_id);

ALTER TABLE ONLY appstore.consumption_obligations
    ADD CONSTRAINT consumption_obligations_pkey PRIMARY KEY (transaction_id, environment);

ALTER TABLE ONLY appstore.consumption_policies
    ADD CONSTRAINT consumption_policies_key UNIQUE NULLS NOT DISTINCT (bundle_id, product_id);

ALTER TABLE ONLY appstore.contracts
    ADD CONSTRAINT contracts_pkey PRIMARY KEY (original_transaction_id, environment);

ALTER TABLE ONLY appstore.customer_revisions
    ADD CONSTRAINT customer_revisions_pkey PRIMARY KEY (original_transaction_id, environment);

ALTER TABLE ONLY appstore.delivery_attempts
    ADD CONSTRAINT delivery_attempts_pkey PRIMARY KEY (attempt_id);

ALTER TABLE ONLY appstore.effect_log
    ADD CONSTRAINT effect_log_pkey PRIMARY KEY (effect_id);

ALTER TABLE ONLY appstore.endpoints
    ADD CONSTRAINT endpoints_pkey PRIMARY KEY (name);

ALTER TABLE ONLY appstore.event_contracts
    ADD CONSTRAINT event_contracts_pkey PRIMARY KEY (original_transaction_id, environment, event_id);

ALTER TABLE ONLY appstore.feed_consumers
    ADD CONSTRAINT feed_consumers_pkey PRIMARY KEY (name);

ALTER TABLE ONLY appstore.feed_generations
    ADD CONSTRAINT feed_generations_pkey PRIMARY KEY (generation);

ALTER TABLE ONLY appstore.feed_head
    ADD CONSTRAINT feed_head_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY appstore.feed
    ADD CONSTRAINT feed_pkey PRIMARY KEY ("position");

ALTER TABLE ONLY appstore.feed_switch
    ADD CONSTRAINT feed_switch_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY appstore.fence
    ADD CONSTRAINT fence_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY appstore.fx_rates
    ADD CONSTRAINT fx_rates_pkey PRIMARY KEY (currency, day);

ALTER TABLE ONLY appstore.history_counts
    ADD CONSTRAINT history_counts_pkey PRIMARY KEY (bundle_id, environment, mode, class);

ALTER TABLE ONLY appstore.history_cursors
    ADD CONSTRAINT history_cursors_pkey PRIMARY KEY (bundle_id, environment);

ALTER TABLE ONLY appstore.history_records
    ADD CONSTRAINT history_records_pkey PRIMARY KEY (notification_uuid, environment);

ALTER TABLE ONLY appstore.history_windows
    ADD CONSTRAINT history_windows_pkey PRIMARY KEY (window_id);

ALTER TABLE ONLY appstore.import_chunks
    ADD CONSTRAINT import_chunks_pkey PRIMARY KEY (import_id, first_line);

ALTER TABLE ONLY appstore.import_items
    ADD CONSTRAINT import_items_pkey PRIMARY KEY (import_id, line);

ALTER TABLE ONLY appstore.import_links_due
    ADD CONSTRAINT import_links_due_pkey PRIMARY KEY (import_id, first_line, line);

ALTER TABLE ONLY appstore.import_rates
    ADD CONSTRAINT import_rates_pkey PRIMARY KEY (import_id, at);

ALTER TABLE ONLY appstore.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (import_id);

ALTER TABLE ONLY appstore.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_default
    ADD CONSTRAINT inbox_default_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_first
    ADD CONSTRAINT inbox_first_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_queue
    ADD CONSTRAINT inbox_queue_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.live_since
    ADD CONSTRAINT live_since_pkey PRIMARY KEY (bundle_id);

ALTER TABLE ONLY appstore.maintenance_state
    ADD CONSTRAINT maintenance_state_pkey PRIMARY KEY (task);

ALTER TABLE ONLY appstore.open_deliveries
    ADD CONSTRAINT open_deliveries_pkey PRIMARY KEY (endpoint, "position");

ALTER TABLE ONLY appstore.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (order_no, environment);

ALTER TABLE ONLY appstore.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (call_id);

ALTER TABLE ONLY appstore.outcome_history
    ADD CONSTRAINT outcome_history_pkey PRIMARY KEY (event_id, run);

ALTER TABLE ONLY appstore.outcomes
    ADD CONSTRAINT outcomes_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.outcomes_default
    ADD CONSTRAINT outcomes_default_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.outcomes_first
    ADD CONSTRAINT outcomes_first_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.owner_links
    ADD CONSTRAINT owner_links_pkey PRIMARY KEY (link_id);

ALTER TABLE ONLY appstore.ownership_claims
    ADD CONSTRAINT ownership_claims_pkey PRIMARY KEY (original_transaction_id, environment, kind, source_id);

ALTER TABLE ONLY appstore.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (product_id, bundle_id, entitlement);

ALTER TABLE ONLY appstore.reconcile_counts
    ADD CONSTRAINT reconcile_counts_pkey PRIMARY KEY (day, rule);

ALTER TABLE ONLY appstore.reconcile_questions
    ADD CONSTRAINT reconcile_questions_pkey PRIMARY KEY (question_id);

ALTER TABLE ONLY appstore.reconcile_walks
    ADD CONSTRAINT reconcile_walks_pkey PRIMARY KEY (bundle_id, environment, walk);

ALTER TABLE ONLY appstore.reconcile_watches
    ADD CONSTRAINT reconcile_watches_pkey PRIMARY KEY (original_transaction_id, environment, rule);

ALTER TABLE ONLY appstore.redeliveries
    ADD CONSTRAINT redeliveries_pkey PRIMARY KEY (redelivery_id);

ALTER TABLE ONLY appstore.refund_requests
    ADD CONSTRAINT refund_requests_pkey PRIMARY KEY (notification_uuid, environment);

ALTER TABLE ONLY appstore.repairs
    ADD CONSTRAINT repairs_pkey PRIMARY KEY (repair_id);

ALTER TABLE ONLY appstore.retention
    ADD CONSTRAINT retention_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY appstore.schema_definitions
    ADD CONSTRAINT schema_definitions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY appstore.schema_history
    ADD CONSTRAINT schema_history_pkey PRIMARY KEY (version);

ALTER TABLE ONLY appstore.seen_notifications
    ADD CONSTRAINT seen_notifications_pkey PRIMARY KEY (notification_uuid, environment);

ALTER TABLE ONLY appstore.tells
    ADD CONSTRAINT tells_pkey PRIMARY KEY (tell_id);

ALTER TABLE ONLY appstore.told_access
    ADD CONSTRAINT told_access_pkey PRIMARY KEY (original_transaction_id, environment, entitlement, user_id);

ALTER TABLE ONLY appstore.told_orders
    ADD CONSTRAINT told_orders_pkey PRIMARY KEY (order_no, environment);

ALTER TABLE ONLY appstore.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (transaction_id, environment);

ALTER TABLE ONLY appstore.v1_renewals
    ADD CONSTRAINT v1_renewals_pkey PRIMARY KEY (original_transaction_id, environment, bundle_id);

CREATE INDEX audit_log_by_event ON appstore.audit_log USING gin (event_ids);

CREATE INDEX audit_log_by_user ON appstore.audit_log USING btree (((details ->> 'user_id'::text))) WHERE ((details ->> 'user_id'::text) IS NOT NULL);

CREATE INDEX client_posts_by_user ON appstore.client_posts USING btree (user_id);

CREATE INDEX client_posts_in_conflict ON appstore.client_posts USING btree (environment, original_transaction_id) WHERE (conflict IS NOT NULL);

CREATE INDEX consents_by_user ON appstore.consents USING btree (user_id);

CREATE UNIQUE INDEX consents_in_force ON appstore.consents USING btree (user_id) WHERE (withdrawn_at IS NULL);

CREATE UNIQUE INDEX console_sessions_by_hash ON appstore.console_sessions USING btree (session_hash);

CREATE UNIQUE INDEX consumption_decisions_by_call ON appstore.consumption_decisions USING btree (call_id);

CREATE INDEX consumption_decisions_by_transaction ON appstore.consumption_decisions USING btree (transaction_id, environment);

CREATE INDEX consumption_decisions_by_user ON appstore.consumption_decisions USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX consumption_obligations_by_due ON appstore.consumption_obligations USING btree (due_at);

CREATE INDEX contracts_by_user ON appstore.contracts USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX delivery_attempts_about ON appstore.delivery_attempts USING btree (subject) WHERE ((answer IS NOT NULL) AND (subject IS NOT NULL));

CREATE INDEX delivery_attempts_by_endpoint ON appstore.delivery_attempts USING btree (endpoint, attempt_id);

CREATE INDEX effect_log_by_contract ON appstore.effect_log USING btree (original_transaction_id, occurred_at);

CREATE INDEX effect_log_with_grace ON appstore.effect_log USING btree (original_transaction_id) WHERE (grace_period_expires_date IS NOT NULL);

CREATE INDEX event_contracts_by_event ON appstore.event_contracts USING btree (event_id);

CREATE INDEX feed_by_from_user ON ONLY appstore.feed USING btree (from_user_id) WHERE (from_user_id IS NOT NULL);

CREATE INDEX feed_by_user ON ONLY appstore.feed USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX history_records_by_time ON appstore.history_records USING btree (listed_at);

CREATE INDEX history_records_open ON appstore.history_records USING btree (event_id) WHERE is_open;

CREATE INDEX history_windows_closed ON appstore.history_windows USING btree (closed_at) WHERE (state <> 'open'::text);

CREATE INDEX history_windows_open ON appstore.history_windows USING btree (bundle_id, environment, ends_at) WHERE (state = 'open'::text);

CREATE INDEX import_chunks_due ON appstore.import_chunks USING btree (import_id, environment, run_at) WHERE (phase <> 'link'::text);

CREATE INDEX import_chunks_to_link ON appstore.import_chunks USING btree (link_at) WHERE (link_at IS NOT NULL);

CREATE UNIQUE INDEX import_items_by_id ON appstore.import_items USING btree (id, import_id);

CREATE INDEX import_items_by_user ON appstore.import_items USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX imports_by_file ON appstore.imports USING btree (file_sha256);

CREATE INDEX inbox_by_poster ON ONLY appstore.inbox USING btree (appstore.posted_by(body)) WHERE (source = 'client_transaction'::text);

CREATE INDEX inbox_default_posted_by_idx ON appstore.inbox_default USING btree (appstore.posted_by(body)) WHERE (source = 'client_transaction'::text);

CREATE INDEX inbox_receipts_by_poster ON ONLY appstore.inbox USING btree (appstore.posted_by(body)) WHERE (source = 'client_receipt'::text);

CREATE INDEX inbox_default_posted_by_idx1 ON appstore.inbox_default USING btree (appstore.posted_by(body)) WHERE (source = 'client_receipt'::text);

CREATE INDEX inbox_first_posted_by_idx ON appstore.inbox_first USING btree (appstore.posted_by(body)) WHERE (source = 'client_transaction'::text);

CREATE INDEX inbox_first_posted_by_idx1 ON appstore.inbox_first USING btree (appstore.posted_by(body)) WHERE (source = 'client_receipt'::text);

CREATE INDEX inbox_queue_by_run_at ON appstore.inbox_queue USING btree (run_at, event_id);

CREATE INDEX inbox_queue_isolated ON appstore.inbox_queue USING btree (deaths, run_at, event_id) WHERE is_isolated;

CREATE INDEX open_deliveries_by_position ON appstore.open_deliveries USING btree (endpoint, "position") WHERE (given_up_at IS NULL);

CREATE INDEX open_deliveries_due ON appstore.open_deliveries USING btree (endpoint, run_at, "position") WHERE (given_up_at IS NULL);

CREATE INDEX open_deliveries_failed ON appstore.open_deliveries USING btree ((((endpoint || ' '::text) || subject)), first_failed_at) WHERE ((given_up_at IS NULL) AND (first_failed_at IS NOT NULL));

CREATE INDEX open_deliveries_given_up ON appstore.open_deliveries USING btree (endpoint, "position") WHERE (given_up_at IS NOT NULL);

CREATE INDEX open_deliveries_waiting ON appstore.open_deliveries USING btree ((((endpoint || ' '::text) || subject)), "position") WHERE ((given_up_at IS NULL) AND (first_failed_at IS NULL));

CREATE INDEX orders_by_period ON appstore.orders USING btree (period_no) WHERE (order_no <> period_no);

CREATE INDEX orders_by_token_of_contract ON appstore.orders USING btree (original_transaction_id) WHERE ((order_no = period_no) IS FALSE);

CREATE INDEX orders_by_user ON appstore.orders USING btree (user_id, ordered_at, order_no) WHERE (ordered_at IS NOT NULL);

CREATE INDEX orders_not_paid ON appstore.orders USING btree (environment, order_no) WHERE (reason IS NOT NULL);

CREATE INDEX orders_without_user ON appstore.orders USING btree (environment, original_transaction_id) WHERE ((user_id IS NULL) AND (status = ANY (ARRAY['paid'::text, 'partly_refunded'::text])));

CREATE INDEX outbox_awaited ON appstore.outbox USING btree (asked_at, call_id) WHERE ((state = 'open'::text) AND (fallback_source IS NOT NULL) AND (fallback_event_id IS NULL));

CREATE INDEX outbox_by_key ON appstore.outbox USING btree (call_key, kind, call_id);

CREATE INDEX outbox_deadlines ON appstore.outbox USING btree (deadline_at, call_id) WHERE (state = 'open'::text);

CREATE INDEX outbox_due ON appstore.outbox USING btree (bundle_id, environment, kind, priority, run_at, call_id) WHERE (state = 'open'::text);

CREATE INDEX outbox_of_answer ON appstore.outbox USING btree (answer_event_id) WHERE (answer_event_id IS NOT NULL);

CREATE INDEX outbox_of_event ON appstore.outbox USING btree (event_id) WHERE (event_id IS NOT NULL);

CREATE UNIQUE INDEX outbox_open ON appstore.outbox USING btree (call_key, kind) WHERE (state = 'open'::text);

CREATE INDEX outbox_settled ON appstore.outbox USING btree (settled_at, call_id) WHERE (state <> 'open'::text);

CREATE INDEX outcome_history_by_replaced_at ON appstore.outcome_history USING btree (replaced_at);

CREATE INDEX outcomes_by_contract ON ONLY appstore.outcomes USING btree (original_transaction_id) WHERE (original_transaction_id IS NOT NULL);

CREATE INDEX outcomes_by_time ON ONLY appstore.outcomes USING btree (settled_at, event_id);

CREATE INDEX outcomes_default_original_transaction_id_idx ON appstore.outcomes_default USING btree (original_transaction_id) WHERE (original_transaction_id IS NOT NULL);

CREATE INDEX outcomes_needing_attention ON ONLY appstore.outcomes USING btree (result, settled_at, event_id) WHERE (result = ANY (ARRAY['failed'::appstore.result, 'rejected'::appstore.result, 'unhandled'::appstore.result, 'discarded'::appstore.result]));

CREATE INDEX outcomes_default_result_settled_at_event_id_idx ON appstore.outcomes_default USING btree (result, settled_at, event_id) WHERE (result = ANY (ARRAY['failed'::appstore.result, 'rejected'::appstore.result, 'unhandled'::appstore.result, 'discarded'::appstore.result]));

CREATE INDEX outcomes_default_settled_at_event_id_idx ON appstore.outcomes_default USING btree (settled_at, event_id);

CREATE INDEX outcomes_of_imports ON ONLY appstore.outcomes USING btree (settled_at, event_id) WHERE (source = ANY (ARRAY['imported_status'::text, 'imported_transaction'::text]));

CREATE INDEX outcomes_default_settled_at_event_id_idx1 ON appstore.outcomes_default USING btree (settled_at, event_id) WHERE (source = ANY (ARRAY['imported_status'::text, 'imported_transaction'::text]));

CREATE INDEX outcomes_of_purchases ON ONLY appstore.outcomes USING btree (settled_at) WHERE (source = ANY (ARRAY['client_transaction'::text, 'client_receipt'::text, 'unanswered_receipt'::text, 'transaction_info'::text, 'imported_transaction'::text]));

CREATE INDEX outcomes_default_settled_at_idx ON appstore.outcomes_default USING btree (settled_at) WHERE (source = ANY (ARRAY['client_transaction'::text, 'client_receipt'::text, 'unanswered_receipt'::text, 'transaction_info'::text, 'imported_transaction'::text]));

CREATE INDEX outcomes_first_original_transaction_id_idx ON appstore.outcomes_first USING btree (original_transaction_id) WHERE (original_transaction_id IS NOT NULL);

CREATE INDEX outcomes_first_result_settled_at_event_id_idx ON appstore.outcomes_first USING btree (result, settled_at, event_id) WHERE (result = ANY (ARRAY['failed'::appstore.result, 'rejected'::appstore.result, 'unhandled'::appstore.result, 'discarded'::appstore.result]));

CREATE INDEX outcomes_first_settled_at_event_id_idx ON appstore.outcomes_first USING btree (settled_at, event_id);

CREATE INDEX outcomes_first_settled_at_event_id_idx1 ON appstore.outcomes_first USING btree (settled_at, event_id) WHERE (source = ANY (ARRAY['imported_status'::text, 'imported_transaction'::text]));

CREATE INDEX outcomes_first_settled_at_idx ON appstore.outcomes_first USING btree (settled_at) WHERE (source = ANY (ARRAY['client_transaction'::text, 'client_receipt'::text, 'unanswered_receipt'::text, 'transaction_info'::text, 'imported_transaction'::text]));

CREATE INDEX owner_links_by_contract ON appstore.owner_links USING btree (original_transaction_id);

CREATE INDEX owner_links_by_user ON appstore.owner_links USING btree (user_id);

CREATE INDEX ownership_claims_by_user ON appstore.ownership_claims USING btree (user_id);

CREATE INDEX reconcile_questions_by_contract ON appstore.reconcile_questions USING btree (original_transaction_id, asked_at);

CREATE INDEX reconcile_questions_by_customer ON appstore.reconcile_questions USING btree (app_transaction_id, asked_at) WHERE (app_transaction_id IS NOT NULL);

CREATE INDEX reconcile_questions_open ON appstore.reconcile_questions USING btree (question_id) WHERE (result IS NULL);

CREATE INDEX reconcile_watches_due ON appstore.reconcile_watches USING btree (bundle_id, environment, (
CASE rule
    WHEN 'no_renewal_info'::text THEN 1
    WHEN 'in_retry'::text THEN 2
    ELSE 0
END), next_at);

CREATE INDEX redeliveries_open ON appstore.redeliveries USING btree (endpoint, redelivery_id) WHERE (state = 'open'::text);

CREATE INDEX refund_requests_by_transaction ON appstore.refund_requests USING btree (transaction_id, signed_date);

CREATE INDEX repairs_running ON appstore.repairs USING btree (run_at, repair_id) WHERE (state = 'running'::text);

CREATE INDEX tells_by_xid ON appstore.tells USING btree (xid, tell_id);

CREATE INDEX told_access_by_turn ON appstore.told_access USING btree (turns_at) WHERE (turns_at IS NOT NULL);

CREATE INDEX told_access_by_user ON appstore.told_access USING btree (user_id);

CREATE INDEX transactions_by_contract ON appstore.transactions USING btree (original_transaction_id, purchase_date DESC, expires_date DESC NULLS LAST, length(transaction_id) DESC, transaction_id DESC);

CREATE INDEX transactions_by_expiry ON appstore.transactions USING btree ((expires_date AT TIME ZONE 'UTC'::text)) WHERE (expires_date IS NOT NULL);

CREATE INDEX transactions_by_first_token ON appstore.transactions USING btree (first_token, purchase_date, length(transaction_id), transaction_id) WHERE (first_token IS NOT NULL);

CREATE INDEX transactions_by_later_token ON appstore.transactions USING btree (app_account_token) WHERE (app_account_token <> first_token);

CREATE INDEX transactions_by_period ON appstore.transactions USING btree (period_no);

CREATE INDEX transactions_not_renewed ON appstore.transactions USING btree (original_transaction_id) WHERE ((transaction_id <> original_transaction_id) AND (transaction_reason IS DISTINCT FROM 'RENEWAL'::text));

CREATE INDEX transactions_of_later_token ON appstore.transactions USING btree (original_transaction_id) WHERE (app_account_token <> first_token);

ALTER INDEX appstore.inbox_pkey ATTACH PARTITION appstore.inbox_default_pkey;

ALTER INDEX appstore.inbox_by_poster ATTACH PARTITION appstore.inbox_default_posted_by_idx;

ALTER INDEX appstore.inbox_receipts_by_poster ATTACH PARTITION appstore.inbox_default_posted_by_idx1;

ALTER INDEX appstore.inbox_pkey ATTACH PARTITION appstore.inbox_first_pkey;

ALTER INDEX appstore.inbox_by_poster ATTACH PARTITION appstore.inbox_first_posted_by_idx;

ALTER INDEX appstore.inbox_receipts_by_poster ATTACH PARTITION appstore.inbox_first_posted_by_idx1;

ALTER INDEX appstore.outcomes_by_contract ATTACH PARTITION appstore.outcomes_default_original_transaction_id_idx;

ALTER INDEX appstore.outcomes_pkey ATTACH PARTITION appstore.outcomes_default_pkey;

ALTER INDEX appstore.outcomes_needing_attention ATTACH PARTITION appstore.outcomes_default_result_settled_at_event_id_idx;

ALTER INDEX appstore.outcomes_by_time ATTACH PARTITION appstore.outcomes_default_settled_at_event_id_idx;

ALTER INDEX appstore.outcomes_of_imports ATTACH PARTITION appstore.outcomes_default_settled_at_event_id_idx1;

ALTER INDEX appstore.outcomes_of_purchases ATTACH PARTITION appstore.outcomes_default_settled_at_idx;

ALTER INDEX appstore.outcomes_by_contract ATTACH PARTITION appstore.outcomes_first_original_transaction_id_idx;

ALTER INDEX appstore.outcomes_pkey ATTACH PARTITION appstore.outcomes_first_pkey;

ALTER INDEX appstore.outcomes_needing_attention ATTACH PARTITION appstore.outcomes_first_result_settled_at_event_id_idx;

ALTER INDEX appstore.outcomes_by_time ATTACH PARTITION appstore.outcomes_first_settled_at_event_id_idx;

ALTER INDEX appstore.outcomes_of_imports ATTACH PARTITION appstore.outcomes_first_settled_at_event_id_idx1;

ALTER INDEX appstore.outcomes_of_purchases ATTACH PARTITION appstore.outcomes_first_settled_at_idx;

CREATE TRIGGER consumption_settled AFTER UPDATE OF state ON appstore.outbox FOR EACH ROW WHEN (((new.kind = 'consumption'::text) AND (new.state <> old.state))) EXECUTE FUNCTION appstore.settle_consumption();

COMMENT ON TRIGGER consumption_settled ON appstore.outbox IS 'Records in consumption_decisions what became of a call.';

CREATE TRIGGER products_deleted AFTER DELETE ON appstore.products REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION appstore.tell_products();

COMMENT ON TRIGGER products_deleted ON appstore.products IS 'Tells the contracts whose access changes.';

CREATE TRIGGER products_inserted AFTER INSERT ON appstore.products REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION appstore.tell_products();

COMMENT ON TRIGGER products_inserted ON appstore.products IS 'Tells the contracts whose access changes.';

CREATE TRIGGER products_updated AFTER UPDATE ON appstore.products REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION appstore.tell_products();

COMMENT ON TRIGGER products_updated ON appstore.products IS 'Tells the contracts whose access changes.';

ALTER TABLE ONLY appstore.open_deliveries
    ADD CONSTRAINT open_deliveries_endpoint_fkey FOREIGN KEY (endpoint) REFERENCES appstore.endpoints(name) ON DELETE CASCADE;

ALTER TABLE ONLY appstore.redeliveries
    ADD CONSTRAINT redeliveries_endpoint_fkey FOREIGN KEY (endpoint) REFERENCES appstore.endpoints(name) ON DELETE CASCADE;
