/// verifyReceipt's `status`.
package struct VerifyReceiptStatus: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let valid = VerifyReceiptStatus(rawValue: 0)
    /// The request was no POST.
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

    /// Whether Apple says that there is no such receipt, or nobody who has it; of other refusals it is the question that is at fault.
    package var deniesReceipt: Bool { self == .notAuthenticated || self == .accountNotFound }

    /// What to do about an answer with this status.
    package enum Reaction: Hashable, Sendable {
        /// The answer is the receipt's.
        case accept
        /// Ask the sandbox's host.
        case askSandbox
        /// Ask production's host.
        case askProduction
        /// Ask again later; at most so many times, or, for nil, as long as there is time.
        case retry(atMost: Int?)
        /// No later answer will be another one.
        case giveUp
    }

    /// What to do about an answer with this status, and with this `is-retryable`.
    package func reaction(isRetryable: Bool) -> Reaction {
        switch self {
        // An expired subscription's answer has a receipt in it all the same.
        case .valid, .subscriptionExpired: .accept
        case .sandboxReceipt: .askSandbox
        case .productionReceipt: .askProduction
        case .malformedReceiptData: .retry(atMost: 2)
        case .temporarilyUnavailable, .internalDataAccessError: .retry(atMost: nil)
        default: (21100...21199).contains(rawValue) && isRetryable ? .retry(atMost: nil) : .giveUp
        }
    }
}
