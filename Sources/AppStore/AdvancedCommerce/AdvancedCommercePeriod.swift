/// The length of a subscription's period, as an ISO 8601 duration.
package struct AdvancedCommercePeriod: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let oneWeek = AdvancedCommercePeriod(rawValue: "P1W")
    package static let oneMonth = AdvancedCommercePeriod(rawValue: "P1M")
    package static let twoMonths = AdvancedCommercePeriod(rawValue: "P2M")
    package static let threeMonths = AdvancedCommercePeriod(rawValue: "P3M")
    package static let sixMonths = AdvancedCommercePeriod(rawValue: "P6M")
    package static let oneYear = AdvancedCommercePeriod(rawValue: "P1Y")
}
