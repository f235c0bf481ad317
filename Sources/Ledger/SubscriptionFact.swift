package import AppStore

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
