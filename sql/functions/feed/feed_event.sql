-- What a reader of the feed is given: the same for GET /v1/feed and for webhooks.

CREATE OR REPLACE FUNCTION appstore.feed_types() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT '{effect.granted,effect.refunded,effect.revoked,effect.refund_declined,effect.refund_reversed,effect.will_renew,effect.will_not_renew,
        effect.plan_changed,effect.offer_redeemed,effect.billing_retry_started,effect.grace_period_started,effect.grace_period_ended,
        effect.expired,effect.extended,effect.consent_asked,effect.consent_given,effect.consumption_asked,effect.status_found,
        effect.seats_refunded,effect.seats_unclaimed,effect.seats_changed,effect.consent_rescinded,effect.external_purchase_token,effect.price_changed,
        effect.metadata_updated,effect.migrated,effect.extension_completed,effect.extension_failed,
        access.changed,owner.changed,order.paid,order.refunded,user.forgotten,test,endpoint.disabled,inbox.failed,notification.received,notification.rejected}'::text[]
$$;
COMMENT ON FUNCTION appstore.feed_types IS 'The types of entries.';

CREATE OR REPLACE FUNCTION appstore.check_feed_types(types text[]) RETURNS void
LANGUAGE plpgsql AS $$
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
COMMENT ON FUNCTION appstore.check_feed_types IS 'Fails with invalid_parameter_value where one of them is neither a type nor a pattern such as effect.*.';

-- Without a SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION appstore.feed_wants(
    type text, environment appstore.environment, bundle_id text, types text[], bundle_ids text[], environments appstore.environment[])
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN types IS NULL
                THEN type <> ALL ('{test,endpoint.disabled,inbox.failed,notification.received,notification.rejected}')
                ELSE type = ANY (types) OR split_part(type, '.', 1) || '.*' = ANY (types) END
       AND (type = 'user.forgotten'
            OR (bundle_ids IS NULL OR bundle_id = ANY (bundle_ids)) IS TRUE AND (environments IS NULL OR environment = ANY (environments)) IS TRUE)
$$;
COMMENT ON FUNCTION appstore.feed_wants IS
    'Whether a reader that asks for these types, apps and environments gets an entry. Null types are all but those for operators (test, '
    'endpoint.disabled, inbox.failed, notification.received, notification.rejected); null apps or environments are any. user.forgotten concerns '
    'all apps and environments. An entry without app or environment is for readers that do not restrict it.';

CREATE OR REPLACE FUNCTION appstore.feed_generation(p_position bigint) RETURNS integer
LANGUAGE sql STABLE AS $$
    SELECT max(g.generation) FROM appstore.feed_generations AS g WHERE g.from_position <= p_position
$$;
COMMENT ON FUNCTION appstore.feed_generation IS 'The generation in which the entry at this position was numbered.';

-- The caller sets TimeZone to UTC, and passes the generation, which is the same for most of its entries.
CREATE OR REPLACE FUNCTION appstore.feed_event(f appstore.feed, p_generation integer) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'id', f.id, 'type', f.type, 'timestamp', f.occurred_at, 'generation', p_generation, 'position', f.position, 'api_version', '1',
        'data', jsonb_strip_nulls(jsonb_build_object('from_user', f.from_user_id)) || jsonb_build_object(
            'environment', f.environment, 'bundle_id', f.bundle_id, 'user', f.user_id, 'subject', f.subject, 'occurred_at', f.occurred_at) || f.data)::text
$$;
COMMENT ON FUNCTION appstore.feed_event IS
    'An entry as JSON: id, type, timestamp, generation, position, api_version and data. The same bytes each time, until appstore.forget replaces '
    'the user. Of two entries, the one with the greater (generation, position) is the later one.';
