CREATE OR REPLACE VIEW appstore.consumption_requests AS
SELECT c.environment, c.transaction_id,
       CASE WHEN NOT (d.answer).consented OR d.reason = 'consent_withdrawn' THEN 'not_consented'
            WHEN d.result = 'answered' THEN 'answered'
            WHEN d.decision_id IS NOT NULL AND d.result IS NULL THEN CASE WHEN call.is_tried THEN 'sending' ELSE 'decided' END
            WHEN c.outcome IS NOT NULL OR c.due_at <= statement_timestamp() THEN 'missed'
            WHEN d.result = 'refused' THEN 'refused'
            ELSE 'waiting' END AS state,
       c.asked_at, c.due_at, c.reason, c.original_transaction_id, t.bundle_id, t.product_id, appstore.owner_of(o.user_id, m.user_id) AS user_id,
       t.order_no, c.is_advanced_commerce, d.decided_at, d.decided_by, (d.answer).consented, (d.answer).delivery, (d.answer).percentage,
       (d.answer).preference, CASE WHEN d.result = 'answered' THEN d.settled_at END AS answered_at,
       CASE WHEN d.result = 'refused' THEN d.reason END AS refused_with, c.outcome, c.outcome_at,
       CASE WHEN c.outcome = 'refunded' THEN t.revocation_percentage END AS refunded_percentage,
       coalesce(policy.mode = 'backend' OR policy.mode = 'default' AND EXISTS (
           SELECT FROM appstore.consents AS k WHERE k.user_id = appstore.owner_of(o.user_id, m.user_id) AND k.withdrawn_at IS NULL), false) AS is_expected
FROM appstore.consumption_obligations AS c
LEFT JOIN LATERAL (
    SELECT t.bundle_id, t.product_id, t.order_no, t.revocation_percentage FROM appstore.transactions AS t
    WHERE t.transaction_id = c.transaction_id AND t.environment = c.environment OFFSET 0
) AS t ON true
LEFT JOIN LATERAL (
    SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = t.order_no AND o.environment = c.environment OFFSET 0
) AS o ON true
LEFT JOIN LATERAL (
    SELECT m.user_id FROM appstore.contracts AS m
    WHERE m.original_transaction_id = c.original_transaction_id AND m.environment = c.environment OFFSET 0
) AS m ON true
LEFT JOIN LATERAL (
    SELECT d.* FROM appstore.consumption_decisions AS d
    WHERE d.transaction_id = c.transaction_id AND d.environment = c.environment AND d.decided_at >= c.asked_at
    ORDER BY d.decided_at DESC, d.decision_id DESC LIMIT 1
) AS d ON true
LEFT JOIN LATERAL (
    SELECT o.epoch > 0 AS is_tried FROM appstore.outbox AS o WHERE o.call_id = d.call_id OFFSET 0
) AS call ON true
LEFT JOIN LATERAL (
    SELECT p.mode FROM appstore.consumption_policies AS p
    WHERE p.bundle_id = t.bundle_id AND (p.product_id = t.product_id OR p.product_id IS NULL)
    ORDER BY p.product_id IS NULL LIMIT 1
) AS policy ON true
WHERE c.asked_at IS NOT NULL;
COMMENT ON VIEW appstore.consumption_requests IS
    'Apple''s latest request about each purchase whose refund it considers or considered, what was decided to answer, and what Apple did. Decide those '
    'in state waiting until due_at: appstore.answer_consumption.';
COMMENT ON COLUMN appstore.consumption_requests.state IS
    'waiting: nothing is decided. decided: the answer waits for a worker. sending: a worker has tried at least once. answered: Apple took it, or '
    'another program answered. refused: Apple refused it, and a correct answer can follow. missed: Apple decided or the time ended without an answer. '
    'not_consented: it was decided to send nothing, or the user withdrew the consent.';
COMMENT ON COLUMN appstore.consumption_requests.asked_at IS 'The first notification of the request; Apple repeats it and wants one answer.';
COMMENT ON COLUMN appstore.consumption_requests.due_at IS 'Twelve hours after asked_at.';
COMMENT ON COLUMN appstore.consumption_requests.reason IS 'Apple''s consumptionRequestReason.';
COMMENT ON COLUMN appstore.consumption_requests.user_id IS 'The owner of the purchase: see owner_of.';
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
COMMENT ON COLUMN appstore.consumption_requests.is_expected IS
    'Whether an answer is expected by consumption_policies: from the backend, or the default one with the user''s consent.';
