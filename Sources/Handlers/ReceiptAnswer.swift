package import AppStore
package import AppStoreVerification

/// An answer of verifyReceipt's about a configured app. TLS vouches for it: it came over a connection to Apple.
package struct ReceiptAnswer: Sendable {
    package let response: VerifyReceiptResponse
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// The version of all that is as new as the answer.
    package let askedAt: Timestamp

    /// Why there is nothing to take from an answer; the raw value is the code that is stored and shown.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// Another status than 0, or than 21006 of an iOS 6 style receipt: no receipt that is valid.
        case notValid = "status_not_valid"
        /// The answer names no environment.
        case environmentMissing = "environment_missing"
        /// An environment that is not configured.
        case wrongEnvironment = "wrong_environment"
        /// The receipt names no app.
        case bundleMissing = "bundle_missing"
        /// An app that is not configured.
        case wrongBundle = "wrong_bundle"
        /// Nothing says when Apple answered.
        case requestDateMissing = "request_date_missing"
    }

    /// - Parameters:
    ///   - receivedAt: when the answer came in: its version where it is about an iOS 6 style receipt, which Apple answers without a date.
    ///   - policy: which apps and environments are configured.
    package init(_ response: VerifyReceiptResponse, receivedAt: Timestamp, policy: ReceiptPolicy) throws(Refusal) {
        let isOfOneTransaction = response.receipt?.transaction != nil
        guard response.status == .valid || (response.status == .subscriptionExpired && isOfOneTransaction) else { throw .notValid }
        guard let environment = response.environment ?? response.receipt?.receiptType?.environment else { throw .environmentMissing }
        guard policy.environments?.contains(environment) ?? true else { throw .wrongEnvironment }
        guard let bundleID = response.receipt?.bundleID else { throw .bundleMissing }
        guard policy.takes(bundleID: bundleID) else { throw .wrongBundle }
        guard let askedAt = response.receipt?.requestDate ?? (isOfOneTransaction ? receivedAt : nil) else { throw .requestDateMissing }
        self.response = response
        self.environment = environment
        self.bundleID = bundleID
        self.askedAt = askedAt
    }
}
