/// How much a revocation took back.
package struct RevocationType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let refundFull = RevocationType(rawValue: "REFUND_FULL")
    /// A part; `revocationPercentage` says which.
    package static let refundProrated = RevocationType(rawValue: "REFUND_PRORATED")
    /// No money: the product is no longer shared.
    package static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
}
