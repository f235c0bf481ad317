import AppStore
import Testing

struct NotificationMatrixTests {
    @Test func `the table holds the documented types and pairs`() {
        #expect(NotificationMatrix.subtypes.count == 23)
        #expect(NotificationMatrix.pairs.count == 42)
        #expect(NotificationMatrix.pairs.allSatisfy { NotificationMatrix.contains($0.type, $0.subtype) })
    }

    @Test(
        arguments: [
            (.didRenew, nil, true), (.didRenew, .billingRecovery, true), (.didRenew, .voluntary, false), (.subscribed, nil, false),
            (.offerRedeemed, .initialBuy, true), (.offerRedeemed, nil, true), (.expired, .productNotForSale, true), (.test, nil, true),
            (NotificationTypeV2(rawValue: "NEW"), nil, false),
        ] as [(NotificationTypeV2, Subtype?, Bool)]
    )
    func `a pair is known or not`(type: NotificationTypeV2, subtype: Subtype?, isKnown: Bool) {
        #expect(NotificationMatrix.contains(type, subtype) == isKnown)
    }

    @Test func `a type is known whatever its subtype`() {
        #expect(NotificationMatrix.contains(.subscribed))
        #expect(!NotificationMatrix.contains(NotificationTypeV2(rawValue: "NEW")))
    }
}
