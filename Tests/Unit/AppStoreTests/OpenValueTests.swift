import AppStore
import StrictJSON
import Testing

struct OpenValueTests {
    typealias TextType = any (OpenValue & RawRepresentable<String>).Type
    typealias NumberType = any (OpenValue & RawRepresentable<Int32>).Type

    static let strings: [TextType] = [
        AppStoreEnvironment.self, NotificationTypeV2.self, Subtype.self, ConsumptionRequestReason.self, ProductType.self,
        InAppOwnershipType.self,
        TransactionReason.self, OfferDiscountType.self, RevocationType.self, BillingPlanType.self, PurchasePlatform.self,
        AdditionalTransactionReason.self, InvitationManagement.self, ExternalPurchaseTokenType.self, StoreType.self,
    ]
    static let integers: [NumberType] = [
        Status.self, OfferType.self, RevocationReason.self, AutoRenewStatus.self, ExpirationIntent.self, PriceIncreaseStatus.self,
    ]

    @Test(arguments: strings)
    func `an unknown text value is kept`(type: TextType) {
        let value = type.init(rawValue: "UNKNOWN_TYPE")
        #expect(value.rawValue == "UNKNOWN_TYPE" && !value.isKnown)
    }

    @Test(arguments: integers)
    func `an unknown number value is kept`(type: NumberType) {
        let value = type.init(rawValue: 4711)
        #expect(value.rawValue == 4711 && !value.isKnown)
    }

    @Test func `unknown values are kept when a payload is decoded`() throws {
        let payload = try ResponseBodyV2DecodedPayload([
            "notificationType": "UNKNOWN_TYPE", "subtype": "NEW", "data": ["status": 99, "environment": "Moon"],
        ])
        #expect(payload.notificationType?.rawValue == "UNKNOWN_TYPE")
        #expect(payload.subtype?.rawValue == "NEW")
        #expect(payload.data?.status?.rawValue == 99)
        #expect(payload.data?.environment?.rawValue == "Moon")
    }
}
