/// The billing plan of the commitment after the next renewal.
package struct RenewalBillingPlanType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let billedUpfront = RenewalBillingPlanType(rawValue: "BILLED_UPFRONT")
    package static let monthly = RenewalBillingPlanType(rawValue: "MONTHLY")
}
