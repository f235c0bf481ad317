import AppStore
import Ledger
import StoreSimulator
import StrictJSON

/// The renewal state of a contract in a notification V1 or an answer. The latest statement of each app replaces the earlier ones.
struct V1Renewal {
    /// The contract, and the app whose shared secret authenticates the statement.
    struct Name: Hashable {
        let contract: Key
        let bundle: String

        /// The key in ledger lines.
        var text: String { "\(contract.id) \(bundle)" }
    }

    let name: Name
    let provenance: String
    /// Milliseconds since 1970.
    let statedAt: Int64
    let hash: [UInt8]
    let renewal: SimulatedRenewalInfo
    /// Whether the statement has a product: the body's own members have none.
    let namesProduct: Bool

    static func older(_ left: V1Renewal, _ right: V1Renewal) -> Bool {
        left.statedAt != right.statedAt ? left.statedAt < right.statedAt : left.hash.lexicographicallyPrecedes(right.hash)
    }

    var isInBillingRetry: Bool { renewal.isInBillingRetryPeriod ?? false }
    var grace: Int64? { renewal.gracePeriodExpiresDate?.inWholeSeconds.millisecondsSince1970 }

    /// Nil when the entry is malformed.
    init?(
        _ renewal: SimulatedRenewalInfo,
        of contract: String,
        in app: SimulatedApp,
        entry: JSONObject,
        provenance: V1RenewalFact.Provenance,
        statedAt: Timestamp,
        receiptDate: Timestamp?
    ) {
        guard case .success(let info) = Result(catching: { () throws(MalformedPayload) in try PendingRenewalInfo(entry) }) else {
            return nil
        }
        let fact = V1RenewalFact(
            key: V1RenewalFact.Key(contract: LedgerKey(environment: app.environment, id: contract), bundleID: app.bundleID),
            provenance: provenance,
            renewal: info,
            statedAt: statedAt,
            receiptDate: receiptDate
        )
        name = Name(contract: Key(app.environment.rawValue, contract), bundle: app.bundleID)
        self.provenance = provenance.rawValue
        self.statedAt = statedAt.millisecondsSince1970
        hash = fact.version.hash
        self.renewal = renewal
        namesProduct = entry["product_id"] != nil
    }

    /// The corresponding status of notifications V2; nil for an active subscription.
    var status: String? {
        if isInBillingRetry { return grace == nil ? "3" : "4" }
        return renewal.expirationIntent == nil ? nil : "2"
    }

    var fields: [(String, String?)] {
        [
            ("provenance", provenance), ("product_id", namesProduct ? renewal.productID : nil),
            ("auto_renew_product_id", renewal.autoRenewProduct.id), ("auto_renew_status", renewal.autoRenews ? "1" : "0"),
            ("is_in_billing_retry_period", renewal.isInBillingRetryPeriod.map { $0 ? "true" : "false" }),
            ("expiration_intent", renewal.expirationIntent.map { String($0.rawValue) }),
            ("grace_period_expires_date", grace.map(String.init)),
            ("price_increase_status", renewal.priceIncreaseStatus.map { String($0.rawValue) }),
            ("promotional_offer_id", namesProduct && renewal.offer?.type == .promotionalOffer ? renewal.offer?.identifier : nil),
            ("offer_code_ref_name", namesProduct && renewal.offer?.type == .offerCode ? renewal.offer?.identifier : nil),
            ("stated_at", String(statedAt)), ("fact_hash", hash.hexadecimal),
        ]
    }
}

extension LegacyNotification {
    var namesApp: Bool { !layout.contains(.withoutBundle) }

    /// Whether the notification is accepted: its receipt is not another app's, and the body or a genuine receipt names the app.
    var isAccepted: Bool { receipt.state != .foreign && (namesApp || receipt.isGenuine) }

    /// The version of the body's statements: nil without a date. A change date in the future does not count, except for clock
    /// differences.
    var statedAt: Timestamp? {
        let change = changeDate.flatMap { $0 <= receivedAt.advanced(by: .seconds(300)) ? $0 : nil }
        return [change, receipt.isGenuine ? receipt.madeAt : nil].compactMap(\.self).max()
    }

    /// Whether its statements about the contract count: a body that names no app only covers the contracts in its receipt.
    func covers(_ contract: String) -> Bool { namesApp || receipt.entries.contains { $0.contract == contract } }

    /// The statements about renewals that count.
    var legacyRenewals: [V1Renewal] {
        guard let statedAt else { return [] }
        let statements: [(SimulatedRenewalInfo, String)] =
            if layout.contains(.renewalOutside) {
                [renewal].compactMap { renewal in renewal.flatMap { info in contractOutside.map { (info, $0) } } }
            } else {
                renewals.map { ($0, $0.originalTransactionID) }
            }
        return zip(statements, renewalEntries).compactMap { statement, entry in
            guard covers(statement.1) else { return nil }
            return V1Renewal(
                statement.0,
                of: statement.1,
                in: app,
                entry: entry,
                provenance: .notificationV1,
                statedAt: statedAt,
                receiptDate: receipt.isGenuine ? receipt.madeAt : nil
            )
        }
    }

    /// The contract of the body's own members.
    var contractOutside: String? {
        let subscriptions = Set(receipt.entries.filter(\.isOfSubscription).map(\.contract))
        let candidates = subscriptions.isEmpty ? Set(entries.map(\.contract)) : subscriptions
        return namedID ?? (candidates.count == 1 ? candidates.first : nil)
    }
}

extension AnsweredReceipt {
    /// The statements about renewals; none without the shared secret.
    var legacyRenewals: [V1Renewal] {
        zip(renewals, json.renewalEntries).compactMap { renewal, entry in
            V1Renewal(
                renewal,
                of: renewal.originalTransactionID,
                in: app,
                entry: entry,
                provenance: .verifyReceipt,
                statedAt: requestDate,
                receiptDate: receipt.madeAt
            )
        }
    }
}
