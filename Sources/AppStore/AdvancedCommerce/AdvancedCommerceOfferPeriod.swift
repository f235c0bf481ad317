/// The length of an offer's period, as an ISO 8601 duration.
package struct AdvancedCommerceOfferPeriod: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let threeDays = AdvancedCommerceOfferPeriod(rawValue: "P3D")
    package static let oneWeek = AdvancedCommerceOfferPeriod(rawValue: "P1W")
    package static let twoWeeks = AdvancedCommerceOfferPeriod(rawValue: "P2W")
    package static let oneMonth = AdvancedCommerceOfferPeriod(rawValue: "P1M")
    package static let twoMonths = AdvancedCommerceOfferPeriod(rawValue: "P2M")
    package static let threeMonths = AdvancedCommerceOfferPeriod(rawValue: "P3M")
    package static let sixMonths = AdvancedCommerceOfferPeriod(rawValue: "P6M")
    package static let nineMonths = AdvancedCommerceOfferPeriod(rawValue: "P9M")
    package static let oneYear = AdvancedCommerceOfferPeriod(rawValue: "P1Y")
}
