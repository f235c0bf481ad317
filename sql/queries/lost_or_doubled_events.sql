-- Is anything missing? Shows nothing: every event waits or has an outcome, and never both. Reads everything: SET statement_timeout = 0 before it.
SELECT * FROM appstore.events_not_exactly_once();
