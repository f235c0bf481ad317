import AppStore
import Foundation
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

    /// Facts about seats, commitments and what else came in 2026, which the ledger does not read.
    private static let leftOut: [String: String] = [
        "UNCLAIM_SEATS": seats, "REFUND/SEATS": seats, "responseBodyV2DecodedPayload.unclaimInfo": seats,
        "JWSTransactionDecodedPayload.multiSeatInfo": seats, "JWSTransactionDecodedPayload.additionalTransactionReason": seats,
        "JWSRenewalInfoDecodedPayload.multiSeatInfo": seats, "JWSRenewalInfoDecodedPayload.renewalQuantity": seats,
        "JWSTransactionDecodedPayload.commitmentInfo": "the ledger has no commitments",
        "JWSRenewalInfoDecodedPayload.commitmentInfo": "the ledger has no commitments",
        "JWSTransactionDecodedPayload.advancedCommerceInfo": advancedCommerce,
        "JWSRenewalInfoDecodedPayload.advancedCommerceInfo": advancedCommerce,
        "JWSTransactionDecodedPayload.previousOriginalTransactionId": "the ledger does not follow a migration",
        "JWSAppTransactionDecodedPayload.storeType": "there is no register of app transactions",
        "externalPurchaseToken.tokenType": tokens, "externalPurchaseToken.tokenExpirationDate": tokens,
        "MIGRATE": "only Apple's changelog spells MIGRATION so; a notification with it would be unhandled, and kept",
    ]
    private static let seats = "the ledger has no seats"
    private static let advancedCommerce = "only whether it is there is read: isAdvancedCommerce"
    private static let tokens = "there is no register of external purchase tokens"

    /// Apple's names of payloads, and the types that decode them.
    static let payloads: [(String, any PayloadObject.Type)] = [
        ("responseBodyV2DecodedPayload", ResponseBodyV2DecodedPayload.self), ("data", NotificationData.self), ("summary", Summary.self),
        ("externalPurchaseToken", ExternalPurchaseToken.self), ("appData", AppData.self),
        ("JWSTransactionDecodedPayload", JWSTransactionDecodedPayload.self),
        ("JWSRenewalInfoDecodedPayload", JWSRenewalInfoDecodedPayload.self), ("JWSAppTransactionDecodedPayload", AppTransaction.self),
    ]

    @Test(arguments: payloads)
    func `a documented member is decoded, or left out with a reason`(name: String, type: any PayloadObject.Type) throws {
        let members = try Self.objects(Self.facts.get().object("payloads")?[name]).map { try #require($0.text("member")) }
        let leftOut = Self.leftOut.keys.filter { $0.hasPrefix(name + ".") }.map { String($0.dropFirst(name.count + 1)) }
        #expect(type.knownMembers.sorted() == Set(members).subtracting(leftOut).sorted())
        #expect(Set(leftOut).isSubset(of: members))
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
}
