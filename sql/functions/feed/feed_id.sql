CREATE OR REPLACE FUNCTION appstore.feed_id(p_identity jsonb) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_hash bytea := substr(sha256(convert_to(p_identity::text, 'UTF8')), 1, 16);
BEGIN
    v_hash := set_byte(v_hash, 6, (get_byte(v_hash, 6) & 15) | 128);
    RETURN encode(set_byte(v_hash, 8, (get_byte(v_hash, 8) & 63) | 128), 'hex')::uuid;
END
$$;
COMMENT ON FUNCTION appstore.feed_id IS
    'A UUID of version 8 (RFC 9562) from the SHA-256 of an identity. PostgreSQL itself has no SHA-1 for one of version 5.';
