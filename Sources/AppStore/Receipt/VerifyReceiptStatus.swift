/// The `status` of verifyReceipt's answer.
package struct VerifyReceiptStatus: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let valid = VerifyReceiptStatus(rawValue: 0)
    /// The request was not a POST.
    package static let notPosted = VerifyReceiptStatus(rawValue: 21000)
    package static let noLongerSent = VerifyReceiptStatus(rawValue: 21001)
    /// `receipt-data` is malformed or missing, or the service had a temporary issue.
    package static let malformedReceiptData = VerifyReceiptStatus(rawValue: 21002)
    package static let notAuthenticated = VerifyReceiptStatus(rawValue: 21003)
    /// `password` is not the app's shared secret.
    package static let wrongSharedSecret = VerifyReceiptStatus(rawValue: 21004)
    package static let temporarilyUnavailable = VerifyReceiptStatus(rawValue: 21005)
    /// Valid, but the subscription has expired; iOS 6 style receipts only.
    package static let subscriptionExpired = VerifyReceiptStatus(rawValue: 21006)
    /// A receipt of the sandbox was sent to production.
    package static let sandboxReceipt = VerifyReceiptStatus(rawValue: 21007)
    /// A receipt of production was sent to the sandbox.
    package static let productionReceipt = VerifyReceiptStatus(rawValue: 21008)
    package static let internalDataAccessError = VerifyReceiptStatus(rawValue: 21009)
    package static let accountNotFound = VerifyReceiptStatus(rawValue: 21010)

    package static let known: Set = [
        valid, notPosted, noLongerSent, malformedReceiptData, notAuthenticated, wrongSharedSecret, temporarilyUnavailable,
        subscriptionExpired, sandboxReceipt, productionReceipt, internalDataAccessError, accountNotFound,
    ]

    /// Whether Apple denies that the receipt or its account exists; other refusals concern the request.
    package var deniesReceipt: Bool { self == .notAuthenticated || self == .accountNotFound }

    /// What the caller does after an answer.
    package enum Reaction: Hashable, Sendable {
        /// Use the answer.
        case accept
        /// Repeat the request at the sandbox's host.
        case askSandbox
        /// Repeat the request at production's host.
        case askProduction
        /// Retry later; nil is without a limit of attempts.
        case retry(atMost: Int?)
        /// Do not retry: the answer is final.
        case giveUp
    }

    package func reaction(isRetryable: Bool) -> Reaction {
        switch self {
        // The answer for an expired subscription contains the receipt too.
        case .valid, .subscriptionExpired: .accept
        case .sandboxReceipt: .askSandbox
        case .productionReceipt: .askProduction
        case .malformedReceiptData: .retry(atMost: 2)
        case .temporarilyUnavailable, .internalDataAccessError: .retry(atMost: nil)
        default: (21100...21199).contains(rawValue) && isRetryable ? .retry(atMost: nil) : .giveUp
        }
    }
}
