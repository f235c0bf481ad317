COMMENT ON COLUMN appstore.outcomes.odd_members IS
    'Members of genuine content that have another type than the program reads, at most 20, each by its path (transaction.price, items[].price) and '
    'without its value. They counted as absent; where one was needed, the result is unhandled. Then values of Apple''s lists that the program does '
    'not know, at most 20, percent-encoded (transaction.type=Subscription%20Bundle). They were kept. Null where there was neither.';
