-- What became of everything? The latest events, waiting or settled.
SELECT * FROM appstore.inbox_status ORDER BY event_id DESC LIMIT 50;
