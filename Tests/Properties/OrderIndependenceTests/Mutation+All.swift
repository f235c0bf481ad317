extension Mutation {
    static let all = orders + owners + access + registers + legacy + plain + purchases + groups

    private static let orders = [
        Mutation(
            "an order is paid by the first purchase that names it",
            .function("payer", "ORDER BY t.purchase_date, length", becomes: "ORDER BY t.purchase_date DESC, length")
        ),
        Mutation(
            "a charge for another product does not pay",
            .function("payer", "ordered.product_id = t.product_id", becomes: "true")
        ),
        Mutation("a family-shared charge pays no order", .function("purchases_with", "AND t.is_purchased", becomes: "")),
        Mutation(
            "a purchase is represented by its transaction with the least number",
            .function(
                "purchase",
                "t.is_purchased DESC, length(t.transaction_id), t.transaction_id",
                becomes: "t.is_purchased DESC, length(t.transaction_id) DESC, t.transaction_id DESC"
            )
        ),
    ]

    private static let owners = [
        Mutation(
            "a post counts from a purchase of the last 72 hours only",
            .function("contract_claims", "interval '72 hours', false)", becomes: "interval '100 hours', false)")
        ),
        Mutation(
            "a post claims no contract with an earlier claim",
            .function("contract_claims", "known.effective_at <= CASE WHEN", becomes: "false AND known.effective_at <= CASE WHEN")
        ),
        Mutation(
            "a link that was taken back is no claim",
            .function("contract_claims", "back.user_id IS NULL", becomes: "false")
        ),
        Mutation(
            "of several posts the one received first counts",
            .function("contract_claims", "ORDER BY posted.received_at", becomes: "ORDER BY posted.received_at DESC")
        ),
        Mutation("a later token is a claim", .function("contract_claims", "t.app_account_token <> t.first_token", becomes: "false")),
        Mutation(
            "a period belongs to the owner at its purchase",
            .view("orders", "ORDER BY c.effective_at <= o.paid_at DESC,", becomes: "ORDER BY c.effective_at IS NOT NULL,")
        ),
    ]

    private static let access = [
        Mutation(
            "a renewal statement older than the period's first statement does not cover it",
            .function("period_until", "p_renewal_signed_date >= p_first_signed_date", becomes: "p_renewal_signed_date IS NOT NULL")
        ),
        Mutation(
            "how an earlier period ended is not the status of the current one",
            .function("is_of_earlier_period", "p_renewal_date <= p_purchase_date", becomes: "false")
        ),
        Mutation(
            "a revocation older than the renewal statement does not end access",
            .function("period_until", "p_stated_at > p_renewal_signed_date", becomes: "true")
        ),
        Mutation(
            "earlier paid periods stay paid when a later one is revoked",
            .function("derive_contracts", "p.revocation_date IS NULL AND p.expires_date <=", becomes: "false AND p.expires_date <=")
        ),
    ]

    private static let registers = [
        Mutation(
            "a newer fact replaces an older one as a whole",
            .trigger("new.revocation_date := coalesce(new.revocation_date, old.revocation_date)")
        ),
        Mutation("the first signed date of a charge is the lowest one", .trigger("new.first_signed_date := old.first_signed_date")),
        Mutation(
            "the first token is the oldest fact's, not the first to arrive",
            .trigger("new.first_token := coalesce(old.first_token, new.first_token)")
        ),
    ]

    /// The conditions under which one statement derives an event. PlainEventTests and MergeLockTests test those that histories rarely
    /// meet.
    private static let plain = [
        Mutation(
            "a plain charge is of the current period or begins a new one",
            .function("apply_facts", "t.purchase_date > m.current_period_start AS is_new", becomes: "true AS is_new")
        ),
        Mutation(
            "a charge before the first one is not plain",
            .function("apply_facts", "AND t.purchase_date >= m.started_at", becomes: "")
        ),
        Mutation(
            "a purchase with another transaction is not plain",
            .function("apply_facts", "o.transaction_id <> c.transaction_id", becomes: "false"),
            decidedBy: [
                10787, 10789, 10791, 10793, 10794, 10795, 10798, 10806, 10807, 10810, 10812, 10813, 10814, 10815, 10817, 10819, 10820,
                10821, 10822, 10832, 10842, 10847, 10850, 10851, 10854, 10855, 10858, 10867, 10876, 10879, 10884, 10886, 10889, 10890,
                10891, 10892, 10898, 10899, 10901, 10904, 10906, 10908, 10910, 10914, 10916, 10920, 10922, 10927, 10931, 10932,
            ]
        ),
    ]

    /// What one statement derives of a contract. To derive it again in the general way finds each of them.
    static let plainContract = [
        Mutation(
            "a plain charge brings the end of access",
            .function("apply_facts", "revoked_at = NULL, access_until = c.access_until", becomes: "revoked_at = NULL")
        ),
        Mutation(
            "a plain charge brings whether it will renew",
            .function("apply_facts", "will_renew = c.auto_renew_status = 1,", becomes: "will_renew = m.will_renew,")
        ),
        Mutation(
            "a plain charge brings the current period",
            .function("apply_facts", "current_transaction_id = c.transaction_id, ", becomes: "")
        ),
    ]
}
