-- Which events failed after their last attempt, and why?
SELECT * FROM appstore.failed ORDER BY settled_at DESC LIMIT 50;
