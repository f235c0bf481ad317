package import AppStore

/// What one notification says of a token for purchases outside the App Store.
package struct ExternalPurchaseTokenFact: Sendable {
    /// Environment and externalPurchaseId.
    package let key: LedgerKey
    /// The signing date of the notification, then the hash of its payload.
    package let version: Version
    package let bundleID: String
    private let shared: SharedValue<ExternalPurchaseToken>
    package var token: ExternalPurchaseToken { _read { yield shared.value } }
    /// Nil where it has none, or one that cannot be read.
    package let subtype: Subtype?

    package init(key: LedgerKey, version: Version, bundleID: String, token: ExternalPurchaseToken, subtype: Subtype?) {
        self.key = key
        self.version = version
        self.bundleID = bundleID
        shared = SharedValue(token)
        self.subtype = subtype
    }
}
