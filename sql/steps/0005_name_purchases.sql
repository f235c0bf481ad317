-- breaking: a worker of the release before would give copies of a purchase numbers of their own, and refunds other keys
-- 1. A purchase has one number, which all of its transactions have; until now only the transactions of a period had. The number is that of the
--    first transaction, made with SHA-1, which PostgreSQL does not have.
CREATE FUNCTION appstore.step_sha1(p_message bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    c_mask constant bigint := 4294967295;
    v_data bytea := p_message || '\x80'::bytea;
    h      bigint[] := '{1732584193,4023233417,2562383102,271733878,3285377520}';
    w      bigint[];
    a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; k bigint; x bigint;
BEGIN
    v_data := v_data || decode(repeat('00', (120 - length(v_data) % 64) % 64), 'hex') || int8send(length(p_message)::bigint * 8);
    FOR block IN 0..length(v_data) / 64 - 1 LOOP
        w := '{}';
        FOR i IN 0..79 LOOP
            IF i < 16 THEN
                x := ('x' || encode(substr(v_data, block * 64 + i * 4 + 1, 4), 'hex'))::bit(32)::bigint & c_mask;
            ELSE
                x := w[i - 2] # w[i - 7] # w[i - 13] # w[i - 15];
                x := ((x << 1) | (x >> 31)) & c_mask;
            END IF;
            w := w || x;
        END LOOP;
        a := h[1]; b := h[2]; c := h[3]; d := h[4]; e := h[5];
        FOR i IN 0..79 LOOP
            IF i < 20 THEN f := (b & c) | ((~b & c_mask) & d); k := 1518500249;
            ELSIF i < 40 THEN f := b # c # d; k := 1859775393;
            ELSIF i < 60 THEN f := ((b & c) | (b & d)) | (c & d); k := 2400959708;
            ELSE f := b # c # d; k := 3395469782;
            END IF;
            x := ((((a << 5) | (a >> 27)) & c_mask) + f + e + k + w[i + 1]) & c_mask;
            e := d; d := c; c := ((b << 30) | (b >> 2)) & c_mask; b := a; a := x;
        END LOOP;
        h := ARRAY[(h[1] + a) & c_mask, (h[2] + b) & c_mask, (h[3] + c) & c_mask, (h[4] + d) & c_mask, (h[5] + e) & c_mask];
    END LOOP;
    RETURN substr(int8send(h[1]), 5) || substr(int8send(h[2]), 5) || substr(int8send(h[3]), 5) || substr(int8send(h[4]), 5)
           || substr(int8send(h[5]), 5);
END
$$;

CREATE TABLE appstore.step_copies AS
SELECT t.environment, t.transaction_id, t.period_no AS old_no, encode(set_byte(set_byte(d.digest, 6, (get_byte(d.digest, 6) & 15) | 128), 8,
                                                                       (get_byte(d.digest, 8) & 63) | 128), 'hex')::uuid AS new_no
FROM appstore.transactions AS t
CROSS JOIN LATERAL (
    SELECT substr(appstore.step_sha1('\x6f2b0f0e531d4c8a9d5e1c6e0a7741c3'::bytea || convert_to('charge', 'UTF8') || '\x00'::bytea
                               || convert_to(t.environment::text, 'UTF8') || '\x00'::bytea || convert_to(t.original_transaction_id, 'UTF8')), 1, 16) AS digest
) AS d
WHERE NOT t.is_subscription AND t.product_type IS DISTINCT FROM 'Consumable' AND t.transaction_id <> t.original_transaction_id;

UPDATE appstore.transactions AS t
SET period_no = c.new_no, order_no = NULL, purchase_date = coalesce(t.original_purchase_date, t.purchase_date)
FROM appstore.step_copies AS c
WHERE t.transaction_id = c.transaction_id AND t.environment = c.environment;
-- What a copy paid is paid by its purchase, or not at all: the step that derives again decides.
UPDATE appstore.orders AS o SET period_no = c.new_no
FROM appstore.step_copies AS c
WHERE o.period_no = c.old_no AND o.environment = c.environment AND o.order_no <> o.period_no;
DELETE FROM appstore.orders AS o USING appstore.step_copies AS c
WHERE o.order_no = c.old_no AND o.period_no = c.old_no AND o.environment = c.environment;

-- What a copy granted is granted by its purchase, once: of several copies, and where the original granted it, the others stay as they were told.
CREATE TABLE appstore.step_grants AS
SELECT DISTINCT ON (e.environment, e.original_transaction_id) e.environment, e.effect_id, e.original_transaction_id AS subject,
       encode(set_byte(set_byte(d.digest, 6, (get_byte(d.digest, 6) & 15) | 80), 8, (get_byte(d.digest, 8) & 63) | 128), 'hex')::uuid AS new_id
FROM appstore.step_copies AS c
JOIN appstore.effect_log AS e ON e.transaction_id = c.transaction_id AND e.environment = c.environment
CROSS JOIN LATERAL (
    SELECT substr(appstore.step_sha1('\x2d9c417b6a0e4f358b57d1943ec260af'::bytea || convert_to(e.environment::text, 'UTF8') || '\x00'::bytea
                                     || convert_to('granted', 'UTF8') || '\x00'::bytea || convert_to(e.original_transaction_id, 'UTF8')), 1, 16)
           AS digest
) AS d
WHERE e.kind = 'granted' AND e.subject = e.transaction_id
ORDER BY e.environment, e.original_transaction_id, e.occurred_at, e.event_id;
DELETE FROM appstore.step_grants AS g WHERE EXISTS (SELECT FROM appstore.effect_log AS e WHERE e.effect_id = g.new_id);
UPDATE appstore.tells AS t SET ref = g.new_id::text FROM appstore.step_grants AS g WHERE t.kind = 'effect' AND t.ref = g.effect_id::text;
UPDATE appstore.effect_log AS e SET effect_id = g.new_id, subject = g.subject FROM appstore.step_grants AS g WHERE e.effect_id = g.effect_id;

-- 2. Refunds have a number instead of a date: 0 is the first, 1 the one after the first reversal.
ALTER TABLE appstore.effect_log ADD COLUMN restated_date timestamptz;
ALTER TABLE appstore.refund_requests DROP CONSTRAINT refund_requests_kind_is_known;
ALTER TABLE appstore.refund_requests ADD CONSTRAINT refund_requests_kind_is_known CHECK (kind IN ('asked', 'refunded', 'declined', 'reversed'));
INSERT INTO appstore.refund_requests (environment, notification_uuid, kind, transaction_id, original_transaction_id, signed_date)
SELECT e.environment, e.subject::uuid, 'reversed', e.transaction_id, e.original_transaction_id, e.occurred_at
FROM appstore.effect_log AS e
WHERE e.kind = 'refund_reversed' AND e.transaction_id IS NOT NULL AND e.original_transaction_id IS NOT NULL
ON CONFLICT (notification_uuid, environment) DO NOTHING;
INSERT INTO appstore.consumption_obligations (environment, transaction_id)
SELECT DISTINCT r.environment, r.transaction_id FROM appstore.refund_requests AS r WHERE r.kind = 'reversed'
ON CONFLICT (transaction_id, environment) DO NOTHING;

CREATE TABLE appstore.step_purchases_of_refunds AS
SELECT t.environment, t.transaction_id,
       CASE WHEN t.is_subscription THEN coalesce(t.original_transaction_id || '/' || t.web_order_line_item_id, t.transaction_id)
            WHEN t.product_type = 'Consumable' THEN t.transaction_id ELSE t.original_transaction_id END AS purchase
FROM appstore.transactions AS t
WHERE t.original_transaction_id IN (SELECT e.original_transaction_id FROM appstore.effect_log AS e WHERE e.kind = 'refunded');

CREATE INDEX ON appstore.step_purchases_of_refunds (purchase, environment);
ANALYZE appstore.step_purchases_of_refunds, appstore.refund_requests;

CREATE TABLE appstore.step_refunds AS
SELECT n.*, encode(set_byte(set_byte(n.digest, 6, (get_byte(n.digest, 6) & 15) | 128), 8, (get_byte(n.digest, 8) & 63) | 128), 'hex')::uuid AS new_id,
       row_number() OVER (PARTITION BY n.environment, n.purchase, n.number ORDER BY n.occurred_at, n.event_id, n.effect_id) AS place,
       max(n.occurred_at) OVER (PARTITION BY n.environment, n.purchase, n.number) AS latest
FROM (
    SELECT e.environment, e.effect_id, e.event_id, e.occurred_at, p.purchase, r.number,
           substr(sha256(convert_to(jsonb_build_array('refunded', e.environment, p.purchase, r.number)::text, 'UTF8')), 1, 16) AS digest
    FROM appstore.effect_log AS e
    JOIN appstore.step_purchases_of_refunds AS p ON p.transaction_id = e.transaction_id AND p.environment = e.environment
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS number
        FROM appstore.refund_requests AS r
        JOIN appstore.step_purchases_of_refunds AS o ON o.transaction_id = r.transaction_id AND o.environment = r.environment
        WHERE r.kind = 'reversed' AND r.environment = e.environment AND o.purchase = p.purchase
          AND date_trunc('second', r.signed_date) < date_trunc('second', e.occurred_at)
    ) AS r
    WHERE e.kind = 'refunded'
) AS n;
DELETE FROM appstore.tells AS t USING appstore.step_refunds AS r WHERE t.kind = 'effect' AND t.ref = r.effect_id::text AND r.place > 1;
UPDATE appstore.tells AS t SET ref = r.new_id::text FROM appstore.step_refunds AS r WHERE t.kind = 'effect' AND t.ref = r.effect_id::text;
DELETE FROM appstore.effect_log AS e USING appstore.step_refunds AS r WHERE e.effect_id = r.effect_id AND r.place > 1;
UPDATE appstore.effect_log AS e
SET effect_id = r.new_id, subject = r.purchase || '/' || r.number,
    restated_date = CASE WHEN date_trunc('second', r.latest) <> date_trunc('second', r.occurred_at) THEN r.latest END
FROM appstore.step_refunds AS r WHERE e.effect_id = r.effect_id AND r.place = 1;

CREATE INDEX effect_log_refunds ON appstore.effect_log (transaction_id) WHERE kind = 'refunded';

DROP TABLE appstore.step_copies, appstore.step_grants, appstore.step_purchases_of_refunds, appstore.step_refunds;
DROP FUNCTION appstore.step_sha1;

-- 3. A mark of copies, for reports. The step that derives again sets it.
ALTER TABLE appstore.transactions ADD COLUMN is_later_copy boolean NOT NULL DEFAULT false;
DROP INDEX appstore.transactions_not_renewed;
CREATE INDEX transactions_for_corrections ON appstore.transactions (original_transaction_id)
    WHERE (transaction_id <> original_transaction_id AND transaction_reason IS DISTINCT FROM 'RENEWAL') OR is_later_copy;
COMMENT ON COLUMN appstore.transactions.is_later_copy IS
    'Derived: the ledger has an earlier transaction of the same purchase, by the numbers of their ids, which counts in reports. Those of family '
    'members are compared with one another.';

COMMENT ON COLUMN appstore.transactions.purchase_date IS
    'When it was bought. Of a copy of what is kept the originalPurchaseDate: Apple gives the date of the restore as its purchaseDate.';
COMMENT ON COLUMN appstore.transactions.period_no IS
    'UUIDv8 of the purchase, which all transactions of one purchase have: of a period of a subscription, of the first transaction of what is kept, of '
    'a consumable. Its order number where no token pays for it.';
COMMENT ON COLUMN appstore.refund_requests.kind IS
    'asked: Apple asks how the purchase was consumed; refunded and declined: Apple has decided; reversed: it has taken the refund back.';
COMMENT ON COLUMN appstore.effect_log.effect_id IS
    'UUIDv5 of environment, kind and subject, of a refund appstore.refund_id: the same in every installation and after any replay.';
COMMENT ON COLUMN appstore.effect_log.subject IS
    'The identity of what happened: a purchase, a refund of it by its number (0 is the first, 1 the one after the first reversal), a transaction, a '
    'notificationUUID.';
COMMENT ON COLUMN appstore.effect_log.restated_date IS
    'Of a refund the latest other revocationDate that Apple has given for it; null in almost all.';
COMMENT ON COLUMN appstore.contracts.is_contested IS
    'The contract has a client post, a V1 register or a later token, or two purchases that run at once, or copies of the current one: a new renewal '
    'may change more than the newest purchase.';
COMMENT ON COLUMN appstore.contracts.current_transaction_id IS
    'The first transaction of the current purchase: the latest one, or the one before it where that still runs and the latest was upgraded, refunded '
    'or is not the product that the renewal info names.';
COMMENT ON COLUMN appstore.contracts.current_period_end IS 'expiresDate of the current purchase.';
COMMENT ON COLUMN appstore.contracts.revoked_at IS 'revocationDate of the current purchase.';
COMMENT ON COLUMN appstore.orders.status IS 'pending, paid, partly_refunded (a part of the price) or refunded.';
