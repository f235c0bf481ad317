/// The kind of an offer.
package struct OfferType: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let introductoryOffer = OfferType(rawValue: 1)
    package static let promotionalOffer = OfferType(rawValue: 2)
    package static let offerCode = OfferType(rawValue: 3)
    package static let winBackOffer = OfferType(rawValue: 4)
    /// For a customer who is about to cancel. No page of Apple's shows the number; a session of WWDC26 does.
    package static let retentionOffer = OfferType(rawValue: 5)

    package static let known: Set = [introductoryOffer, promotionalOffer, offerCode, winBackOffer, retentionOffer]
}
