CREATE OR REPLACE VIEW appstore.deliveries AS
SELECT a.attempt_id, a.endpoint, a.position, f.id, f.type, a.subject, a.at, a.is_redelivery, a.result, a.status, a.milliseconds, a.answer_bytes,
       a.answer, a.error
FROM appstore.delivery_attempts AS a
LEFT JOIN LATERAL (SELECT f.id, f.type FROM appstore.feed AS f WHERE f.position = a.position OFFSET 0) AS f ON true;
COMMENT ON VIEW appstore.deliveries IS 'The attempts of delivery_attempts, with what they were about.';
COMMENT ON COLUMN appstore.deliveries.attempt_id IS 'The number of the attempt.';
COMMENT ON COLUMN appstore.deliveries.endpoint IS 'The name of the endpoint.';
COMMENT ON COLUMN appstore.deliveries.position IS 'The entry.';
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
