CREATE OR REPLACE FUNCTION appstore.history_statistics(
    OUT environments text[], OUT covered_ages double precision[], OUT failing double precision[], OUT counted_environments text[],
    OUT modes text[], OUT classes text[], OUT records bigint[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT e.environments, e.ages, e.failing, c.environments, c.modes, c.classes, c.records
    FROM (SELECT array_agg(of.environment ORDER BY of.environment) AS environments, array_agg(of.age ORDER BY of.environment) AS ages,
                 array_agg(of.failing ORDER BY of.environment) AS failing
          FROM (SELECT s.environment::text, max(extract(epoch FROM s.age))::double precision AS age,
                       coalesce(max(extract(epoch FROM statement_timestamp() - s.failing_since)), 0)::double precision AS failing
                FROM appstore.history_coverage AS s WHERE s.mode <> 'off' GROUP BY s.environment) AS of) AS e
    CROSS JOIN (SELECT array_agg(of.environment) AS environments, array_agg(of.mode) AS modes, array_agg(of.class) AS classes,
                       array_agg(of.records) AS records
                FROM (SELECT n.environment::text, n.mode, n.class, sum(n.records)::bigint AS records
                      FROM appstore.history_counts AS n GROUP BY 1, 2, 3 ORDER BY 1, 2, 3) AS of) AS c
$$;
COMMENT ON FUNCTION appstore.history_statistics IS
    'By environment, of apps whose mode is not off: the greatest age of the coverage and the longest time that a window has failed, in seconds; and '
    'how many records each class has by environment and mode. Arrays are null where there is nothing.';
