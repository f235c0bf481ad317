import AppStore
import Ledger
import StoreSimulator

/// What a notification V1 or an answer says of a contract's renewal. The latest statement of one app counts as a whole.
struct LegacyRenewal {
    /// The contract, and the app whose secret vouches for what is said.
    struct Name: Hashable {
        let contract: Key
        let bundle: String

        /// As the books' lines name it.
        var words: String { "\(contract.id) \(bundle)" }
    }

    let name: Name
    let provenance: String
    /// Milliseconds since 1970.
    let statedAt: Int64
    let hash: [UInt8]
    let renewal: SimulatedRenewalInfo
    /// What the top of a body does not name.
    let namesProduct: Bool

    static func older(_ left: LegacyRenewal, _ right: LegacyRenewal) -> Bool {
        left.statedAt != right.statedAt ? left.statedAt < right.statedAt : left.hash.lexicographicallyPrecedes(right.hash)
    }

    var isInBillingRetry: Bool { renewal.isInBillingRetryPeriod ?? false }
    var grace: Int64? { renewal.gracePeriodExpiresDate?.inWholeSeconds.millisecondsSince1970 }

    /// Nil of what cannot be read.
    init?(
        _ renewal: SimulatedRenewalInfo,
        of contract: String,
        in app: SimulatedApp,
        entry: JSONObject,
        provenance: LegacyRenewalFact.Provenance,
        statedAt: Timestamp,
        receiptDate: Timestamp?
    ) {
        guard case .success(let info) = Result(catching: { () throws(MalformedPayload) in try PendingRenewalInfo(entry) }) else {
            return nil
        }
        let fact = LegacyRenewalFact(
            key: LegacyRenewalFact.Key(contract: LedgerKey(environment: app.environment, id: contract), bundleID: app.bundleID),
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

    /// In the words of notifications V2; nothing is said of what simply goes on.
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

    /// Whether it is one of an app's: a receipt of another app in it makes it nobody's, and where nothing names the app so does the lack of
    /// a genuine one.
    var isTaken: Bool { receipt.state != .foreign && (namesApp || receipt.isGenuine) }

    /// The version of what it says itself; nil when nothing dates it. A change that is to come, but for what clocks differ by, does not.
    var statedAt: Timestamp? {
        let change = changeDate.flatMap { $0 <= receivedAt.advanced(by: .seconds(300)) ? $0 : nil }
        return [change, receipt.isGenuine ? receipt.madeAt : nil].compactMap(\.self).max()
    }

    /// Whether it may say something of that contract: one that names no app only speaks of what is in its receipt.
    func maySpeak(of contract: String) -> Bool { namesApp || receipt.entries.contains { $0.contract == contract } }

    /// What it may say of renewals, whose they are and since when that is known.
    var legacyRenewals: [LegacyRenewal] {
        guard let statedAt else { return [] }
        let told: [(SimulatedRenewalInfo, String)] =
            if layout.contains(.renewalOutside) {
                [renewal].compactMap { renewal in renewal.flatMap { told in contractOutside.map { (told, $0) } } }
            } else {
                renewals.map { ($0, $0.originalTransactionID) }
            }
        return zip(told, renewalEntries).compactMap { told, entry in
            guard maySpeak(of: told.1) else { return nil }
            return LegacyRenewal(
                told.0,
                of: told.1,
                in: app,
                entry: entry,
                provenance: .notificationV1,
                statedAt: statedAt,
                receiptDate: receipt.isGenuine ? receipt.madeAt : nil
            )
        }
    }

    /// Whose renewal the body's own members are about.
    var contractOutside: String? {
        let subscriptions = Set(receipt.entries.filter(\.isOfSubscription).map(\.contract))
        let candidates = subscriptions.isEmpty ? Set(entries.map(\.contract)) : subscriptions
        return namedID ?? (candidates.count == 1 ? candidates.first : nil)
    }
}

extension AnsweredReceipt {
    /// What it says of renewals; an answer without secret says nothing.
    var legacyRenewals: [LegacyRenewal] {
        zip(renewals, json.renewalEntries).compactMap { renewal, entry in
            LegacyRenewal(
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
