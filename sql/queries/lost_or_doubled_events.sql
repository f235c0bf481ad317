-- Which events neither wait nor have an outcome, or both? Expect no rows. Reads all events: SET statement_timeout = 0 first.
SELECT * FROM appstore.events_not_exactly_once();
