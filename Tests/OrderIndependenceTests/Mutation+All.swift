extension Mutation {
    static let all = orders + owners + access + registers + legacy + plain

    private static let orders = [
        Mutation(
            rule: "an order is paid by the first purchase that names it",
            way: .function("payer", says: "ORDER BY t.purchase_date DESC, length", insteadOf: "ORDER BY t.purchase_date, length")
        ),
        Mutation(
            rule: "a charge for another product does not pay",
            way: .function("payer", says: "true", insteadOf: "ordered.product_id = t.product_id")
        ),
        Mutation(
            rule: "what a family shares pays no order",
            way: .function("payer", says: "", insteadOf: "AND t.is_purchased")
        ),
        Mutation(
            rule: "a period is traded by its smallest number, as a number",
            way: .function("paid_period", says: "ORDER BY ", insteadOf: "ORDER BY length(t.transaction_id), ")
        ),
    ]

    private static let owners = [
        Mutation(
            rule: "a post claims a purchase of the last 72 hours only",
            way: .function("contract_claims", says: "interval '100 hours'", insteadOf: "interval '72 hours'")
        ),
        Mutation(
            rule: "a post claims nothing that was claimed by then",
            way: .function("contract_claims", says: "false", insteadOf: "stated.effective_at <= charge.purchase_date")
        ),
        Mutation(
            rule: "of several posts the one received first counts",
            way: .function("contract_claims", says: "ORDER BY posted.received_at DESC", insteadOf: "ORDER BY posted.received_at")
        ),
        Mutation(
            rule: "a later token is a claim",
            way: .function("contract_claims", says: "false", insteadOf: "t.app_account_token <> t.first_token")
        ),
        Mutation(
            rule: "a period is his who owned the contract then",
            way: .function(
                "period_user",
                says: "ORDER BY c.effective_at IS NOT NULL,",
                insteadOf: "ORDER BY c.effective_at <= p_purchased_at DESC,"
            )
        ),
    ]

    private static let access = [
        Mutation(
            rule: "a statement of renewal older than the period's first sight says nothing of it",
            way: .function("access_until", says: "true", insteadOf: "s.renewal_signed_date >= c.first_signed_date")
        ),
        Mutation(
            rule: "a revocation older than the statement of renewal does not end access by itself",
            way: .function("access_until", says: "true", insteadOf: "greatest(c.signed_date, c.receipt_date) > s.renewal_signed_date")
        ),
        Mutation(
            rule: "what was paid for before a revoked period is still paid for",
            way: .function(
                "derive_contracts",
                says: "false AND t.expires_date <=",
                insteadOf: "t.revocation_date IS NULL AND t.expires_date <="
            )
        ),
    ]

    private static let registers = [
        Mutation(
            rule: "a newer fact replaces an older one as a whole",
            way: .trigger("new.revocation_date := coalesce(new.revocation_date, old.revocation_date)")
        ),
        Mutation(
            rule: "the first sight of a charge is the lowest date ever signed",
            way: .trigger("new.first_signed_date := old.first_signed_date")
        ),
        Mutation(
            rule: "the first token is the oldest fact's, not the first to arrive",
            way: .trigger("new.first_token := coalesce(old.first_token, new.first_token)")
        ),
    ]

    /// What makes an event plain, so that one statement derives it. PlainEventTests and MergeLockTests have the rules that lives hardly meet.
    private static let plain = [
        Mutation(
            rule: "a plain charge is of the current period or begins a new one",
            way: .function("apply_facts", says: "true AS is_new", insteadOf: "t.purchase_date > m.current_period_start AS is_new")
        ),
        Mutation(
            rule: "an order that is to be paid again is not plain",
            way: .function("apply_facts", says: "true AND", insteadOf: "o.status = 'paid' AND")
        ),
    ]
}
