import AppStore
import Testing

struct NotificationMatrixTests {
    /// The documented pairs, independent of the table; the last two were sent until 2024-01-23.
    static let documented = """
        SUBSCRIBED/INITIAL_BUY SUBSCRIBED/RESUBSCRIBE
        DID_CHANGE_RENEWAL_PREF/UPGRADE DID_CHANGE_RENEWAL_PREF/DOWNGRADE DID_CHANGE_RENEWAL_PREF
        DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED DID_CHANGE_RENEWAL_STATUS
        OFFER_REDEEMED/UPGRADE OFFER_REDEEMED/DOWNGRADE OFFER_REDEEMED DID_RENEW DID_RENEW/BILLING_RECOVERY
        EXPIRED/VOLUNTARY EXPIRED/BILLING_RETRY EXPIRED/PRICE_INCREASE EXPIRED/PRODUCT_NOT_FOR_SALE EXPIRED
        DID_FAIL_TO_RENEW DID_FAIL_TO_RENEW/GRACE_PERIOD GRACE_PERIOD_EXPIRED PRICE_INCREASE/PENDING PRICE_INCREASE/ACCEPTED
        REFUND REFUND_DECLINED REFUND_REVERSED CONSUMPTION_REQUEST RENEWAL_EXTENDED RENEWAL_EXTENSION/SUMMARY RENEWAL_EXTENSION/FAILURE
        REVOKE TEST EXTERNAL_PURCHASE_TOKEN/UNREPORTED EXTERNAL_PURCHASE_TOKEN/CREATED EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER
        ONE_TIME_CHARGE RESCIND_CONSENT METADATA_UPDATE MIGRATION PRICE_CHANGE
        OFFER_REDEEMED/INITIAL_BUY OFFER_REDEEMED/RESUBSCRIBE
        """.split(whereSeparator: \.isWhitespace).map(String.init)

    @Test func `the table contains exactly the documented types and pairs`() {
        #expect(NotificationMatrix.subtypes.count == 23)
        #expect(NotificationMatrix.pairs.count == 40 + 2)
        let pairs = NotificationMatrix.pairs.map { [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/") }
        #expect(Set(pairs) == Set(Self.documented))
        #expect(NotificationMatrix.pairs.allSatisfy { NotificationMatrix.contains($0.type, $0.subtype) })
    }

    @Test(
        arguments: [
            (.didRenew, nil, true), (.didRenew, .billingRecovery, true), (.didRenew, .voluntary, false), (.subscribed, nil, false),
            (.offerRedeemed, .initialBuy, true), (.offerRedeemed, nil, true), (.expired, .productNotForSale, true), (.test, nil, true),
            (NotificationTypeV2(rawValue: "NEW"), nil, false),
        ] as [(NotificationTypeV2, Subtype?, Bool)]
    )
    func `contains tells known pairs from unknown ones`(type: NotificationTypeV2, subtype: Subtype?, isKnown: Bool) {
        #expect(NotificationMatrix.contains(type, subtype) == isKnown)
    }

    @Test func `a type is known with any subtype`() {
        #expect(NotificationMatrix.contains(.subscribed))
        #expect(!NotificationMatrix.contains(NotificationTypeV2(rawValue: "NEW")))
    }
}
