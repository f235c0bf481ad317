-- Reads one report for the page Reports of the console.
-- The console sends it; only the function of :report runs.
-- Returns its rows as JSON objects, whose members are in the order of the columns.
--
-- :first, :last   the days of the range; null for the twelve months until today, of daily figures for 60 days
-- :by             what the figures are divided by; null for one figure
SELECT r.document
FROM (
    SELECT coalesce(:first::date /* null */, t.today - 59) AS first_day,
        coalesce(:first::date, (date_trunc('month', t.today::timestamp) - interval '11 months')::date) AS first_month,
        coalesce(:last::date /* null */, t.today) AS last_day
    FROM (SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date AS today) AS t
) AS days,
LATERAL (
    SELECT d.day AS place, d.value, row_to_json(d) AS document
    FROM appstore_reports.subscriptions_daily(days.first_day, days.last_day, :by::text /* null */, :sandbox::boolean) AS d
    WHERE :report::text = 'subscriptions'
    UNION ALL
    SELECT m.day, m.value, row_to_json(m)
    FROM appstore_reports.mrr_by_month(days.first_month, days.last_day, :by::text, :sandbox::boolean) AS m
    WHERE :report::text = 'mrr'
    UNION ALL
    SELECT m.period, m.value, row_to_json(m)
    FROM appstore_reports.movement(days.first_month, days.last_day, :by::text, :every::text, :sandbox::boolean) AS m
    WHERE :report::text = 'movement'
    UNION ALL
    SELECT c.period, c.value, row_to_json(c)
    FROM appstore_reports.churn(days.first_month, days.last_day, :by::text, :every::text, :sandbox::boolean) AS c
    WHERE :report::text = 'churn'
    UNION ALL
    SELECT t.period, t.value, row_to_json(t)
    FROM appstore_reports.trials(days.first_month, days.last_day, :by::text, :every::text, :sandbox::boolean) AS t
    WHERE :report::text = 'trials'
    UNION ALL
    SELECT f.period, f.value, row_to_json(f)
    FROM appstore_reports.refunds(days.first_month, days.last_day, :by::text, :every::text, :sandbox::boolean) AS f
    WHERE :report::text = 'refunds'
    UNION ALL
    SELECT s.day, s.value, row_to_json(s)
    FROM appstore_reports.renewal_status_at(days.last_day, :by::text, :sandbox::boolean) AS s
    WHERE :report::text = 'renewal_status'
    UNION ALL
    SELECT t.cohort, t.product_identifier, row_to_json(t)
    FROM appstore_reports.retention(NULL, :every::text, :first::date, :last::date, :sandbox::boolean) AS t
    WHERE :report::text = 'retention'
) AS r
ORDER BY r.place, r.value;
