/// How much of an item's price was refunded.
package struct AdvancedCommerceRefundType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let full = AdvancedCommerceRefundType(rawValue: "FULL")
    package static let prorated = AdvancedCommerceRefundType(rawValue: "PRORATED")
    package static let custom = AdvancedCommerceRefundType(rawValue: "CUSTOM")
}
