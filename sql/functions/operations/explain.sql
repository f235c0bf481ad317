CREATE OR REPLACE FUNCTION appstore.explain(
    event_id bigint, environment text DEFAULT NULL, transaction_ids text[] DEFAULT NULL, original_transaction_ids text[] DEFAULT NULL,
    notification_uuid uuid DEFAULT NULL, effect_ids uuid[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET enable_seqscan = off SET jit = off AS $$
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
        'odd_members', CASE WHEN v_is_settled THEN v_latest -> 'odd_members' END,
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
COMMENT ON FUNCTION appstore.explain IS
    'Everything that the database knows of one event, except its body: how it stands, each run, its repairs, and the rows of the ledger that it is '
    'about, named as the tables; members that have nothing to say are absent. null for an unknown event. Without the other arguments, the labels '
    'of the latest outcome say what it is about; appstore-inbox explain passes what it reads in the body.';
