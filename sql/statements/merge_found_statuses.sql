-- Records what answers of Apple found about subscriptions and no notification has told.
-- A worker sends it after apply_batch, once for each environment with such an effect. The lists have an element for each effect.
-- Returns the ids of the effects that are new.
SELECT found.effect_id
FROM appstore.record_found_statuses(
    :environment::appstore.environment, :effect_ids::uuid[], :subjects::text[], :event_ids::bigint[], :occurred_at::timestamptz[],
    :original_transaction_ids::text[], :transaction_ids::text[], :product_ids::text[],
    :grace_period_expires_dates::timestamptz[]
) AS found (effect_id);
