-- What did Apple do about refunds where we preferred something?
SELECT preference, outcome, count(*), avg(refunded_percentage) / 1000 AS refunded_percent
FROM appstore.consumption_requests
WHERE environment = 'Production' AND state = 'answered' AND due_at > now() - interval '90 days'
GROUP BY preference, outcome
ORDER BY preference, outcome;
