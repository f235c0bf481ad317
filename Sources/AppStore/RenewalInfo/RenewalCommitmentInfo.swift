package import StrictJSON

/// What follows the commitment of a subscription that is paid by the month; Apple's page `appstoreserverapi/renewalcommitmentinfo`.
package struct RenewalCommitmentInfo: PayloadObject {
    /// The product of the next commitment.
    package let commitmentAutoRenewProductId: String?
    /// Whether a next commitment will begin. The periods of the current one are charged in any case.
    package let commitmentAutoRenewStatus: AutoRenewStatus?
    package let commitmentRenewalBillingPlanType: BillingPlanType?
    /// The start of the next commitment.
    package let commitmentRenewalDate: Timestamp?
    /// In thousandths of the currency's unit. Apple does not say what it covers.
    package let commitmentRenewalPrice: Int64?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case commitmentAutoRenewProductId, commitmentAutoRenewStatus, commitmentRenewalBillingPlanType
        case commitmentRenewalDate, commitmentRenewalPrice
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        commitmentAutoRenewProductId = members.string(.commitmentAutoRenewProductId)
        commitmentAutoRenewStatus = members.value(.commitmentAutoRenewStatus)
        commitmentRenewalBillingPlanType = members.value(.commitmentRenewalBillingPlanType)
        commitmentRenewalDate = members.timestamp(.commitmentRenewalDate)
        commitmentRenewalPrice = members.integer(.commitmentRenewalPrice)
        odd = members.odd
        unknown = members.unknown
    }
}
