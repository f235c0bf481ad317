-- concurrently
-- 1. What a user posted of app transactions, for appstore.forget. 2. Whose the download of an app is, by the purchases of its Apple Account.
SELECT format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON %s (appstore.posted_by(body)) WHERE source = ''client_app_transaction''',
              c.relname || '_apps_by_poster', c.oid::regclass)
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'appstore.inbox'::regclass AND to_regclass('appstore.inbox_app_transactions_by_poster') IS NULL
UNION ALL
SELECT 'CREATE INDEX IF NOT EXISTS inbox_app_transactions_by_poster ON appstore.inbox (appstore.posted_by(body)) '
       'WHERE source = ''client_app_transaction'''
UNION ALL
SELECT 'CREATE INDEX CONCURRENTLY IF NOT EXISTS transactions_by_app_transaction ON appstore.transactions (app_transaction_id, purchase_date DESC) '
       'WHERE app_transaction_id IS NOT NULL';
