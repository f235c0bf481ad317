/// How the commitment of a subscription is billed.
package struct BillingPlanType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let billedUpfront = BillingPlanType(rawValue: "BILLED_UPFRONT")
    package static let monthly = BillingPlanType(rawValue: "MONTHLY")

    package static let known: Set = [billedUpfront, monthly]
}
