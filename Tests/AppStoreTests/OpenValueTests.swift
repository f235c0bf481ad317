import AppStore
import Testing

struct OpenValueTests {
    typealias TextType = any (OpenValue & RawRepresentable<String>).Type
    typealias NumberType = any (OpenValue & RawRepresentable<Int32>).Type

    static let strings: [TextType] = [
        AppStoreEnvironment.self, NotificationTypeV2.self, Subtype.self, ConsumptionRequestReason.self, ProductType.self,
        InAppOwnershipType.self,
        TransactionReason.self, OfferDiscountType.self, RevocationType.self, BillingPlanType.self, RenewalBillingPlanType.self,
        PurchasePlatform.self,
        AdvancedCommerceOfferPeriod.self, AdvancedCommerceOfferReason.self, AdvancedCommercePeriod.self,
        AdvancedCommercePriceIncreaseInfoStatus.self,
        AdvancedCommerceRefundReason.self, AdvancedCommerceRefundType.self,
    ]
    static let integers: [NumberType] = [
        Status.self, OfferType.self, RevocationReason.self, AutoRenewStatus.self, ExpirationIntent.self, PriceIncreaseStatus.self,
    ]

    @Test(arguments: strings)
    func `an unknown text survives`(type: TextType) {
        #expect(type.init(rawValue: "ADDED_TOMORROW").rawValue == "ADDED_TOMORROW")
    }

    @Test(arguments: integers)
    func `an unknown number survives`(type: NumberType) {
        #expect(type.init(rawValue: 4711).rawValue == 4711)
    }

    @Test func `unknown values survive the decoding of a payload`() throws {
        let payload = try ResponseBodyV2DecodedPayload([
            "notificationType": "ADDED_TOMORROW", "subtype": "NEW", "data": ["status": 99, "environment": "Moon"],
        ])
        #expect(payload.notificationType?.rawValue == "ADDED_TOMORROW")
        #expect(payload.subtype?.rawValue == "NEW")
        #expect(payload.data?.status?.rawValue == 99)
        #expect(payload.data?.environment?.rawValue == "Moon")
    }
}
