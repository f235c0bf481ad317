CREATE OR REPLACE FUNCTION appstore.ownership_of(environment appstore.environment, original_transaction_ids text[])
RETURNS TABLE (original_transaction_id text, user_id text, kind appstore.claim_kind, effective_at timestamptz, source_id text, actor text,
               note text, is_owner boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT k.original_transaction_id, k.user_id, k.kind, k.effective_at, k.source_id, link.actor, link.note,
           row_number() OVER (PARTITION BY k.original_transaction_id
                              ORDER BY k.effective_at DESC, k.kind DESC, k.source_id DESC) = 1
    FROM unnest(ownership_of.original_transaction_ids) AS c (id)
    CROSS JOIN LATERAL (
        SELECT k.* FROM appstore.ownership_claims AS k
        WHERE k.original_transaction_id = c.id AND k.environment = ownership_of.environment OFFSET 0
    ) AS k
    LEFT JOIN LATERAL (
        SELECT l.actor, l.note FROM appstore.owner_links AS l
        WHERE k.kind = 'link' AND l.original_transaction_id
                  = CASE WHEN starts_with(k.source_id, '+') THEN split_part(substr(k.source_id, 2), '>', 1) ELSE k.original_transaction_id END
          AND l.environment = k.environment
          AND l.linked_at = k.effective_at AND l.user_id = k.user_id
        ORDER BY l.link_id DESC LIMIT 1
    ) AS link ON true
    ORDER BY k.original_transaction_id, k.effective_at DESC, k.kind DESC, k.source_id DESC
$$;
COMMENT ON FUNCTION appstore.ownership_of IS
    'The claims to contracts with their evidence, of each contract the one that decides first: is_owner. actor and note are those of a link.';
