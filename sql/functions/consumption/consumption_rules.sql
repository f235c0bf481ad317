-- Apple's rules for Send Consumption Information. Version 2 is for all purchases but those of the Advanced Commerce API, which have version 1.

CREATE OR REPLACE FUNCTION appstore.consumption_violation(
    answer appstore.consumption_answer, is_subscription boolean, ownership text, is_advanced_commerce boolean, OUT rule text, OUT message text)
LANGUAGE sql STABLE AS $$
    SELECT checked.rule, checked.message
    FROM (VALUES
        (1, 'family_shared', ownership IS DISTINCT FROM 'FAMILY_SHARED',
         'Apple takes no answer about what a family member shares (4000185)'),
        (2, 'assigned', ownership IS DISTINCT FROM 'ASSIGNED',
         'Apple takes no answer about what was assigned to another customer (4000227)'),
        (3, 'delivery', (answer).delivery IN ('DELIVERED', 'UNDELIVERED_QUALITY_ISSUE', 'UNDELIVERED_WRONG_ITEM', 'UNDELIVERED_SERVER_OUTAGE',
                                              'UNDELIVERED_OTHER'),
         'delivery must be DELIVERED, UNDELIVERED_QUALITY_ISSUE, UNDELIVERED_WRONG_ITEM, UNDELIVERED_SERVER_OUTAGE or UNDELIVERED_OTHER'),
        (4, 'sample', (answer).sample IS NOT NULL, 'sample must say whether sample content was provided before the purchase'),
        (5, 'percentage', coalesce((answer).percentage, 0) BETWEEN 0 AND 100000,
         'percentage must be from 0 to 100000, in thousandths of a percent'),
        (6, 'preference', coalesce((answer).preference, 'DECLINE') IN ('DECLINE', 'GRANT_FULL', 'GRANT_PRORATED'),
         'preference must be DECLINE, GRANT_FULL or GRANT_PRORATED, or left out'),
        (7, 'percentage_of_subscription', (answer).percentage IS NULL OR NOT is_subscription OR is_advanced_commerce,
         'Apple takes no percentage for an auto-renewable subscription (4000209)'),
        (8, 'percentage_of_undelivered', (answer).delivery = 'DELIVERED' OR coalesce((answer).percentage, 0) = 0,
         'what was not delivered cannot be consumed: percentage must be 0 or left out'),
        (9, 'prorated_of_version_1', NOT is_advanced_commerce OR (answer).preference IS DISTINCT FROM 'GRANT_PRORATED',
         'Apple knows no GRANT_PRORATED for a purchase of the Advanced Commerce API'),
        (10, 'prorated_percentage',
         (answer).preference IS DISTINCT FROM 'GRANT_PRORATED' OR is_subscription
         OR coalesce((answer).percentage > 0 AND (answer).percentage < 100000, false),
         'GRANT_PRORATED of anything but an auto-renewable subscription needs a percentage between 0 and 100000 (4000044)'),
        (11, 'details', (answer).details IS NULL OR (is_advanced_commerce AND NOT EXISTS (
                SELECT FROM jsonb_each(CASE jsonb_typeof((answer).details) WHEN 'object' THEN (answer).details ELSE '{"":0}' END) AS given (name, value)
                WHERE NOT EXISTS (
                    SELECT FROM (VALUES ('accountTenure', 7), ('playTime', 7), ('lifetimeDollarsPurchased', 7), ('lifetimeDollarsRefunded', 7),
                                        ('platform', 2), ('userStatus', 4)) AS known (name, most)
                    CROSS JOIN generate_series(0, known.most) AS number
                    WHERE known.name = given.name AND number::text = given.value::text))),
         'details are for purchases of the Advanced Commerce API: accountTenure, playTime, lifetimeDollarsPurchased and lifetimeDollarsRefunded '
         'from 0 to 7, platform from 0 to 2, userStatus from 0 to 4')
    ) AS checked (place, rule, holds, message)
    WHERE checked.holds IS NOT TRUE
    ORDER BY checked.place LIMIT 1
$$;
COMMENT ON FUNCTION appstore.consumption_violation IS
    'The first of Apple''s rules that an answer breaks, and what it says, with Apple''s error number where that is known; nulls when it breaks none. '
    'Consent is checked by appstore.decide_consumption.';

CREATE OR REPLACE FUNCTION appstore.consumption_body(answer appstore.consumption_answer, token uuid, is_advanced_commerce boolean) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN is_advanced_commerce THEN
        jsonb_build_object(
            'customerConsented', true, 'sampleContentProvided', (answer).sample, 'appAccountToken', coalesce(token::text, ''),
            'consumptionStatus', CASE WHEN (answer).percentage IS NULL THEN 0 WHEN (answer).percentage = 0 THEN 1
                                      WHEN (answer).percentage < 100000 THEN 2 ELSE 3 END,
            'deliveryStatus', CASE (answer).delivery WHEN 'DELIVERED' THEN 0 WHEN 'UNDELIVERED_QUALITY_ISSUE' THEN 1
                                                     WHEN 'UNDELIVERED_WRONG_ITEM' THEN 2 WHEN 'UNDELIVERED_SERVER_OUTAGE' THEN 3 ELSE 5 END,
            'refundPreference', CASE (answer).preference WHEN 'GRANT_FULL' THEN 1 WHEN 'DECLINE' THEN 2 ELSE 0 END,
            'accountTenure', 0, 'playTime', 0, 'lifetimeDollarsPurchased', 0, 'lifetimeDollarsRefunded', 0, 'platform', 0, 'userStatus', 0)
        || coalesce((answer).details, '{}')
    ELSE
        jsonb_strip_nulls(jsonb_build_object(
            'customerConsented', true, 'deliveryStatus', (answer).delivery, 'sampleContentProvided', (answer).sample,
            'consumptionPercentage', (answer).percentage, 'refundPreference', (answer).preference))
    END
$$;
COMMENT ON FUNCTION appstore.consumption_body IS
    'What Apple is sent: ConsumptionRequest, or ConsumptionRequestV1 for a purchase of the Advanced Commerce API, where what is not given is 0, '
    'undeclared.';

CREATE OR REPLACE FUNCTION appstore.consumption_policy(bundle_id text, product_id text) RETURNS appstore.consumption_policies
LANGUAGE sql STABLE AS $$
    SELECT p FROM appstore.consumption_policies AS p
    WHERE p.bundle_id = consumption_policy.bundle_id AND (p.product_id = consumption_policy.product_id OR p.product_id IS NULL)
    ORDER BY p.product_id IS NULL LIMIT 1
$$;
COMMENT ON FUNCTION appstore.consumption_policy IS 'The policy for a product; null where there is none, which means off.';
