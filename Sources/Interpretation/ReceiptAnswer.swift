package import AppStore
package import AppStoreVerification

/// An answer of verifyReceipt about a configured app. It is trusted because it came over a TLS connection to Apple.
package struct ReceiptAnswer: Sendable {
    package let response: VerifyReceiptResponse
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// The version of everything that is as new as the answer.
    package let askedAt: Timestamp

    /// Why an answer cannot be used; the raw value is the code that is stored and shown.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// The receipt is not valid: the status is neither 0 nor, for an iOS 6 style receipt, 21006.
        case notValid = "status_not_valid"
        /// The answer names no environment.
        case environmentMissing = "environment_missing"
        /// The environment is not configured.
        case wrongEnvironment = "wrong_environment"
        /// The receipt names no app.
        case bundleMissing = "bundle_missing"
        /// The app is not configured.
        case wrongBundle = "wrong_bundle"
        /// The answer has no request date.
        case requestDateMissing = "request_date_missing"
    }

    /// - Parameters:
    ///   - receivedAt: when the answer came in. It is the version of answers about iOS 6 style receipts, which have no date.
    ///   - policy: which apps and environments are configured.
    package init(_ response: VerifyReceiptResponse, receivedAt: Timestamp, policy: VerificationPolicy) throws(Refusal) {
        let isOfOneTransaction = response.receipt?.transaction != nil
        guard response.status == .valid || (response.status == .subscriptionExpired && isOfOneTransaction) else { throw .notValid }
        guard let environment = response.environment ?? response.receipt?.receiptType?.environment else { throw .environmentMissing }
        guard policy.environments?.contains(environment) ?? true else { throw .wrongEnvironment }
        guard let bundleID = response.receipt?.bundleID else { throw .bundleMissing }
        guard policy.accepts(bundleID: bundleID) else { throw .wrongBundle }
        guard let askedAt = response.receipt?.requestDate ?? (isOfOneTransaction ? receivedAt : nil) else { throw .requestDateMissing }
        self.response = response
        self.environment = environment
        self.bundleID = bundleID
        self.askedAt = askedAt
    }
}
