package import AppStore
package import StrictJSON

/// The month of a commitment that a transaction pays, `commitmentInfo` (appstoreserverapi/transactioncommitmentinfo).
package struct SimulatedCommitment: Hashable, Sendable {
    /// The number of the month, from 1 on.
    package var number: Int32
    package var total: Int32
    package var expiresDate: Timestamp
    /// Thousandths of the currency unit. Apple's page has no text about it; this is the price of all months.
    package var price: Int64

    package init(number: Int32, total: Int32, expiresDate: Timestamp, price: Int64) {
        (self.number, self.total, self.expiresDate, self.price) = (number, total, expiresDate, price)
    }

    package var payload: JSONObject {
        var json = JSONObject()
        json.add("billingPeriodNumber", number)
        json.add("totalBillingPeriods", total)
        json.add("commitmentExpiresDate", expiresDate)
        json.add("commitmentPrice", price)
        return json
    }
}

/// The commitment after the running one, `commitmentInfo` of a renewal info (appstoreserverapi/renewalcommitmentinfo).
package struct SimulatedRenewalCommitment: Hashable, Sendable {
    package var productID: String
    package var renews: Bool
    package var renewalDate: Timestamp
    /// Thousandths of the currency unit, of all months.
    package var price: Int64

    package init(productID: String, renews: Bool, renewalDate: Timestamp, price: Int64) {
        (self.productID, self.renews, self.renewalDate, self.price) = (productID, renews, renewalDate, price)
    }

    package var payload: JSONObject {
        var json = JSONObject()
        json.add("commitmentAutoRenewProductId", productID)
        json.add("commitmentAutoRenewStatus", renews ? 1 : 0)
        json.add("commitmentRenewalBillingPlanType", BillingPlanType.monthly.rawValue)
        json.add("commitmentRenewalDate", renewalDate)
        json.add("commitmentRenewalPrice", price)
        return json
    }
}
