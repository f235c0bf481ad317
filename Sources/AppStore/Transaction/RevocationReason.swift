/// Why Apple refunded or revoked a transaction.
package struct RevocationReason: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let refundedForOtherReason = RevocationReason(rawValue: 0)
    /// Because of an actual or perceived issue with the app.
    package static let refundedDueToIssue = RevocationReason(rawValue: 1)

    package static let known: Set = [refundedForOtherReason, refundedDueToIssue]
}
