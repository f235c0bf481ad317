/// How far a price increase has come.
package struct AdvancedCommercePriceIncreaseInfoStatus: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let scheduled = AdvancedCommercePriceIncreaseInfoStatus(rawValue: "SCHEDULED")
    package static let pending = AdvancedCommercePriceIncreaseInfoStatus(rawValue: "PENDING")
    package static let accepted = AdvancedCommercePriceIncreaseInfoStatus(rawValue: "ACCEPTED")
}
