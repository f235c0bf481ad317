package import StrictJSON

/// The price of the seats that a subscription will renew with; Apple's page `appstoreservernotifications/renewalmultiseatinfo`.
package struct RenewalMultiSeatInfo: PayloadObject {
    package let renewalPriceTiers: [MultiSeatPriceTier]?
    /// What the seats will cost together, in thousandths of the currency's unit; `nil` without tiers, or when one of them cannot be read.
    ///
    /// The `renewalPrice` of the renewal info is the average for one seat, rounded.
    package let total: Int64?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case renewalPriceTiers
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        (renewalPriceTiers, total) = members.priceTiers(.renewalPriceTiers)
        odd = members.odd
    }
}
