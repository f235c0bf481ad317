package import AppStore
import OpenSSL

/// What one verified notification says about a contract's renewal: renewal info and status, in one register.
package struct SubscriptionFact: Sendable {
    /// Found by environment and originalTransactionId.
    package let key: LedgerKey
    /// The renewal info's signed date, else the notification's.
    package let version: Version
    package let status: Status?
    private let shared: SharedValue<JWSRenewalInfoDecodedPayload?>
    package var renewalInfo: JWSRenewalInfoDecodedPayload? { _read { yield shared.value } }

    /// - Parameter hash: of the decoded payload that the version's date was taken from. The status is appended here, because two
    ///   notifications may carry the same renewal info with different statuses.
    package init(
        key: LedgerKey,
        signedDate: Timestamp,
        hash: [UInt8],
        status: Status?,
        renewalInfo: JWSRenewalInfoDecodedPayload?
    ) {
        self.key = key
        version = Version(signedDate: signedDate, hash: hash + withUnsafeBytes(of: (status?.rawValue ?? 0).bigEndian) { Array($0) })
        self.status = status
        shared = SharedValue(renewalInfo)
    }

    /// Keeps the fact of the higher version.
    package mutating func join(_ other: SubscriptionFact) {
        if version < other.version { self = other }
    }
}

/// What a notification V1, or verifyReceipt's answer, says about a contract's renewal: an entry of `pending_renewal_info`. It is one
/// register, replaced as a whole. Receipts do not hold it.
package struct V1RenewalFact: Sendable {
    package let key: Key
    /// When the state last changed, or when verifyReceipt answered; then when the receipt beside it was made; then the content.
    package let version: Version
    package let provenance: Provenance
    package let renewal: PendingRenewalInfo

    /// The contract, and the app that claims it. Only charges prove that a contract belongs to an app.
    package struct Key: Hashable, Sendable {
        /// Environment and original_transaction_id.
        package let contract: LedgerKey
        package let bundleID: String

        package init(contract: LedgerKey, bundleID: String) {
            self.contract = contract
            self.bundleID = bundleID
        }
    }

    /// Environment and original_transaction_id.
    package var contract: LedgerKey { key.contract }

    /// How the fact is proven.
    package enum Provenance: String, Sendable {
        /// Only by the shared secret in the body.
        case notificationV1 = "v1"
        /// By Apple's own answer.
        case verifyReceipt = "verify_receipt"
    }

    /// - Parameters:
    ///   - statedAt: `auto_renew_status_change_date`, else the receipt's creation; or verifyReceipt's `request_date`.
    ///   - receiptDate: when the receipt beside it was made. Several bodies may carry the same change date; the later receipt counts.
    package init(key: Key, provenance: Provenance, renewal: PendingRenewalInfo, statedAt: Timestamp, receiptDate: Timestamp?) {
        self.key = key
        self.provenance = provenance
        self.renewal = renewal
        let receiptRank = withUnsafeBytes(of: UInt64(bitPattern: receiptDate?.millisecondsSince1970 ?? 0).bigEndian) { Array($0) }
        version = Version(signedDate: statedAt, hash: receiptRank + Digest.sha256(Array(Self.words(of: renewal, provenance).utf8)))
    }

    /// All members in a fixed order, joined by a byte that no fact contains; nil becomes empty.
    private static func words(of renewal: PendingRenewalInfo, _ provenance: Provenance) -> String {
        let words: [String?] = [
            provenance.rawValue, renewal.productID, renewal.autoRenewProductID,
            renewal.autoRenewStatus.map { "\($0.rawValue)" }, renewal.isInBillingRetryPeriod.map { "\($0)" },
            renewal.expirationIntent.map { "\($0.rawValue)" }, renewal.gracePeriodExpiresDate.map { "\($0.millisecondsSince1970)" },
            renewal.priceConsentStatus.map { "\($0.rawValue)" }, renewal.priceIncreaseStatus.map { "\($0.rawValue)" },
            renewal.promotionalOfferID, renewal.offerCodeRefName,
        ]
        return words.map { $0 ?? "" }.joined(separator: "\u{0}")
    }

    /// Keeps the fact of the higher version.
    package mutating func join(_ other: V1RenewalFact) {
        if version < other.version { self = other }
    }
}
