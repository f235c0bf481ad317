import Ledger

/// The rules of receipts, answers and notifications V1.
extension Mutation {
    static let legacy = halves + renewals + bodies + receiptOwners

    private static let halves = [
        Mutation(
            "expiry, revocation and upgrade come from the later of JWS and receipt",
            .trigger(
                """
                IF old.signed_date IS NOT NULL AND new.receipt_date > new.signed_date THEN
                    new.expires_date := old.expires_date;
                    new.revocation_date := old.revocation_date;
                    new.is_upgraded := old.is_upgraded;
                END IF
                """
            )
        ),
        Mutation(
            "for equal dates the JWS counts",
            .trigger(
                """
                IF new.receipt_date = new.signed_date THEN
                    new.expires_date := new.receipt_expires_date;
                    new.revocation_date := new.receipt_revocation_date;
                    new.revocation_reason := new.receipt_revocation_reason;
                    new.is_upgraded := new.receipt_is_upgraded;
                END IF
                """
            )
        ),
        Mutation(
            "constants come from the JWS, if there is one",
            .trigger(
                """
                IF old.signed_date IS NULL AND new.signed_date IS NOT NULL THEN
                    new.price := old.price;
                    new.transaction_reason := old.transaction_reason;
                END IF
                """
            )
        ),
        Mutation(
            "a statement without a type does not remove a type stated earlier",
            .trigger("IF new.known ? 'product_type' THEN new.product_type := NULL; END IF")
        ),
        Mutation("a posted type counts beside Apple's answer", .insertion("posted_types", "RETURN NULL")),
        Mutation(
            "a receipt without ownership does not remove an ownership stated earlier",
            .trigger("IF new.signed_date IS NULL THEN new.in_app_ownership_type := NULL; END IF")
        ),
        Mutation(
            "the first signed date of a charge may be a receipt's",
            .trigger(
                """
                IF old.signed_date IS NULL AND new.signed_date IS NOT NULL THEN new.first_signed_date := new.signed_date; END IF
                """
            )
        ),
        Mutation("an upgrade is no refund", .facts(callUpgradesRefunds)),
        Mutation(
            "charges of a receipt that is sent to Apple wait for the answer",
            .facts { facts in (facts.receipts, facts.awaitedReceipts) = (facts.allReceipts, []) }
        ),
    ]

    private static let renewals = [
        Mutation(
            "for equal dates the signed renewal statement counts",
            .function("v1_counts", "l.stated_at > s.renewal_signed_date", becomes: "l.stated_at >= s.renewal_signed_date")
        ),
        Mutation(
            "a statement known only from a shared secret ends no access",
            .function(
                "derive_contracts",
                "current.expires_date, current.revocation_date, current.stated_at",
                becomes: """
                    CASE WHEN (v1.register).expiration_intent IS NOT NULL THEN least((v1.register).stated_at, current.expires_date)
                         ELSE current.expires_date END, current.revocation_date, current.stated_at
                    """
            )
        ),
        Mutation(
            "a signed revocation cancels a grace period known from a shared secret",
            .function("v1_grace_until", "coalesce(s.renewal_status = 5, false)", becomes: "false")
        ),
    ]

    /// Which statements of a body count, and for which contracts.
    private static let bodies = [
        Mutation("a receipt that is not genuine changes no charge", .forgedReceipts),
        Mutation(
            "a body without a genuine receipt changes renewal state",
            .facts { facts in if facts.unhandledReason?.hasPrefix("receipt:") == true { facts.legacyRenewals = [] } }
        ),
        Mutation(
            "each of several contracts in a body has its own renewal state",
            .facts { facts in facts.legacyRenewals = Array(facts.legacyRenewals.prefix(1)) }
        ),
        Mutation(
            "a statement with another app's secret does not count",
            .function("derive_contracts", "AND l.bundle_id = current.bundle_id OFFSET 0", becomes: "ORDER BY l.stated_at DESC LIMIT 1")
        ),
        Mutation(
            "an event is listed with all of its contracts",
            .insertion("event_contracts", "IF new.original_transaction_id LIKE '%6' THEN RETURN NULL; END IF")
        ),
    ]

    private static let receiptOwners = [
        Mutation(
            "a posted receipt claims a purchase of the last 72 hours only",
            .function(
                "contract_claims",
                """
                AND s.received_at <= charge.purchase_date + interval '72 hours'
                           AND NOT appstore.is_copy
                """,
                becomes: "AND NOT appstore.is_copy"
            )
        ),
        Mutation(
            "a posted receipt claims no charge that its JWS calls a renewal",
            .function("contract_claims", "AND t.transaction_reason IS DISTINCT FROM 'RENEWAL'", becomes: "")
        ),
        Mutation(
            "a posted receipt claims no charge that begins when another one ends",
            .function("contract_claims", "AND before.transaction_id <> s.transaction_id", becomes: "AND false")
        ),
        Mutation(
            "a post restores only a contract without an earlier claim",
            .function("contract_claims", "THEN charge.purchase_date ELSE s.received_at END\n", becomes: "THEN charge.purchase_date END\n")
        ),
    ]

    @Sendable private static func callUpgradesRefunds(_ facts: inout EventFacts) {
        facts.receipts = facts.receipts.map { fact in
            guard fact.content.isUpgraded else { return fact }
            var content = fact.content
            content.isUpgraded = false
            content.revocationDate = fact.version.signedDate
            return ReceiptFact(
                key: fact.key,
                statedAt: fact.version.signedDate,
                form: .signedReceipt,
                originalTransactionID: fact.originalTransactionID,
                bundleID: fact.bundleID,
                productID: fact.productID,
                purchaseDate: fact.purchaseDate,
                content: content
            )
        }
    }
}
