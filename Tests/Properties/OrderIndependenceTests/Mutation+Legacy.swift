import AppStore
import Ledger

/// The rules of receipts, answers and notifications V1.
extension Mutation {
    static let legacy = halves + renewals + bodies + receiptOwners

    private static let halves = [
        Mutation(
            rule: "expiry, revocation and upgrade come from the later of JWS and receipt",
            change: .trigger(
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
            rule: "for equal dates the JWS counts",
            change: .trigger(
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
            rule: "constants come from the JWS, if there is one",
            change: .trigger(
                """
                IF old.signed_date IS NULL AND new.signed_date IS NOT NULL THEN
                    new.price := old.price;
                    new.transaction_reason := old.transaction_reason;
                END IF
                """
            )
        ),
        Mutation(
            rule: "a receipt without ownership does not remove an ownership stated earlier",
            change: .trigger("IF new.signed_date IS NULL THEN new.in_app_ownership_type := NULL; END IF")
        ),
        Mutation(
            rule: "the first signed date of a charge may be a receipt's",
            change: .trigger(
                """
                IF old.signed_date IS NULL AND new.signed_date IS NOT NULL THEN new.first_signed_date := new.signed_date; END IF
                """
            )
        ),
        Mutation(rule: "an upgrade is no refund", change: .facts(callUpgradesRefunds)),
        Mutation(
            rule: "charges of a receipt that is sent to Apple wait for the answer",
            change: .facts { facts in (facts.receipts, facts.awaitedReceipts) = (facts.allReceipts, []) }
        ),
    ]

    private static let renewals = [
        Mutation(
            rule: "for equal dates the signed renewal statement counts",
            change: .function("v1_counts", says: "l.stated_at >= s.renewal_signed_date", insteadOf: "l.stated_at > s.renewal_signed_date")
        ),
        Mutation(
            rule: "a statement known only from a shared secret ends no access",
            change: .function(
                "access_until",
                says: """
                    ELSE CASE WHEN l.expiration_intent IS NOT NULL THEN least(l.stated_at, c.expires_date)
                              ELSE coalesce(c.revocation_date, c.expires_date) END
                            END,
                    """,
                insteadOf: """
                    ELSE coalesce(c.revocation_date, c.expires_date)
                            END,
                    """
            )
        ),
        Mutation(
            rule: "a signed revocation cancels a grace period known from a shared secret",
            change: .function("access_until", says: "false", insteadOf: "coalesce(s.renewal_status = 5, false)")
        ),
    ]

    /// Which statements of a body count, and for which contracts.
    private static let bodies = [
        Mutation(rule: "a receipt that is not genuine changes no charge", change: .forgedReceipts),
        Mutation(
            rule: "a body without a genuine receipt changes renewal state",
            change: .facts { facts in if facts.unhandledReason?.hasPrefix("receipt:") == true { facts.legacyRenewals = [] } }
        ),
        Mutation(
            rule: "each of several contracts in a body has its own renewal state",
            change: .facts { facts in facts.legacyRenewals = Array(facts.legacyRenewals.prefix(1)) }
        ),
        Mutation(
            rule: "a statement with another app's secret does not count",
            change: .function(
                "derive_contracts",
                says: "ORDER BY l.stated_at DESC LIMIT 1",
                insteadOf: "AND l.bundle_id = (current.charge).bundle_id"
            )
        ),
        Mutation(
            rule: "an event is listed with all of its contracts",
            change: .insertion("event_contracts", "IF new.original_transaction_id LIKE '%6' THEN RETURN NULL; END IF")
        ),
    ]

    private static let receiptOwners = [
        Mutation(
            rule: "a posted receipt claims a purchase of the last 72 hours only",
            change: .function(
                "contract_claims",
                says: "AND NOT EXISTS (SELECT FROM appstore.transactions",
                insteadOf: """
                    AND s.received_at <= charge.purchase_date + interval '72 hours'
                               AND NOT EXISTS (SELECT FROM appstore.transactions
                    """
            )
        ),
        Mutation(
            rule: "a posted receipt claims no charge that its JWS calls a renewal",
            change: .function("contract_claims", says: "", insteadOf: "AND t.transaction_reason IS DISTINCT FROM 'RENEWAL'")
        ),
        Mutation(
            rule: "a posted receipt claims no charge that begins when another one ends",
            change: .function("contract_claims", says: "AND false", insteadOf: "AND before.transaction_id <> s.transaction_id")
        ),
        Mutation(
            rule: "a post restores only a contract without an earlier claim",
            change: .function("contract_claims", says: "false", insteadOf: "stated.effective_at <= s.received_at")
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
