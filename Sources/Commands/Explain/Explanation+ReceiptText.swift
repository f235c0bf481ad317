import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import StrictJSON

/// What the legacy App Store sends, in the form for people.
extension Explanation {
    var legacyPayloadLines: [String] {
        var lines: [String] = []
        if let post = reading?.post {
            let scope = post.bundleIDs.map { $0.joined(separator: ", ") } ?? "any app"
            let named = post.transactionID.map { "charge \($0) just made" } ?? "no charge just made"
            lines.append("submission: user \(post.user), \(named), \(post.environment.rawValue), by a key for \(scope)")
        }
        if let document = reading?.document {
            let authority =
                record.source == EventSource.notificationV1.rawValue
                ? "a shared secret vouches for it, no signature" : "an answer over TLS, without a signature"
            lines.append("\(VerifyReport.bodyLocation): \(record.source), \(authority)")
            lines.append(JSONValue.object(document.withoutReceipts).pretty())
        }
        if let receipt = reading?.receipt {
            lines.append("\(receipt.location): receipt\(receipt.isGenuine ? "" : ", NOT VERIFIED: anyone may have written it")")
            lines.append(receipt.payload.map { JSONValue.object($0).pretty() } ?? receipt.rejection?.description ?? "")
        }
        return lines
    }

    var legacyFactLines: [String] {
        guard let facts = reading?.facts else { return [] }
        var lines: [String] = []
        for (fact, standing) in standings.receipts {
            lines.append(
                "charge \(fact.key.id) of contract \(fact.originalTransactionID), \(Self.form(fact)), \(Self.version(fact.version))"
            )
            lines.append("  " + Self.standing(standing))
        }
        for (fact, standing) in standings.legacyRenewals {
            let words = "\(fact.provenance.rawValue) of \(fact.key.bundleID)"
            lines.append("renewal of contract \(fact.contract.id), \(words), \(Self.version(fact.version))")
            lines.append("  " + Self.standing(standing))
        }
        for key in facts.posts.lazy.map(\.key) where key.isReceipt {
            let named = key.transactionID.map { " and charge \($0) as just made" } ?? ""
            lines.append("\(key.user) posts a receipt with contract \(key.contract.id)\(named)")
        }
        lines += facts.calls.map { "asks outside: \($0.kind) about a receipt of \($0.bundleID)" }
        if let remark = facts.remark { lines.append("remark: \(remark)") }
        return lines
    }

    /// Where it was said, and what stands out in it.
    private static func form(_ fact: ReceiptFact) -> String {
        var words = [fact.productID]
        if let date = fact.content.expiresDate { words.append("to \(date)") }
        if let date = fact.content.revocationDate { words.append("revoked at \(date)") }
        if fact.content.isUpgraded { words.append("upgraded") }
        return words.joined(separator: " ")
    }
}
