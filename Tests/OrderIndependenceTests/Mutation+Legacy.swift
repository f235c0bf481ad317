import AppStore
import Ledger

/// The rules of the legacy half.
extension Mutation {
    static let legacy = halves + renewals + bodies + receiptOwners

    private static let halves = [
        Mutation(
            rule: "of expiry, revocation and upgrade the later half's count",
            way: .trigger(
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
            rule: "of one instant the JWS counts",
            way: .trigger(
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
            rule: "constants are the JWS half's, where there is one",
            way: .trigger(
                """
                IF old.signed_date IS NULL AND new.signed_date IS NOT NULL THEN
                    new.price := old.price;
                    new.transaction_reason := old.transaction_reason;
                END IF
                """
            )
        ),
        Mutation(
            rule: "a newer form of receipt does not take the ownership away that an older one said",
            way: .trigger("IF new.signed_date IS NULL THEN new.in_app_ownership_type := NULL; END IF")
        ),
        Mutation(
            rule: "the first sight of a charge may be a receipt's",
            way: .trigger(
                """
                IF old.signed_date IS NULL AND new.signed_date IS NOT NULL THEN new.first_signed_date := new.signed_date; END IF
                """
            )
        ),
        Mutation(rule: "an upgrade is no refund", way: .facts(callUpgradesRefunds)),
        Mutation(
            rule: "charges of a receipt about which Apple is asked wait for the answer",
            way: .facts { facts in (facts.receipts, facts.awaitedReceipts) = (facts.receiptsInside, []) }
        ),
    ]

    private static let renewals = [
        Mutation(
            rule: "of one instant what is signed of a renewal counts",
            way: .function("v1_counts", says: "l.stated_at >= s.renewal_signed_date", insteadOf: "l.stated_at > s.renewal_signed_date")
        ),
        Mutation(
            rule: "what only a shared secret vouches for takes no access away",
            way: .function(
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
            rule: "no grace against a revocation that Apple signed",
            way: .function("access_until", says: "false", insteadOf: "coalesce(s.renewal_status = 5, false)")
        ),
    ]

    /// What a body may say, and of which contracts.
    private static let bodies = [
        Mutation(rule: "a receipt that is not genuine moves no charge", way: .belief),
        Mutation(
            rule: "a body without a genuine receipt moves renewal state",
            way: .facts { facts in if facts.unhandledReason?.hasPrefix("receipt:") == true { facts.legacyRenewals = [] } }
        ),
        Mutation(
            rule: "each of several contracts in a body has a renewal of its own",
            way: .facts { facts in facts.legacyRenewals = Array(facts.legacyRenewals.prefix(1)) }
        ),
        Mutation(
            rule: "what another app's secret vouches for counts for nothing",
            way: .function(
                "derive_contracts",
                says: "ORDER BY l.stated_at DESC LIMIT 1",
                insteadOf: "AND l.bundle_id = (current.charge).bundle_id"
            )
        ),
        Mutation(
            rule: "an event is about all of its contracts",
            way: .insertion("event_contracts", "IF new.original_transaction_id LIKE '%6' THEN RETURN NULL; END IF")
        ),
    ]

    private static let receiptOwners = [
        Mutation(
            rule: "a posted receipt claims a purchase of the last 72 hours only",
            way: .function(
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
            way: .function("contract_claims", says: "", insteadOf: "AND t.transaction_reason IS DISTINCT FROM 'RENEWAL'")
        ),
        Mutation(
            rule: "a posted receipt claims no charge that begins when another one ends",
            way: .function("contract_claims", says: "AND false", insteadOf: "AND before.transaction_id <> s.transaction_id")
        ),
        Mutation(
            rule: "what is restored is nobody's",
            way: .function("contract_claims", says: "false", insteadOf: "stated.effective_at <= s.received_at")
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
