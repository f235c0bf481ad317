/// What Apple's verifyReceipt answers.
package struct VerifyReceiptResponse: PayloadObject {
    package let status: VerifyReceiptStatus?
    /// `Production` or `Sandbox`; absent in answers that refuse.
    package let environment: AppStoreEnvironment?
    /// Whether the same question may be answered otherwise later; only with statuses 21100 to 21199.
    package let isRetryable: Bool?
    /// The receipt that was asked about.
    package let receipt: VerifiedReceiptContent?
    /// The newest receipt of the customer, in base64.
    package let latestReceipt: String?
    /// All transactions, as they are now, but consumables that the app finished; as new as the answer.
    package let latestReceiptInfo: [ReceiptTransaction]
    /// One for each subscription; as new as the answer. About an iOS 6 style receipt the outermost members say it.
    package let pendingRenewalInfo: [PendingRenewalInfo]

    package enum Member: String, CaseIterable {
        case status, environment, receipt
        case isRetryable = "is-retryable"
        case isRetryableWithUnderscore = "is_retryable"
        case latestReceipt = "latest_receipt"
        case latestReceiptInfo = "latest_receipt_info"
        /// The same, of an iOS 6 style receipt whose subscription has expired.
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

    /// What to do about this answer.
    package var reaction: VerifyReceiptStatus.Reaction { (status ?? .internalDataAccessError).reaction(isRetryable: isRetryable ?? false) }
}

/// The receipt that verifyReceipt was asked about, in its words; what nobody uses (`app_item_id`, `original_purchase_date`,
/// `expiration_date`, the versions of the app) is not read, so that nothing in it can make an answer unreadable.
package struct VerifiedReceiptContent: PayloadObject {
    package let receiptType: ReceiptType?
    package let bundleID: String?
    /// The version of what is in ``inApp``.
    package let creationDate: Timestamp?
    /// When verifyReceipt was asked: the version of `latest_receipt_info` and `pending_renewal_info`.
    package let requestDate: Timestamp?
    /// The purchases in that receipt, as they were when it was made.
    package let inApp: [ReceiptTransaction]
    /// The purchase itself, where the receipt is of a single one: the iOS 6 style, which has no dates of its own.
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
    /// The environment in the words of verifyReceipt and of notifications V1, which say `PROD` as well.
    package init(legacy name: String) {
        self = name == "PROD" ? .production : AppStoreEnvironment(rawValue: name)
    }
}
