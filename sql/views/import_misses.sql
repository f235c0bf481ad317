CREATE OR REPLACE VIEW appstore.import_misses AS
SELECT i.import_id, i.line, i.id, i.user_id, CASE WHEN i.is_given THEN i.environment END AS environment,
       CASE WHEN i.state IN ('found', 'covered') THEN coalesce(i.reason, 'not_linked') WHEN i.state = 'open' AND i.reason IS NULL THEN 'not_asked'
            ELSE coalesce(i.reason, i.state::text) END AS why,
       i.state::text, i.asked, NULL::uuid AS token
FROM appstore.import_items AS i
JOIN appstore.imports AS r USING (import_id)
WHERE i.state IN ('again', 'unknown_to_apple', 'failed') OR i.reason IS NOT NULL
   OR (r.ended_at IS NOT NULL AND (i.state = 'open' OR i.user_id IS NOT NULL))
UNION ALL
SELECT t.import_id, t.line, t.id, t.user_id, CASE WHEN i.is_given THEN i.environment END, coalesce(t.error, 'token_not_set'), i.state::text, i.asked,
       t.token
FROM appstore.import_tokens AS t
JOIN appstore.imports AS r USING (import_id)
LEFT JOIN appstore.import_items AS i ON i.id = t.id AND i.import_id = t.import_id
WHERE t.error IS NOT NULL OR r.ended_at IS NOT NULL;
COMMENT ON VIEW appstore.import_misses IS
    'The items of imports that Apple did not know, refused, or whose user is no owner, and the lines whose token was refused, and why. A line may be '
    'both.';
COMMENT ON COLUMN appstore.import_misses.import_id IS 'The import.';
COMMENT ON COLUMN appstore.import_misses.line IS 'The line of the file.';
COMMENT ON COLUMN appstore.import_misses.id IS 'The id.';
COMMENT ON COLUMN appstore.import_misses.environment IS 'The environment that the file or the command names; null where both were asked.';
COMMENT ON COLUMN appstore.import_misses.why IS
    'unknown_to_apple; again: unknown, and asked once more; contract_unclear, not_linked or not_owner: found, but the user is no owner, or not yet '
    'where the import was stopped; not_asked: the import was stopped; token_of_order: the token is the number of an order; token_of_another_user; '
    'token_not_set: the import was stopped; else the error, such as apple_4000006.';
COMMENT ON COLUMN appstore.import_misses.state IS 'The state of the item.';
COMMENT ON COLUMN appstore.import_misses.asked IS 'How often it was asked.';
COMMENT ON COLUMN appstore.import_misses.token IS 'The token that does not mean the user; null where the line is missed for something else.';
