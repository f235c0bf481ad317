-- Stores bodies as events and puts them into the queue.
-- ingest sends it for the requests that share a commit, and without bodies to check that the database accepts some.
-- Returns an id for each body, in their order.
SELECT r.event_id FROM appstore.receive(:bodies::bytea[], :source::text) AS r (event_id);
