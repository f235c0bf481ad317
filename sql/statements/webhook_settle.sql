-- Records what became of attempts, moves the cursor of an endpoint and of its redeliveries, and writes the state of its breaker.
-- The worker that leases the endpoint sends it.
-- Returns one row: whether the lease is the latest. If not, nothing has changed.
--
-- :position                                  the cursor; null leaves it where it is
-- :positions to :redeliveries                one element for each report; see appstore.settle_deliveries
-- :redelivered_through, :redelivery_ids      one element for each redelivery that moves
SELECT appstore.settle_deliveries(
    :name::text, :epoch::bigint, :position::bigint, :positions::bigint[], :subjects::text[], :results::text[], :attempts::integer[],
    :wait_ms::bigint[], :statuses::integer[], :milliseconds::integer[], :answer_bytes::bigint[], :answers::text[], :errors::text[],
    :redeliveries::bigint[], :failures::integer, :is_failing::boolean, :open_for_ms::bigint, :probes::integer, :disable_because::text,
    :redelivered_through::bigint[], :redelivery_ids::bigint[]) AS is_ours;
