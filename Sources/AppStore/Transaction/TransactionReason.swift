/// Whether the charge is a purchase or an automatic renewal.
package struct TransactionReason: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let purchase = TransactionReason(rawValue: "PURCHASE")
    package static let renewal = TransactionReason(rawValue: "RENEWAL")

    package static let known: Set = [purchase, renewal]
}
