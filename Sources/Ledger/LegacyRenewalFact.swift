package import AppStore
import OpenSSL

/// What a notification V1, or verifyReceipt's answer, says of a contract's renewal: an entry of `pending_renewal_info`, one register,
/// replaced as a whole. Receipts do not hold it.
package struct LegacyRenewalFact: Sendable {
    package let key: Key
    /// When the state last changed or was asked about; then when the receipt beside it was made; then what is said.
    package let version: Version
    package let provenance: Provenance
    package let renewal: PendingRenewalInfo

    /// Whose renewal it is, and which app's word that is. Nothing signed says that the contract is of that app: the charges do.
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

    /// Who vouches for it.
    package enum Provenance: String, Sendable {
        /// A body with the shared secret, nothing more.
        case notificationV1 = "v1"
        /// Apple's own answer.
        case verifyReceipt = "verify_receipt"
    }

    /// - Parameters:
    ///   - statedAt: `auto_renew_status_change_date`, else the receipt's creation; or verifyReceipt's `request_date`.
    ///   - receiptDate: When the receipt beside it was made: several bodies carry one change date, and the later receipt knows more.
    package init(key: Key, provenance: Provenance, renewal: PendingRenewalInfo, statedAt: Timestamp, receiptDate: Timestamp?) {
        self.key = key
        self.provenance = provenance
        self.renewal = renewal
        let seen = withUnsafeBytes(of: UInt64(bitPattern: receiptDate?.millisecondsSince1970 ?? 0).bigEndian) { Array($0) }
        version = Version(signedDate: statedAt, hash: seen + Digest.sha256(Array(Self.words(of: renewal, provenance).utf8)))
    }

    /// All of it in a fixed order, joined by a byte that no fact contains; what is nil is empty.
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

    /// Takes the other fact's place if that is of a higher version.
    package mutating func join(_ other: LegacyRenewalFact) {
        if version < other.version { self = other }
    }
}
