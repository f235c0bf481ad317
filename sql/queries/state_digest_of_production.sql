-- Do two databases agree? Equal digests say so; the parts say where they differ. Reads everything: SET statement_timeout = 0 before it.
SELECT appstore.state_digest('Production');
SELECT * FROM appstore.state_digest_parts('Production');
