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
        diagnostics?.begin("request", requiring: .request)
        for (step, refusal) in [(.environment, refusal(of: environment)), (.app, refusal(of: bundleID))]
            as [(VerificationStep, VerificationReason?)]
        {
            diagnostics?.record(step, refusal)
            if let refusal { throw EventRefusal(refusal.rawValue) }
        }
    }

    /// The content must name its environment: nothing else proves it, and Sandbox purchases cost nothing.
    private func refusal(of environment: AppStoreEnvironment?) -> VerificationReason? {
        guard let environment else { return .environmentMissing }
        return environment == self.environment ? nil : .wrongEnvironment
    }

    private func refusal(of bundleID: String?) -> VerificationReason? {
        guard let bundleIDs else { return nil }
        guard let bundleID else { return .bundleMissing }
        return bundleIDs.contains(bundleID) ? nil : .wrongBundle
    }
}
