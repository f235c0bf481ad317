package import StrictJSON

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
