/// Whether the customer consented to a price increase.
package struct PriceIncreaseStatus: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let customerHasNotResponded = PriceIncreaseStatus(rawValue: 0)
    package static let customerConsentedOrWasNotifiedWithoutNeedingConsent = PriceIncreaseStatus(rawValue: 1)

    package static let known: Set = [customerHasNotResponded, customerConsentedOrWasNotifiedWithoutNeedingConsent]
}
