package import StrictJSON

/// Where the period of a transaction stands in the commitment that is paid by the month; Apple's page
/// `appstoreserverapi/transactioncommitmentinfo`.
package struct TransactionCommitmentInfo: PayloadObject {
    /// The number of this period in the commitment, from 1 to ``totalBillingPeriods``.
    package let billingPeriodNumber: Int32?
    package let totalBillingPeriods: Int32?
    package let commitmentExpiresDate: Timestamp?
    /// In thousandths of the currency's unit. Apple does not say what it covers.
    package let commitmentPrice: Int64?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case billingPeriodNumber, totalBillingPeriods, commitmentExpiresDate, commitmentPrice
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        billingPeriodNumber = members.integer32(.billingPeriodNumber)
        totalBillingPeriods = members.integer32(.totalBillingPeriods)
        commitmentExpiresDate = members.timestamp(.commitmentExpiresDate)
        commitmentPrice = members.integer(.commitmentPrice)
        odd = members.odd
    }
}
