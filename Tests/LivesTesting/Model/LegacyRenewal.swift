import AppStore
import Ledger
import StoreSimulator

/// What a notification V1 or an answer says of a contract's renewal. The latest statement counts as a whole.
struct LegacyRenewal {
    let key: Key
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
            key: LedgerKey(environment: app.environment, id: contract),
            provenance: provenance,
            renewal: info,
            statedAt: statedAt,
            receiptDate: receiptDate
        )
        key = Key(app.environment.rawValue, contract)
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
    /// What it may say of a renewal, whose it is and since when that is known.
    var legacyRenewal: LegacyRenewal? {
        guard let renewal, let entry = renewalEntry else { return nil }
        let contract: String?
        if layout.contains(.renewalOutside) {
            let subscriptions = Set(receipt.entries.filter(\.isOfSubscription).map(\.contract))
            let candidates = subscriptions.isEmpty ? Set(entries.map(\.contract)) : subscriptions
            contract = namedID ?? (candidates.count == 1 ? candidates.first : nil)
        } else {
            contract = renewal.originalTransactionID
        }
        guard let contract else { return nil }
        return LegacyRenewal(
            renewal,
            of: contract,
            in: app,
            entry: entry,
            provenance: .notificationV1,
            statedAt: max(changeDate ?? receipt.madeAt, receipt.madeAt),
            receiptDate: receipt.madeAt
        )
    }
}

extension AnsweredReceipt {
    /// What it says of a renewal; an answer without secret says nothing.
    var legacyRenewal: LegacyRenewal? {
        guard let renewal, let entry = json.renewalEntry else { return nil }
        return LegacyRenewal(
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
