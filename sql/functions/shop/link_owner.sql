CREATE OR REPLACE FUNCTION appstore.is_known_purchase(environment appstore.environment, original_transaction_id text, bundle_ids text[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
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
COMMENT ON FUNCTION appstore.is_known_purchase IS
    'Whether a transaction or contract is known by this id, of one of these apps; null bundle_ids are any.';

CREATE OR REPLACE FUNCTION appstore.lock_for_link(environment appstore.environment, original_transaction_id text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.begin_to_store();
    INSERT INTO appstore.contracts AS m (environment, original_transaction_id)
    VALUES (lock_for_link.environment, lock_for_link.original_transaction_id)
    ON CONFLICT (original_transaction_id, environment) DO UPDATE SET is_contested = m.is_contested WHERE false; -- a lock
    PERFORM FROM appstore.transactions AS t
    WHERE t.environment = lock_for_link.environment AND t.original_transaction_id = lock_for_link.original_transaction_id
    ORDER BY t.transaction_id FOR UPDATE;
END
$$;
COMMENT ON FUNCTION appstore.lock_for_link IS
    'Locks a contract and its transactions, in the order in which a merge locks, and makes the contract of a consumable, which may have none before its '
    'first link. A link is dated and the links before it are read under these locks.';

CREATE OR REPLACE FUNCTION appstore.record_owner_link(environment appstore.environment, original_transaction_id text, user_id text, linked_at timestamptz,
                                           actor text, note text, import_id integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor, note, import_id)
    VALUES (record_owner_link.environment, record_owner_link.original_transaction_id, record_owner_link.linked_at,
            record_owner_link.user_id, record_owner_link.actor, record_owner_link.note, record_owner_link.import_id);
    PERFORM appstore.derive_ledger(record_owner_link.environment, '{}', ARRAY[record_owner_link.original_transaction_id]);
END
$$;
COMMENT ON FUNCTION appstore.record_owner_link IS
    'Inserts a link and derives the ledger; without a user it takes back the links before. Only for appstore.link_owner, '
    'appstore.unlink_owner and appstore.link_import_owners, which lock first, and tests.';

CREATE OR REPLACE FUNCTION appstore.link_owner(environment appstore.environment, original_transaction_id text, user_id text, note text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
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
COMMENT ON FUNCTION appstore.link_owner IS
    'Makes a user the owner of a contract, or of a consumable, from now on; earlier periods keep their users. It fails with no_data_found when no '
    'purchase with this originalTransactionId is known. Where it fails with 40P01 or 55P03, call it again.';

CREATE OR REPLACE FUNCTION appstore.unlink_owner(environment appstore.environment, original_transaction_id text, note text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_user text; -- of the latest link
    v_left text; -- the owner without the links
BEGIN
    PERFORM appstore.check_environment(environment);
    PERFORM appstore.lock_for_link(environment, original_transaction_id);
    SELECT c.user_id INTO v_user FROM appstore.ownership_claims AS c
    WHERE c.original_transaction_id = unlink_owner.original_transaction_id AND c.environment = unlink_owner.environment AND c.kind = 'link'
      AND NOT starts_with(c.source_id, '+') -- one of the contract before a migration is undone there
    ORDER BY c.source_id DESC LIMIT 1;
    IF v_user IS NULL THEN
        RAISE EXCEPTION 'no link is in force in % for original_transaction_id %', environment, quote_nullable(original_transaction_id)
            USING ERRCODE = 'no_data_found',
                  HINT = 'Owners by an order or a post have no link, and one of the contract before a migration is undone there: '
                         'appstore.ownership_claims shows why a user is the owner.';
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
COMMENT ON FUNCTION appstore.unlink_owner IS
    'Takes back all links of a contract, as if link_owner had not been called for it, and returns its owner then: that of an order, a post or a '
    'link of the contract before a migration, or null. It fails with no_data_found when no link is in force. Where it fails with 40P01 or 55P03, call it again.';
