/// Why more than one transaction represents a subscription period.
package struct AdditionalTransactionReason: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The purchaser added seats within the period. The transaction of before the addition has this reason, too.
    package static let seatAddition = AdditionalTransactionReason(rawValue: "SEAT_ADDITION")

    package static let known: Set = [seatAddition]
}
