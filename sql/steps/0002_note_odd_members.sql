ALTER TABLE appstore.outcomes ADD COLUMN odd_members text[];
COMMENT ON COLUMN appstore.outcomes.odd_members IS
    'Members of genuine content that have another type than the program reads, at most 20, each by its path (transaction.price, items[].price) and '
    'without its value. They counted as absent; where one was needed, the result is unhandled. Null where all could be read.';
ALTER TABLE appstore.outcome_history ADD COLUMN odd_members text[];
COMMENT ON COLUMN appstore.outcome_history.odd_members IS 'See outcomes.';
COMMENT ON COLUMN appstore.transactions.payload_hash IS
    'SHA-256 of the JWS''s payload; one less where a member of it could not be read, so that a later reading of the same payload counts.';
