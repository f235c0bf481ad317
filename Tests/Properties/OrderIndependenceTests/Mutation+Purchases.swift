/// The rules of purchases of which Apple makes several transactions, and of their refunds.
extension Mutation {
    static let purchases = copies + refunds + current

    private static let copies = [
        Mutation(
            "the token of a copy pays no order",
            .function("purchases_with", "AND NOT appstore.is_later_copy(p_environment, t.period_no, t.transaction_id)", becomes: "")
        ),
        Mutation(
            "the newest statement about any transaction of a purchase decides",
            .function("purchase", "greatest(t.signed_date, t.receipt_date) DESC", becomes: "greatest(t.signed_date, t.receipt_date)")
        ),
        Mutation(
            "a post of an unowned purchase claims it whatever its age",
            .function("contract_claims", "charge.is_purchased OR fresh.is_fresh", becomes: "fresh.is_fresh")
        ),
        Mutation(
            "an order that the shop has not made is that of the owner",
            .view("orders", "CASE WHEN o.ordered_at IS NOT NULL", becomes: "CASE WHEN o.order_no IS DISTINCT FROM o.period_no")
        ),
    ]

    /// Rules of an order's user and status, which functions and the view `orders` have.
    static let ofOneWay = [
        Mutation(
            "an order that the shop has made is that of its user",
            .function("order_user", "WHEN made.ordered_at IS NOT NULL", becomes: "WHEN false")
        ),
        Mutation(
            "a purchase is its owner's at that time",
            .view("orders", "ORDER BY c.effective_at <= o.paid_at DESC", becomes: "ORDER BY c.effective_at <= o.paid_at")
        ),
        Mutation(
            "the newest statement says whether a purchase is refunded",
            .view("orders", "greatest(s.signed_date, s.receipt_date) DESC", becomes: "greatest(s.signed_date, s.receipt_date)")
        ),
    ]

    private static let refunds = [
        Mutation(
            "a refund after a reversal is another one",
            .function("refund_number", "SELECT count(*)", becomes: "SELECT 0 * count(*)")
        ),
        Mutation(
            "a refund whose date moves is the same one",
            .function("record_refunds", "r.kind = 'reversed'", becomes: "r.kind IN ('reversed', 'refunded')")
        ),
    ]

    private static let current = [
        Mutation(
            "an upgraded purchase is not current while another runs",
            .function("derive_contracts", "WHEN candidate.is_upgraded THEN 2", becomes: "WHEN candidate.is_upgraded THEN 0")
        ),
        Mutation(
            "the product of the renewal info decides between two that run",
            .function(
                "derive_contracts",
                "candidate.product_id = (renewal.register)",
                becomes: "candidate.product_id <> (renewal.register)"
            )
        ),
        Mutation(
            "a purchase that has ended is not current again",
            .function("derive_contracts", "running.expires_date > latest.purchase_date", becomes: "true")
        ),
        Mutation(
            "a grace period without a date gives access for 28 days",
            .function("period_until", "interval '672 hours'", becomes: "interval '0 hours'")
        ),
    ]
}
