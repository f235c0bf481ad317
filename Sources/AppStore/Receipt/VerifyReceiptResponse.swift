package import StrictJSON

/// The answer of Apple's verifyReceipt.
package struct VerifyReceiptResponse: PayloadObject {
    package let status: VerifyReceiptStatus?
    /// `Production` or `Sandbox`; absent in refusals.
    package let environment: AppStoreEnvironment?
    /// Whether a retry may succeed; only with statuses 21100 to 21199.
    package let isRetryable: Bool?
    /// The receipt in the request.
    package let receipt: VerifiedReceiptContent?
    /// The newest receipt of the customer, in base64.
    package let latestReceipt: String?
    /// The current state of all transactions except finished consumables.
    package let latestReceiptInfo: [ReceiptTransaction]
    /// The current renewal state of each subscription; for an iOS 6 style receipt, from the outermost members.
    package let pendingRenewalInfo: [PendingRenewalInfo]
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case status, environment, receipt
        case isRetryable = "is-retryable"
        case isRetryableWithUnderscore = "is_retryable"
        case latestReceipt = "latest_receipt"
        case latestReceiptInfo = "latest_receipt_info"
        /// The same for an iOS 6 style receipt whose subscription has expired.
        case latestExpiredReceiptInfo = "latest_expired_receipt_info"
        case pendingRenewalInfo = "pending_renewal_info"
    }

    package init(decoding json: JSONObject) {
        var members = LooseMembers<Member>(json)
        status = members.value(.status)
        environment = members.text(.environment).map(AppStoreEnvironment.init(legacy:))
        let isRetryableWithUnderscore = members.flag(.isRetryableWithUnderscore)
        isRetryable = members.flag(.isRetryable) ?? isRetryableWithUnderscore
        receipt = members.object(.receipt)
        latestReceipt = members.text(.latestReceipt)
        let expired: [ReceiptTransaction] = members.objects(.latestExpiredReceiptInfo)
        latestReceiptInfo = members.objects(.latestReceiptInfo) + expired
        let renewals: [PendingRenewalInfo] = members.objects(.pendingRenewalInfo)
        let contract = receipt?.transaction.flatMap { $0.originalTransactionID ?? $0.transactionID }
        let outer = contract.flatMap { PendingRenewalInfo(outerMembersOf: json, originalTransactionID: $0) }
        if let outer { members.note(outer.odd) }
        pendingRenewalInfo = renewals.isEmpty ? [outer].compactMap(\.self) : renewals
        odd = members.odd
    }

    /// What the caller does next.
    package var reaction: VerifyReceiptStatus.Reaction { (status ?? .internalDataAccessError).reaction(isRetryable: isRetryable ?? false) }
}

/// The receipt in verifyReceipt's answer.
///
/// Unused members (`app_item_id`, `original_purchase_date`, `expiration_date`, the versions of the app) are not decoded, so that they cannot
/// make an answer unreadable.
package struct VerifiedReceiptContent: PayloadObject {
    package let receiptType: ReceiptType?
    package let bundleID: String?
    /// The date of the state in ``inApp``.
    package let creationDate: Timestamp?
    /// The date of the request, and of the state in `latest_receipt_info` and `pending_renewal_info`.
    package let requestDate: Timestamp?
    /// The purchases in the receipt, as of its creation.
    package let inApp: [ReceiptTransaction]
    /// The purchase of an iOS 6 style receipt, which has no dates of its own.
    package let transaction: ReceiptTransaction?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case receiptType = "receipt_type"
        case bundleID = "bundle_id"
        case bundleIDOfOldReceipts = "bid"
        case creationDate = "receipt_creation_date"
        case requestDate = "request_date"
        case inApp = "in_app"
        case transactionID = "transaction_id"
    }

    package init(decoding json: JSONObject) {
        var members = LooseMembers<Member>(json)
        receiptType = members.value(.receiptType)
        let bundleIDOfOldReceipts = members.name(.bundleIDOfOldReceipts)
        bundleID = members.name(.bundleID) ?? bundleIDOfOldReceipts
        creationDate = members.date(.creationDate)
        requestDate = members.date(.requestDate)
        inApp = members.objects(.inApp)
        let transaction = members.text(.transactionID).map { _ in ReceiptTransaction(decoding: json) }
        if let transaction { members.note(transaction.odd) }
        self.transaction = transaction
        odd = members.odd
    }
}

extension AppStoreEnvironment {
    /// Reads the environment of verifyReceipt and notifications V1, which also use `PROD`.
    package init(legacy name: String) {
        self = name == "PROD" ? .production : AppStoreEnvironment(rawValue: name)
    }
}

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
