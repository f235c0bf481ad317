-- The past of an app is quiet: an import brings effects of years, and none of them is news.

CREATE OR REPLACE FUNCTION appstore.live_effects(p_environment appstore.environment, p_effect_ids uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE AS $$
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
            SELECT l.since FROM appstore.live_since AS l
            WHERE l.bundle_id = coalesce(t.bundle_id, m.bundle_id, e.bundle_id, e.vouched_bundle_id) OFFSET 0
        ) AS l ON true
        WHERE (e.occurred_at < l.since) IS NOT TRUE);
END
$$;
COMMENT ON FUNCTION appstore.live_effects IS
    'Those of the effects that are news: that did not occur before the instant in appstore.live_since of their app. The one place where this is decided.';

CREATE OR REPLACE FUNCTION appstore.begin_live(p_bundle_id text) RETURNS void
LANGUAGE plpgsql AS $$
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
COMMENT ON FUNCTION appstore.begin_live IS
    'Gives an app its instant in appstore.live_since, unless it has one: when its first notification came that is still known, else now; not before the '
    'feed was enabled.';

CREATE OR REPLACE FUNCTION appstore.set_live_since(bundle_id text, since timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
COMMENT ON FUNCTION appstore.set_live_since IS
    'Sets from when on an app''s effects are news: the feed and webhooks are not told of those that occurred before, from now on.';
