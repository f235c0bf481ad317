-- Reads how many certificates signed and are revoked, and for how long responders have not answered.
-- A worker sends it every few seconds for its metrics; status and doctor send it, too.
-- Returns one row.
SELECT s.certificates, s.revoked, s.ignored, s.age_seconds, s.last_error FROM appstore.certificate_statistics() AS s;
