-- Why are events rejected?
SELECT event_id, reason, bundle_id, settled_at FROM appstore.outcomes WHERE result = 'rejected' ORDER BY settled_at DESC LIMIT 50;
