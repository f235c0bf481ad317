extension Mutation {
    static let all = orders + owners + access + registers + legacy + plain

    private static let orders = [
        Mutation(
            rule: "an order is paid by the first purchase that names it",
            change: .function("payer", says: "ORDER BY t.purchase_date DESC, length", insteadOf: "ORDER BY t.purchase_date, length")
        ),
        Mutation(
            rule: "a charge for another product does not pay",
            change: .function("payer", says: "true", insteadOf: "ordered.product_id = t.product_id")
        ),
        Mutation(
            rule: "a family-shared charge pays no order",
            change: .function("payer", says: "", insteadOf: "AND t.is_purchased")
        ),
        Mutation(
            rule: "a period is represented by its numerically smallest charge",
            change: .function("paid_period", says: "ORDER BY ", insteadOf: "ORDER BY length(t.transaction_id), ")
        ),
    ]

    private static let owners = [
        Mutation(
            rule: "a post claims a purchase of the last 72 hours only",
            change: .function("contract_claims", says: "interval '100 hours'", insteadOf: "interval '72 hours'")
        ),
        Mutation(
            rule: "a post claims no contract with an earlier claim",
            change: .function("contract_claims", says: "false", insteadOf: "stated.effective_at <= charge.purchase_date")
        ),
        Mutation(
            rule: "of several posts the one received first counts",
            change: .function("contract_claims", says: "ORDER BY posted.received_at DESC", insteadOf: "ORDER BY posted.received_at")
        ),
        Mutation(
            rule: "a later token is a claim",
            change: .function("contract_claims", says: "false", insteadOf: "t.app_account_token <> t.first_token")
        ),
        Mutation(
            rule: "a period belongs to the owner at its purchase",
            change: .function(
                "period_user",
                says: "ORDER BY c.effective_at IS NOT NULL,",
                insteadOf: "ORDER BY c.effective_at <= p_purchased_at DESC,"
            )
        ),
    ]

    private static let access = [
        Mutation(
            rule: "a renewal statement older than the period's first statement does not cover it",
            change: .function("access_until", says: "true", insteadOf: "s.renewal_signed_date >= c.first_signed_date")
        ),
        Mutation(
            rule: "a revocation older than the renewal statement does not end access",
            change: .function("access_until", says: "true", insteadOf: "greatest(c.signed_date, c.receipt_date) > s.renewal_signed_date")
        ),
        Mutation(
            rule: "earlier paid periods stay paid when a later one is revoked",
            change: .function(
                "derive_contracts",
                says: "false AND t.expires_date <=",
                insteadOf: "t.revocation_date IS NULL AND t.expires_date <="
            )
        ),
    ]

    private static let registers = [
        Mutation(
            rule: "a newer fact replaces an older one as a whole",
            change: .trigger("new.revocation_date := coalesce(new.revocation_date, old.revocation_date)")
        ),
        Mutation(
            rule: "the first signed date of a charge is the lowest one",
            change: .trigger("new.first_signed_date := old.first_signed_date")
        ),
        Mutation(
            rule: "the first token is the oldest fact's, not the first to arrive",
            change: .trigger("new.first_token := coalesce(old.first_token, new.first_token)")
        ),
    ]

    /// The conditions under which one statement derives an event. PlainEventTests and MergeLockTests test those that histories rarely
    /// meet.
    private static let plain = [
        Mutation(
            rule: "a plain charge is of the current period or begins a new one",
            change: .function("apply_facts", says: "true AS is_new", insteadOf: "t.purchase_date > m.current_period_start AS is_new")
        ),
        Mutation(
            rule: "an event that pays an order again is not plain",
            change: .function("apply_facts", says: "true AND", insteadOf: "o.status = 'paid' AND")
        ),
    ]
}
