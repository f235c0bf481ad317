-- Which calls to Apple are open? waits_for no_worker: no worker runs, all are busy, or none has the app's shared secret or key.
SELECT * FROM appstore.outbox_status WHERE state = 'open' ORDER BY call_id DESC LIMIT 50;
