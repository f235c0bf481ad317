package import AppStore

/// What Apple says of an Apple Account's download of an app, and which user's app posted it.
package struct AppTransactionFact: Sendable {
    /// Environment and appTransactionId.
    package let key: LedgerKey
    package let version: Version
    package let bundleID: String
    private let shared: SharedValue<AppTransaction>
    package var app: AppTransaction { _read { yield shared.value } }
    /// The user's app posted it; nil where Apple sent it, or no user claims it.
    package var post: Post?

    /// A user's app posted an app transaction. The first post counts, by arrival.
    package struct Post: Sendable {
        package let user: String
        /// When the event came in, in whole milliseconds; independent of when it is processed.
        package let receivedAt: Timestamp

        package init(user: String, receivedAt: Timestamp) {
            self.user = user
            self.receivedAt = receivedAt
        }
    }

    package init(key: LedgerKey, version: Version, bundleID: String, app: AppTransaction) {
        self.key = key
        self.version = version
        self.bundleID = bundleID
        shared = SharedValue(app)
    }
}
