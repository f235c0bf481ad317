-- Derives orders, ownership claims and contracts from what a batch has merged in one environment, and records its effects.
-- A worker sends it in the transaction of a batch, once for each environment, when all registers are merged. See appstore.apply_facts.
-- Returns the ids of the effects that are new. find_effect_events finds the others.
--
-- :transaction_ids            the transactions that the batch merged
-- :candidates                 those that are the only one of their contract here, whose renewal info the batch merged, and about which no post is
-- :candidate_contracts        their contracts
-- :submitted_contracts        contracts of which a client posted a transaction or a receipt
-- :renewed_contracts          all contracts that merge_contracts has merged or locked
-- all others: one element for each effect
SELECT applied.effect_id
FROM appstore.apply_facts(
    :environment::appstore.environment, :transaction_ids::text[], :candidates::text[], :candidate_contracts::text[],
    :submitted_contracts::text[], :renewed_contracts::text[],
    :effect_ids::uuid[], :other_effect_ids::uuid[], :kinds::text[], :subjects::text[], :event_ids::bigint[], :occurred_at::timestamptz[],
    :original_transaction_ids::text[], :effect_transaction_ids::text[], :product_ids::text[], :vouched_bundle_ids::text[],
    :grace_period_expires_dates::timestamptz[]
) AS applied (effect_id);
