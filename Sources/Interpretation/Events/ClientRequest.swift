package import AppStore
import AppStoreVerification

/// What a client asked for when it posted a transaction or receipt.
package struct ClientRequest: Sendable {
    /// Nil when no user claims the purchase.
    package let user: String?
    /// The purchase that a receipt was posted for.
    package let transactionID: String?
    package let environment: AppStoreEnvironment
    /// The scope of the key that it was posted with; nil is any app.
    package let bundleIDs: [String]?

    package init(_ submission: ClientSubmission) {
        (user, transactionID) = (submission.user, nil)
        (environment, bundleIDs) = (submission.environment, submission.bundleIDs)
    }

    package init(_ post: ClientReceipt) {
        (user, transactionID) = (post.user, post.transactionID)
        (environment, bundleIDs) = (post.environment, post.bundleIDs)
    }

    /// Checks that genuine content is what the client asked for.
    func check(_ environment: AppStoreEnvironment?, _ bundleID: String?, _ diagnostics: VerificationDiagnostics?) throws(EventRefusal) {
        let environment = VerificationReason.refusing(environment, unless: self.environment)
        let app = bundleIDs.flatMap { VerificationReason.refusing(bundleID, unlessAmong: $0) }
        try EventRefusal.check("request", [(.environment, environment), (.app, app)], diagnostics)
    }
}
