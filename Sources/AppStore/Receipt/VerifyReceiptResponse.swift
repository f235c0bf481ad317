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
