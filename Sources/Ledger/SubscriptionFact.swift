package import AppStore

/// What one verified notification says of a contract's renewal: renewal info together with the status, one register.
package struct SubscriptionFact: Sendable {
    /// Found by environment and originalTransactionId.
    package let key: LedgerKey
    /// The renewal info's signed date, else the notification's.
    package let version: Version
    package let status: Status?
    private let shared: SharedValue<JWSRenewalInfoDecodedPayload?>
    package var renewalInfo: JWSRenewalInfoDecodedPayload? { _read { yield shared.value } }

    /// - Parameter hash: of the decoded payload that the version's date was taken from; the status is made part of it here, since two
    ///   notifications may carry the same renewal info with different ones.
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

    /// Takes the other fact's place if that is of a higher version.
    package mutating func join(_ other: SubscriptionFact) {
        if version < other.version { self = other }
    }
}
