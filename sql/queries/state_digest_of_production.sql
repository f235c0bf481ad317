-- Do two databases have equal ledgers? Then the digests are equal; the parts show differences. Reads all rows: SET statement_timeout = 0 first.
SELECT appstore.state_digest('Production');
SELECT * FROM appstore.state_digest_parts('Production');
