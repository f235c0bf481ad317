/// Where in a commitment of several billing periods a transaction stands.
package struct TransactionCommitmentInfo: PayloadObject {
    package let billingPeriodNumber: Int32?
    package let commitmentExpiresDate: Timestamp?
    /// In thousandths of the currency's unit.
    package let commitmentPrice: Int64?
    package let totalBillingPeriods: Int32?

    package enum Member: String, CaseIterable {
        case billingPeriodNumber, commitmentExpiresDate, commitmentPrice, totalBillingPeriods
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        billingPeriodNumber = try members.integer32(.billingPeriodNumber)
        commitmentExpiresDate = try members.timestamp(.commitmentExpiresDate)
        commitmentPrice = try members.integer(.commitmentPrice)
        totalBillingPeriods = try members.integer32(.totalBillingPeriods)
    }
}
