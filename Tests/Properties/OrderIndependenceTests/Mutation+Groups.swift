extension Mutation {
    /// Groups of seats, commitments, and values that Apple may add.
    static let groups = [
        Mutation(
            "what is not purchased is no purchase",
            .function(
                "is_purchase",
                "coalesce(p_in_app_ownership_type, 'PURCHASED') = 'PURCHASED'",
                becomes: "p_in_app_ownership_type IS DISTINCT FROM 'FAMILY_SHARED'"
            )
        ),
        Mutation(
            "a revocation of a type that gives no money back is no refund",
            .function("is_refund", "coalesce(p_revocation_type, 'REFUND_FULL') IN ('REFUND_FULL', 'REFUND_PRORATED')", becomes: "true")
        ),
        Mutation(
            "seats that were added count beside the first ones",
            .function("purchase", "FILTER (WHERE appstore.is_part(t))", becomes: "FILTER (WHERE false)")
        ),
        Mutation(
            "the order has the sum of the parts",
            .view("orders", "whole.price, t.currency", becomes: "t.price, t.currency")
        ),
        Mutation(
            "an order of which seats were refunded is partly refunded",
            .view("orders", "WHEN whole.revoked_seats > 0 THEN 'partly_refunded'", becomes: "WHEN false THEN 'partly_refunded'")
        ),
        Mutation(
            "the access of a group lasts as long as one of its purchases does",
            .function("derive_contracts", "LIMIT CASE WHEN latest.has_additions THEN 100 ELSE 1 END", becomes: "LIMIT 1"),
            decidedBy: [
                5793, 5889, 5977, 6013, 6069, 6417, 7037, 7161, 7269, 7381, 7641, 7897,
            ]
        ),
        Mutation(
            "refunded seats are counted",
            .function("revoked_seats", "p_multi_seat_info ->> 'revokedSeatQuantity'", becomes: "NULL")
        ),
        Mutation(
            "the last month of a cancelled commitment does not renew",
            .function(
                "derive_contracts",
                "(commitment.will_renew OR commitment.until > current.expires_date) IS NOT FALSE",
                becomes: "true"
            )
        ),
        Mutation(
            "a group's charge is not plain",
            .function("apply_facts", "AND t.multi_seat_info IS NULL AND t.commitment_info IS NULL", becomes: "")
        ),
        Mutation(
            "what is claimed of a contract is claimed of that to which it has migrated",
            .function("contract_claims", "WHERE p_has_migrated AND", becomes: "WHERE false AND")
        ),
        Mutation(
            "a claim that comes later reaches the contracts after a migration",
            .function(
                "derive_ledger",
                "appstore.with_migrated(p_environment, v_affected.claimed || v_migrating, false, true)",
                becomes: "ARRAY(SELECT DISTINCT unnest(v_affected.claimed || v_migrating))"
            )
        ),
        Mutation(
            "what is known of a download or a token stays known",
            .function("join_statements", "coalesce(v_own -> 'known' -> v_member, v_own_at)", becomes: "v_own_at")
        ),
        Mutation(
            "the user who posted a download first has it",
            .function("merge_app_transactions", "ORDER BY first.posted_at NULLS LAST", becomes: "ORDER BY first.posted_at DESC NULLS LAST")
        ),
        Mutation(
            "claims are derived before those that follow from them",
            .function("derive_claims", "IF cardinality(p_migrated) > 0 THEN", becomes: "IF false THEN")
        ),
    ]
}
