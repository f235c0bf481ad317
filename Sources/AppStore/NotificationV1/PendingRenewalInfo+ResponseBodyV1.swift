extension PendingRenewalInfo {
    /// What notifications say of a renewal outside their unified receipt, as all did until 2019; nil when they say nothing of it.
    package init?(outerMembersOf body: ResponseBodyV1, originalTransactionID: String) {
        let saysNothing =
            body.autoRenewProductID == nil && body.autoRenewStatus == nil && body.isInBillingRetryPeriod == nil
            && body.expirationIntent == nil && body.gracePeriodExpiresDate == nil && body.priceConsentStatus == nil
        guard !saysNothing else { return nil }
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
    }

    /// What verifyReceipt's answers about iOS 6 style receipts say of the renewal, in their outermost members; nil when they say nothing of
    /// it.
    package init?(outerMembersOf answer: JSONObject, originalTransactionID: String) throws(MalformedPayload) {
        let told: [Member] = [
            .autoRenewProductID, .autoRenewStatus, .isInBillingRetryPeriod, .expirationIntent, .gracePeriodExpiresDate, .priceConsentStatus,
        ]
        var members = JSONObject()
        for name in told.map(\.rawValue) + ["\(Member.gracePeriodExpiresDate.rawValue)_ms"] { members[name] = answer[name] }
        guard members.members.contains(where: { $0.value != .null }) else { return nil }
        members[Member.originalTransactionID.rawValue] = .string(originalTransactionID)
        try self.init(members)
    }
}
