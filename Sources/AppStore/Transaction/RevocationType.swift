/// The extent of a revocation.
package struct RevocationType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let refundFull = RevocationType(rawValue: "REFUND_FULL")
    /// A partial refund; see `revocationPercentage`.
    package static let refundProrated = RevocationType(rawValue: "REFUND_PRORATED")
    /// Without a refund: the product is no longer shared.
    package static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
    /// Without a refund: the seat is no longer assigned to this member.
    package static let assignmentRevoke = RevocationType(rawValue: "ASSIGNMENT_REVOKE")

    package static let known: Set = [refundFull, refundProrated, familyRevoke, assignmentRevoke]

    /// Whether money was given back; a value that this version does not know says nothing of money.
    package var isRefund: Bool { self == .refundFull || self == .refundProrated }
}
