import AppStore
import Foundation
import Outbox
import ServerAPI
import StrictJSON
import Testing

/// What Apple documents, as facts in `documented.json` with their sources, and what of it this version knows.
///
/// Each fact is known or left out with a reason: a new fact in the file makes a test fail until it is one of the two.
struct DocumentedTests {
    private static let facts = Result {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "documented.json")
        return try JSONParser().parseObject([UInt8](Data(contentsOf: file)))
    }

    /// Notifications and members of payloads that came in 2025 and 2026, and that the ledger does not read.
    private static let leftOut: [String: String] = [
        "JWSTransactionDecodedPayload.advancedCommerceInfo": advancedCommerce,
        "JWSRenewalInfoDecodedPayload.advancedCommerceInfo": advancedCommerce,
        "MIGRATE": "only Apple's changelog spells MIGRATION so: NotificationMeaning takes it for MIGRATION",
    ]
    private static let advancedCommerce = "only whether it is there is read: isAdvancedCommerce"

    /// Apple's names of payloads, and the types that decode them.
    static let payloads: [(String, any PayloadObject.Type)] = [
        ("responseBodyV2DecodedPayload", ResponseBodyV2DecodedPayload.self), ("data", NotificationData.self), ("summary", Summary.self),
        ("externalPurchaseToken", ExternalPurchaseToken.self), ("appData", AppData.self), ("unclaimInfo", UnclaimInfo.self),
        ("JWSTransactionDecodedPayload", JWSTransactionDecodedPayload.self),
        ("JWSRenewalInfoDecodedPayload", JWSRenewalInfoDecodedPayload.self), ("JWSAppTransactionDecodedPayload", AppTransaction.self),
        ("TransactionMultiSeatInfo", TransactionMultiSeatInfo.self), ("RenewalMultiSeatInfo", RenewalMultiSeatInfo.self),
        ("MultiSeatPriceTier", MultiSeatPriceTier.self), ("TransactionCommitmentInfo", TransactionCommitmentInfo.self),
        ("RenewalCommitmentInfo", RenewalCommitmentInfo.self),
    ]

    @Test(arguments: payloads)
    func `a documented member is decoded, or left out with a reason`(name: String, type: any PayloadObject.Type) throws {
        let members = try Self.objects(Self.facts.get().object("payloads")?[name]).map { try #require($0.text("member")) }
        let leftOut = Self.leftOut.keys.filter { $0.hasPrefix(name + ".") }.map { String($0.dropFirst(name.count + 1)) }
        #expect(type.knownMembers.sorted() == Set(members).subtracting(leftOut).sorted())
        #expect(Set(leftOut).isSubset(of: members))
    }

    @Test func `the objects in decoded members are decoded`() throws {
        let all = try #require(try Self.facts.get().object("payloads"))
        for (name, _) in Self.payloads {
            for member in try Self.objects(all[name]) {
                let (path, kind) = try (name + "." + #require(member.text("member")), #require(member.text("kind")))
                guard let object = kind.split(separator: " ").last.map(String.init), all[object] != nil else { continue }
                #expect(Self.leftOut[path] != nil || Self.payloads.contains { $0.0 == object }, "\(path)")
            }
        }
    }

    @Test func `a documented notification is in the table, or left out with a reason`() throws {
        let documented = try Self.objects(Self.facts.get()["notificationTypes"]).flatMap { fact -> [String] in
            let type = try #require(fact.text("type"))
            guard case .array(let subtypes)? = fact["subtypes"] else { return [] }
            let pairs = subtypes.compactMap { if case .string(let subtype) = $0 { "\(type)/\(subtype)" } else { nil as String? } }
            return pairs + (fact["bare"] == .bool(true) ? [type] : [])
        }
        let leftOut = Self.leftOut.keys.filter { !$0.contains(".") }
        let pairs = NotificationMatrix.subtypes.flatMap { type, subtypes in
            subtypes.map { [type.rawValue, $0?.rawValue].compactMap(\.self).joined(separator: "/") }
        }
        #expect(pairs.sorted() == Set(documented).subtracting(leftOut).sorted())
        #expect(Set(leftOut).isSubset(of: documented))
    }

    @Test func `the table has the two pairs that Apple sent until 2024-01-23`() {
        #expect(NotificationMatrix.retiredSubtypes == [.offerRedeemed: [.initialBuy, .resubscribe]])
        #expect(NotificationMatrix.pairs.count == NotificationMatrix.subtypes.values.map(\.count).reduce(2, +))
    }

    /// Apple's names of lists of values, and the types that keep them.
    static let values: [(String, any OpenValue.Type)] = [
        ("type", ProductType.self), ("inAppOwnershipType", InAppOwnershipType.self), ("offerType", OfferType.self),
        ("offerDiscountType", OfferDiscountType.self), ("revocationReason", RevocationReason.self), ("revocationType", RevocationType.self),
        ("transactionReason", TransactionReason.self), ("additionalTransactionReason", AdditionalTransactionReason.self),
        ("expirationIntent", ExpirationIntent.self), ("autoRenewStatus", AutoRenewStatus.self),
        ("priceIncreaseStatus", PriceIncreaseStatus.self), ("status", Status.self), ("environment", AppStoreEnvironment.self),
        ("consumptionRequestReason", ConsumptionRequestReason.self), ("billingPlanType", BillingPlanType.self),
        ("renewalBillingPlanType", BillingPlanType.self), ("commitmentRenewalBillingPlanType", BillingPlanType.self),
        ("storeType", StoreType.self), ("originalPlatform", PurchasePlatform.self), ("purchasePlatform", PurchasePlatform.self),
        ("invitationManagement", InvitationManagement.self), ("tokenType", ExternalPurchaseTokenType.self), ("subtype", Subtype.self),
    ]

    /// Lists, and values of lists, that have no constant.
    private static let leftOutValues: [String: String] = [
        "groupType": groups, "role": groups, "version": "nothing depends on it",
        "orderLookupStatus": "an invalid order has no transactions",
        "sendAttemptResult": "doctor shows Apple's word", "firstSendAttemptResult": "not sent since 1.6", "extendReasonCode": checked,
        "deliveryStatus": checked, "refundPreference": checked, "accountTenure": checked, "consumptionStatus": checked,
        "deliveryStatusV1": checked, "lifetimeDollarsPurchased": checked, "lifetimeDollarsRefunded": checked, "platform": checked,
        "playTime": checked, "refundPreferenceV1": checked, "userStatus": checked,
        "productType": "the program asks for all products", "sort": "the program asks in the order that is Apple's default",
        "advancedCommercePeriod": advancedCommerce, "advancedCommerceOfferPeriod": advancedCommerce,
        "advancedCommerceReason": advancedCommerce, "advancedCommerceRefundReason": advancedCommerce,
        "advancedCommerceRefundType": advancedCommerce, "advancedCommercePriceIncreaseInfoStatus": advancedCommerce,
    ]
    private static let groups = "apple ask shows Apple's word"
    private static let checked = "a value that the program sends; SQL checks it"

    @Test(arguments: values)
    func `a documented value is known, or left out with a reason`(list: String, type: any OpenValue.Type) throws {
        let documented = try Self.objects(Self.facts.get().object("values")?[list]).map { try #require($0.word("value")) }
        let leftOut = Self.leftOutValues.keys.filter { $0.hasPrefix(list + ".") }.map { String($0.dropFirst(list.count + 1)) }
        #expect(type.knownWords.sorted() == Set(documented).subtracting(leftOut).sorted())
        #expect(Set(leftOut).isSubset(of: documented))
    }

    @Test func `a documented list of values has a type, or is left out with a reason`() throws {
        let documented = try #require(try Self.facts.get().object("values")).members.map(\.name)
        let leftOut = Self.leftOutValues.keys.filter { !$0.contains(".") }
        #expect((Self.values.map(\.0) + leftOut).sorted() == documented.sorted())
    }

    /// By Apple's names.
    private static let leftOutEndpoints: [String: String] = [
        "Get Transaction History V1": "deprecated", "Get Refund History V1": "deprecated",
        "Claim Seat": sandbox, "Unclaim Seat": sandbox, "Associate Seat": sandbox,
    ]
    private static let sandbox = "available in the sandbox only"

    @Test func `a documented endpoint is called, or left out with a reason`() throws {
        let documented = try Self.objects(Self.facts.get()["endpoints"]).map {
            try (name: #require($0.text("name")), call: #require($0.text("method")) + " " + #require($0.text("path")))
        }
        let called = documented.filter { Self.leftOutEndpoints[$0.name] == nil }.map(\.call)
        #expect(ServerAPIEndpoint.allCases.map { "\($0.method.rawValue) \($0.template)" }.sorted() == called.sorted())
        #expect(Set(Self.leftOutEndpoints.keys).isSubset(of: documented.map(\.name)))
    }

    /// By number, or by Apple's name of an error whose number no page shows.
    private static let leftOutErrors = Dictionary(
        uniqueKeysWithValues: [
            "AdvancedCommerceTransactionNotSupportedError", "ConsumptionPercentageOutOfRangeError",
            "UndeliveredConsumptionPercentageNonZeroError", "NoAvailableSeatsError", "SeatClaimIdNotFoundError",
            "AppTransactionIdNotFoundError", "BundleTransactionIdNotSupportedError", "BadRequestTransactionIdNotOtidError",
            "TransactionNotDevManagedGroupError",
            "BadRequestTransactionIdNotSupportedForFamilySharingError", "InvalidProductIdError",
        ].map { ($0, "no page shows its number") }
    )

    @Test func `a documented error has a name, or is left out with a reason`() throws {
        let facts = try Self.objects(Self.facts.get()["errors"])
        let documented = try Dictionary(grouping: facts) { try $0.word("code") ?? #require($0.text("name")) }
        #expect(
            ServerAPIErrorCode.names.keys.map(String.init).sorted() == Set(documented.keys).subtracting(Self.leftOutErrors.keys).sorted()
        )
        #expect(Set(Self.leftOutErrors.keys).isSubset(of: documented.keys))
        for (code, name) in ServerAPIErrorCode.names {
            // A number of two services has a name in each.
            let names = documented[String(code)]?.compactMap { $0.text("name")?.lowercased() } ?? []
            #expect(names.contains { $0.hasPrefix(name.lowercased()) }, "\(code)")
        }
    }

    @Test func `each fact has a source`() throws {
        let all = try Self.facts.get()
        let lists: [JSONValue?] = try ["payloads", "values"].flatMap { try #require(all.object($0)).members.map(\.value) }
        let facts = try (lists + ["notificationTypes", "endpoints", "errors"].map { all[$0] }).flatMap(Self.objects)
        #expect(facts.count > 600)
        let unsourced = facts.filter { ($0.text("source") ?? "").isEmpty }
        #expect(unsourced == [])
    }

    private static func objects(_ value: JSONValue?) throws -> [JSONObject] {
        guard case .array(let elements)? = value else { throw NoFacts() }
        return elements.compactMap { if case .object(let object) = $0 { object } else { nil } }
    }

    private struct NoFacts: Error {}
}

extension JSONObject {
    fileprivate func object(_ name: String) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    fileprivate func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    /// A string, or the digits of a number.
    fileprivate func word(_ name: String) -> String? {
        if case .number(let number)? = self[name] { number.int64.map { String($0) } } else { text(name) }
    }
}

extension OpenValue {
    fileprivate static var knownWords: [String] { known.map { "\($0.rawValue)" } }
}
