CREATE OR REPLACE FUNCTION appstore.external_purchase_token_statistics(OUT overdue bigint, OUT due_soon bigint, OUT unreported bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
BEGIN
    SELECT count(*) FILTER (WHERE next.report_by <= statement_timestamp()),
           count(*) FILTER (WHERE next.report_by > statement_timestamp() AND next.report_by <= statement_timestamp() + interval '48 hours'),
           count(*)
    INTO overdue, due_soon, unreported
    FROM (SELECT d.report_by FROM appstore.external_purchase_tokens_due AS d WHERE d.environment = 'Production'
          ORDER BY d.report_by LIMIT 10000) AS next;
END
$$;
COMMENT ON FUNCTION appstore.external_purchase_token_statistics IS
    'Of the tokens for purchases outside the App Store in Production that you have not reported: how many are overdue, how many are due within two '
    'days, and how many there are; up to 10,000, which then means as many or more.';
