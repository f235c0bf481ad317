import AppStore
import Ledger
import LivesTesting

/// The ledger of the pure core: its folds, joined as the database joins them.
struct CoreLedger {
    private var transactions: [LedgerKey: TransactionRegister] = [:]
    private var subscriptions: [LedgerKey: SubscriptionFact] = [:]
    private var legacyRenewals: [V1RenewalFact.Key: V1RenewalFact] = [:]
    private var posts: [Ledger.ClientPost.Key: Ledger.ClientPost] = [:]
    private var refundStatements: [NotificationKey: RefundRequestFact] = [:]
    private var effects: Set<EffectKey> = []

    mutating func merge(_ fold: BatchFold) {
        for (key, register) in fold.transactions { transactions[key, default: register].join(register) }
        for (key, fact) in fold.subscriptions { subscriptions[key, default: fact].join(fact) }
        for (key, fact) in fold.legacyRenewals { legacyRenewals[key, default: fact].join(fact) }
        for (key, post) in fold.posts { posts[key, default: post].join(post) }
        for (key, statement) in fold.refundStatements { refundStatements[key, default: statement].join(statement) }
        effects.formUnion(fold.effects.keys)
    }

    /// The lines, in the format of ``ReferenceModel/coreLines()``.
    func lines() -> [String] {
        var lines = transactions.map { key, register in
            line(
                "transaction",
                key,
                versions(of: register.signed?.version, "signed_date", "payload_hash")
                    + versions(of: register.receipt?.latest.version, "receipt_date", "receipt_hash") + [
                        ("first_signed_date", text(register.firstSignedDate)), ("first_token", register.firstToken?.token.text),
                        ("period_no", register.periodNumber?.text),
                    ]
            )
        }
        lines += subscriptions.map { line("subscription", $0, versions(of: $1.version, "signed_date", "fact_hash")) }
        lines += legacyRenewals.map { key, fact in
            LedgerLine.text(
                "legacy_renewal",
                key.contract.environment.rawValue,
                "\(key.contract.id) \(key.bundleID)",
                versions(of: fact.version, "stated_at", "fact_hash")
            )
        }
        lines += posts.map { key, post in
            let named = key.transactionID ?? ""
            return LedgerLine.text(
                key.isReceipt ? "receipt_submission" : "submission",
                key.contract.environment.rawValue,
                key.isReceipt ? "\(key.contract.id) \(key.user) \(named)" : "\(named) \(key.user)",
                [
                    ("contract", key.isReceipt ? nil : key.contract.id), ("received_at", text(post.receivedAt)),
                    ("event_id", String(post.eventID)),
                ]
            )
        }
        lines += effects.map { "effect \($0.environment.rawValue) \($0.kind.rawValue) \($0.subject)" }
        lines += refundStatements.map { key, statement in
            LedgerLine.text(
                "refund",
                key.environment.rawValue,
                key.uuid.text,
                [
                    ("kind", statement.kind.rawValue), ("transaction_id", statement.transactionID),
                    ("contract", statement.originalTransactionID), ("reason", statement.reason),
                    ("signed_date", text(statement.signedDate)),
                ]
            )
        }
        return lines.sorted()
    }

    private func line(_ what: String, _ key: LedgerKey, _ fields: [(String, String?)]) -> String {
        LedgerLine.text(what, key.environment.rawValue, key.id, fields)
    }

    private func versions(of version: Version?, _ dateName: String, _ hashName: String) -> [(String, String?)] {
        [(dateName, version.map { text($0.signedDate) }), (hashName, version?.hash.hexadecimal)]
    }

    private func text(_ timestamp: Timestamp) -> String { String(timestamp.millisecondsSince1970) }
}
