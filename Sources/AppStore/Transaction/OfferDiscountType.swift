/// The payment mode of an offer.
package struct OfferDiscountType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
    package static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
    package static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
    package static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")

    package static let known: Set = [freeTrial, payAsYouGo, payUpFront, oneTime]
}
