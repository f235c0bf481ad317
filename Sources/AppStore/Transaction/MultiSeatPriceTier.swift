package import StrictJSON

/// A number of seats and the price of each of them; Apple's page `appstoreserverapi/multiseatpricetier`.
package struct MultiSeatPriceTier: PayloadObject {
    /// For one seat, in thousandths of the currency's unit.
    package let price: Int64?
    /// The number of seats at this price.
    package let quantity: Int32?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case price, quantity
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        price = members.integer(.price)
        quantity = members.integer32(.quantity)
        odd = members.odd
    }

    /// The price of all its seats.
    fileprivate var total: (partialValue: Int64, overflow: Bool)? {
        guard let price, let quantity else { return nil }
        return price.multipliedReportingOverflow(by: Int64(quantity))
    }
}

extension MemberReader {
    /// The tiers, and what their seats cost together. A tier without price or quantity, or a sum that is no integer, is noted in ``odd``.
    ///
    /// - Returns: no total without tiers, or when one of them cannot be read: the sum of the others would be wrong.
    mutating func priceTiers(_ member: Member) -> (tiers: [MultiSeatPriceTier]?, total: Int64?) {
        let oddBefore = odd.count
        let tiers: [MultiSeatPriceTier]? = objects(member)
        guard let tiers, !tiers.isEmpty, odd.count == oddBefore else { return (tiers, nil) }
        var total: Int64 = 0
        for (index, tier) in tiers.enumerated() {
            guard let cost = tier.total else {
                note("\(member.rawValue)[\(index)]", "a price and a quantity")
                return (tiers, nil)
            }
            let (sum, overflow) = total.addingReportingOverflow(cost.partialValue)
            guard !overflow, !cost.overflow else {
                note(member.rawValue, "tiers whose total is a 64-bit integer")
                return (tiers, nil)
            }
            total = sum
        }
        return (tiers, total)
    }
}
