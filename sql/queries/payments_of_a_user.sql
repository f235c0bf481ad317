-- What has a user paid, renewals included?
SELECT * FROM appstore.payments WHERE environment = 'Production' AND user_id = 'user-1' ORDER BY paid_at DESC;
