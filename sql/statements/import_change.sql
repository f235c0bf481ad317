-- Lets an import run, pause or stop.
-- appstore-inbox import pause, resume and stop send it as appstore_operator.
-- Returns one row without meaning.
SELECT appstore.change_import(:import_id::integer, :state::text);
