/// What will happen when a commitment of several billing periods ends.
package struct RenewalCommitmentInfo: PayloadObject {
    package let commitmentAutoRenewProductId: String?
    package let commitmentAutoRenewStatus: AutoRenewStatus?
    package let commitmentRenewalBillingPlanType: RenewalBillingPlanType?
    package let commitmentRenewalDate: Timestamp?
    /// In thousandths of the currency's unit.
    package let commitmentRenewalPrice: Int64?

    package enum Member: String, CaseIterable {
        case commitmentAutoRenewProductId, commitmentAutoRenewStatus, commitmentRenewalBillingPlanType
        case commitmentRenewalDate, commitmentRenewalPrice
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        commitmentAutoRenewProductId = try members.string(.commitmentAutoRenewProductId)
        commitmentAutoRenewStatus = try members.value(.commitmentAutoRenewStatus)
        commitmentRenewalBillingPlanType = try members.value(.commitmentRenewalBillingPlanType)
        commitmentRenewalDate = try members.timestamp(.commitmentRenewalDate)
        commitmentRenewalPrice = try members.integer(.commitmentRenewalPrice)
    }
}
