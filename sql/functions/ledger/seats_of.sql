-- What views, API, feed and console show of a group and of a commitment. Without a SET clause, so that PostgreSQL inlines them.

CREATE OR REPLACE FUNCTION appstore.seats_of(m appstore.contracts, multi_seat_info jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN m.seats_bought IS NOT NULL THEN jsonb_build_object(
        'bought', m.seats_bought, 'added', m.seats_added, 'revoked', m.seats_revoked, 'renewing', m.renewal_quantity,
        'invitations', multi_seat_info ->> 'invitationManagement') END
$$;
COMMENT ON FUNCTION appstore.seats_of IS
    'The seats of a group, from the contract and the multi_seat_info of its current charge: bought, added and revoked as in contracts; renewing '
    '(renewal_quantity) is null while it is unknown; invitations is APPLE or DEVELOPER. Null without seats.';

CREATE OR REPLACE FUNCTION appstore.commitment_of(m appstore.contracts, commitment_info jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN m.commitment_until IS NOT NULL THEN jsonb_build_object(
        'until', m.commitment_until, 'payments_left', m.commitment_payments_left, 'will_renew', m.commitment_will_renew,
        'price_milliunits', (commitment_info ->> 'commitmentPrice')::bigint) END
$$;
COMMENT ON FUNCTION appstore.commitment_of IS
    'The commitment of a subscription that is charged by the month, from the contract and the commitment_info of its current charge: until, payments_left '
    'and will_renew as in contracts; price_milliunits is that of all its payments. Null without a commitment.';
