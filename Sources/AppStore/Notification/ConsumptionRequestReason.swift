/// Why a customer asks for a refund.
package struct ConsumptionRequestReason: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    package static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    package static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    package static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    package static let other = ConsumptionRequestReason(rawValue: "OTHER")

    package static let known: Set = [unintendedPurchase, fulfillmentIssue, unsatisfiedWithPurchase, legal, other]
}
