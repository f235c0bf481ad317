/// Why a subscription expired.
package struct ExpirationIntent: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let customerCancelled = ExpirationIntent(rawValue: 1)
    package static let billingError = ExpirationIntent(rawValue: 2)
    package static let customerDidNotConsentToPriceIncrease = ExpirationIntent(rawValue: 3)
    package static let productNotAvailable = ExpirationIntent(rawValue: 4)
    package static let other = ExpirationIntent(rawValue: 5)

    package static let known: Set = [customerCancelled, billingError, customerDidNotConsentToPriceIncrease, productNotAvailable, other]
}
