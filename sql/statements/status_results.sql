-- Counts the settled events by result.
-- appstore-inbox status sends it. It reads all outcomes.
-- Returns a row for each result that occurs.
SELECT result, count(*) AS events FROM appstore.outcomes GROUP BY result ORDER BY result;
