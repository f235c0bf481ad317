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

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = LooseMembers<Member>(json)
        status = try members.value(.status)
        environment = try members.text(.environment).map(AppStoreEnvironment.init(legacy:))
        let isRetryableWithUnderscore = try members.flag(.isRetryableWithUnderscore)
        isRetryable = try members.flag(.isRetryable) ?? isRetryableWithUnderscore
        receipt = try members.object(.receipt)
        latestReceipt = try members.text(.latestReceipt)
        let expired: [ReceiptTransaction] = try members.objects(.latestExpiredReceiptInfo)
        latestReceiptInfo = try members.objects(.latestReceiptInfo) + expired
        let renewals: [PendingRenewalInfo] = try members.objects(.pendingRenewalInfo)
        let contract = receipt?.transaction.flatMap { $0.originalTransactionID ?? $0.transactionID }
        let outer = try contract.flatMap { contract throws(MalformedPayload) in
            try PendingRenewalInfo(outerMembersOf: json, originalTransactionID: contract)
        }
        pendingRenewalInfo = renewals.isEmpty ? [outer].compactMap(\.self) : renewals
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

    package enum Member: String, CaseIterable {
        case receiptType = "receipt_type"
        case bundleID = "bundle_id"
        case bundleIDOfOldReceipts = "bid"
        case creationDate = "receipt_creation_date"
        case requestDate = "request_date"
        case inApp = "in_app"
        case transactionID = "transaction_id"
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = LooseMembers<Member>(json)
        receiptType = try members.value(.receiptType)
        let bundleIDOfOldReceipts = try members.text(.bundleIDOfOldReceipts)
        bundleID = try members.text(.bundleID) ?? bundleIDOfOldReceipts
        creationDate = try members.date(.creationDate)
        requestDate = try members.date(.requestDate)
        inApp = try members.objects(.inApp)
        transaction = try members.text(.transactionID) == nil ? nil : ReceiptTransaction(json)
    }
}

extension AppStoreEnvironment {
    /// Reads the environment of verifyReceipt and notifications V1, which also use `PROD`.
    package init(legacy name: String) {
        self = name == "PROD" ? .production : AppStoreEnvironment(rawValue: name)
    }
}
