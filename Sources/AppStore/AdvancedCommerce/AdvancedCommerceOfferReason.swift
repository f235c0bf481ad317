/// What an offer is for.
package struct AdvancedCommerceOfferReason: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let acquisition = AdvancedCommerceOfferReason(rawValue: "ACQUISITION")
    package static let winBack = AdvancedCommerceOfferReason(rawValue: "WIN_BACK")
    package static let retention = AdvancedCommerceOfferReason(rawValue: "RETENTION")
}
