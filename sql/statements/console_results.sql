-- Counts the results of the last 24 hours, and for each the reason that is most frequent. Of more than 10,000 events it counts the latest.
-- The console's page Overview sends it, as appstore_viewer.
-- Returns a row for each result that is there, with how many events were counted in all.
SELECT counted.result::text AS result, sum(counted.events)::bigint AS events,
       (array_agg(counted.reason ORDER BY counted.events DESC, counted.reason))[1] AS reason, max(counted.events) AS events_of_reason,
       (sum(sum(counted.events)) OVER ())::bigint AS events_in_all
FROM (
    SELECT latest.result, latest.reason, count(*) AS events
    FROM (SELECT o.result, CASE WHEN o.result IN ('rejected', 'failed', 'unhandled') THEN o.reason END AS reason
          FROM appstore.outcomes AS o WHERE o.settled_at > statement_timestamp() - interval '24 hours'
          ORDER BY o.settled_at DESC, o.event_id DESC LIMIT 10000) AS latest
    GROUP BY latest.result, latest.reason
) AS counted
GROUP BY counted.result ORDER BY counted.result;
