-- Records certificates that signed events below a configured root.
-- A worker sends it when it has first verified a chain, and every few hours while the chain is used.
-- Returns one row without a value.
--
-- :certificates   in DER
-- :issuers        one element for each certificate
SELECT appstore.see_certificates(:certificates::bytea[], :issuers::bytea[]);
