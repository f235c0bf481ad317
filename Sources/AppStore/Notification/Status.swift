/// The state of an auto-renewable subscription when its notification was signed.
package struct Status: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let active = Status(rawValue: 1)
    package static let expired = Status(rawValue: 2)
    /// Not paid; Apple retries, without access.
    package static let billingRetry = Status(rawValue: 3)
    /// Not paid; Apple retries, with access.
    package static let billingGracePeriod = Status(rawValue: 4)
    /// Refunded, or no longer shared by the family.
    package static let revoked = Status(rawValue: 5)

    package static let known: Set = [active, expired, billingRetry, billingGracePeriod, revoked]
}
