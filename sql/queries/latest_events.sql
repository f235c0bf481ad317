-- What are the latest events, and which wait or are settled?
SELECT * FROM appstore.inbox_status ORDER BY event_id DESC LIMIT 50;
