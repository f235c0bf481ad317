package import FoundationEssentials
package import StrictJSON

/// One purchase in verifyReceipt's answers and in notifications V1: an entry of `in_app` or of `latest_receipt_info`.
package struct ReceiptTransaction: PayloadObject {
    package let transactionID: String?
    /// The transaction of the first purchase; identifies the contract of a subscription.
    package let originalTransactionID: String?
    /// Identifies one period of a subscription.
    package let webOrderLineItemID: String?
    package let productID: String?
    package let quantity: Int64?
    package let purchaseDate: Timestamp?
    package let originalPurchaseDate: Timestamp?
    /// Subscriptions only.
    package let expiresDate: Timestamp?
    /// The date of a refund, a revocation or, with `isUpgraded`, an upgrade.
    package let cancellationDate: Timestamp?
    package let cancellationReason: RevocationReason?
    package let isUpgraded: Bool?
    package let isTrialPeriod: Bool?
    package let isInIntroOfferPeriod: Bool?
    package let promotionalOfferID: String?
    package let offerCodeRefName: String?
    package let subscriptionGroupIdentifier: String?
    package let inAppOwnershipType: InAppOwnershipType?
    /// The UUID that the app set at the purchase; nil for text that is not a UUID.
    package let appAccountToken: UUID?
    /// The text of `app_account_token`, UUID or not.
    package let appAccountTokenText: String?
    /// The bundle identifier; only in the single object of older notifications.
    package let bundleID: String?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case webOrderLineItemID = "web_order_line_item_id"
        case productID = "product_id"
        case quantity
        case purchaseDate = "purchase_date"
        case originalPurchaseDate = "original_purchase_date"
        case expiresDate = "expires_date"
        case cancellationDate = "cancellation_date"
        case cancellationReason = "cancellation_reason"
        case isUpgraded = "is_upgraded"
        case isTrialPeriod = "is_trial_period"
        case isInIntroOfferPeriod = "is_in_intro_offer_period"
        case promotionalOfferID = "promotional_offer_id"
        case offerCodeRefName = "offer_code_ref_name"
        case subscriptionGroupIdentifier = "subscription_group_identifier"
        case inAppOwnershipType = "in_app_ownership_type"
        case appAccountToken = "app_account_token"
        case bundleID = "bid"
    }

    package init(decoding json: JSONObject) {
        var members = LooseMembers<Member>(json)
        transactionID = members.text(.transactionID)
        originalTransactionID = members.text(.originalTransactionID)
        webOrderLineItemID = members.text(.webOrderLineItemID)
        productID = members.text(.productID)
        quantity = members.integer(.quantity)
        purchaseDate = members.date(.purchaseDate)
        originalPurchaseDate = members.date(.originalPurchaseDate)
        expiresDate = members.date(.expiresDate)
        cancellationDate = members.date(.cancellationDate)
        cancellationReason = members.value(.cancellationReason)
        isUpgraded = members.flag(.isUpgraded)
        isTrialPeriod = members.flag(.isTrialPeriod)
        isInIntroOfferPeriod = members.flag(.isInIntroOfferPeriod)
        promotionalOfferID = members.text(.promotionalOfferID)
        offerCodeRefName = members.text(.offerCodeRefName)
        subscriptionGroupIdentifier = members.text(.subscriptionGroupIdentifier)
        inAppOwnershipType = members.value(.inAppOwnershipType)
        appAccountTokenText = members.text(.appAccountToken)
        appAccountToken = appAccountTokenText.flatMap { UUID(uuidString: $0) }
        bundleID = members.name(.bundleID)
        odd = members.odd
    }
}

extension ReceiptTransaction {
    /// Members whose absence means something: without them the purchase would be another one, a paid one, or one that was never refunded.
    package static let neededMembers: Set<String> = Set(
        [
            Member.transactionID, .originalTransactionID, .webOrderLineItemID, .productID, .purchaseDate, .cancellationDate,
            .inAppOwnershipType,
        ].map(\.rawValue)
    )

    /// Whether a member that the ledger needs was given and cannot be read.
    package var isUnreadable: Bool {
        guard !odd.isEmpty else { return false }
        let isCancelled = cancellationDate != nil
        let isDated = purchaseDate != nil
        return odd.contains { member in
            switch member.member {
            // One of the forms of a date is enough.
            case Member.cancellationDate.rawValue: !isCancelled
            case Member.purchaseDate.rawValue: !isDated
            case let name: Self.neededMembers.contains(name)
            }
        }
    }
}

/// The state of one subscription's renewal: an entry of `pending_renewal_info` in verifyReceipt's answers and in notifications V1.
package struct PendingRenewalInfo: PayloadObject {
    package let originalTransactionID: String?
    /// The current product.
    package let productID: String?
    /// The product of the next renewal.
    package let autoRenewProductID: String?
    package let autoRenewStatus: AutoRenewStatus?
    package let isInBillingRetryPeriod: Bool?
    package let expirationIntent: ExpirationIntent?
    package let gracePeriodExpiresDate: Timestamp?
    /// Whether the customer consented to a price increase, until 2022.
    package let priceConsentStatus: PriceIncreaseStatus?
    /// The same since 2022.
    package let priceIncreaseStatus: PriceIncreaseStatus?
    package let promotionalOfferID: String?
    package let offerCodeRefName: String?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case originalTransactionID = "original_transaction_id"
        case productID = "product_id"
        case autoRenewProductID = "auto_renew_product_id"
        case autoRenewStatus = "auto_renew_status"
        case isInBillingRetryPeriod = "is_in_billing_retry_period"
        case expirationIntent = "expiration_intent"
        case gracePeriodExpiresDate = "grace_period_expires_date"
        case priceConsentStatus = "price_consent_status"
        case priceIncreaseStatus = "price_increase_status"
        case promotionalOfferID = "promotional_offer_id"
        case offerCodeRefName = "offer_code_ref_name"
    }

    package init(decoding json: JSONObject) {
        var members = LooseMembers<Member>(json)
        originalTransactionID = members.text(.originalTransactionID)
        productID = members.text(.productID)
        autoRenewProductID = members.text(.autoRenewProductID)
        autoRenewStatus = members.flag(.autoRenewStatus).map { $0 ? .on : .off }
        isInBillingRetryPeriod = members.flag(.isInBillingRetryPeriod)
        expirationIntent = members.value(.expirationIntent)
        gracePeriodExpiresDate = members.date(.gracePeriodExpiresDate)
        priceConsentStatus = members.value(.priceConsentStatus)
        priceIncreaseStatus = members.value(.priceIncreaseStatus)
        promotionalOfferID = members.text(.promotionalOfferID)
        offerCodeRefName = members.text(.offerCodeRefName)
        odd = members.odd
    }
}

extension PendingRenewalInfo {
    /// Reads the renewal from the outermost members of a notification V1, its only place until 2019; nil when all are absent.
    package init?(outerMembersOf body: ResponseBodyV1, originalTransactionID: String) {
        let isAbsent =
            body.autoRenewProductID == nil && body.autoRenewStatus == nil && body.isInBillingRetryPeriod == nil
            && body.expirationIntent == nil && body.gracePeriodExpiresDate == nil && body.priceConsentStatus == nil
        guard !isAbsent else { return nil }
        self.originalTransactionID = originalTransactionID
        productID = nil
        autoRenewProductID = body.autoRenewProductID
        autoRenewStatus = body.autoRenewStatus
        isInBillingRetryPeriod = body.isInBillingRetryPeriod
        expirationIntent = body.expirationIntent
        gracePeriodExpiresDate = body.gracePeriodExpiresDate
        priceConsentStatus = body.priceConsentStatus
        priceIncreaseStatus = nil
        promotionalOfferID = nil
        offerCodeRefName = nil
        odd = []
    }

    /// Reads the renewal from the outermost members of verifyReceipt's answer to an iOS 6 style receipt; nil when all are absent.
    package init?(outerMembersOf answer: JSONObject, originalTransactionID: String) {
        let renewalMembers: [Member] = [
            .autoRenewProductID, .autoRenewStatus, .isInBillingRetryPeriod, .expirationIntent, .gracePeriodExpiresDate, .priceConsentStatus,
        ]
        var members = JSONObject()
        for name in renewalMembers.map(\.rawValue) + ["\(Member.gracePeriodExpiresDate.rawValue)_ms"] { members[name] = answer[name] }
        guard members.members.contains(where: { $0.value != .null }) else { return nil }
        members[Member.originalTransactionID.rawValue] = .string(originalTransactionID)
        self.init(decoding: members)
    }
}
