import AppStore
import Foundation
import RandomJSON
import Randomness
import StrictJSON
import Testing

struct PayloadTests {
    /// The four signed payloads and their nested objects.
    static let samples: [(any PayloadObject.Type, JSONObject)] = {
        let samples: [(any PayloadObject.Type, JSONObject)] = [
            (ResponseBodyV2DecodedPayload.self, SamplePayload.notification), (NotificationData.self, SamplePayload.data),
            (Summary.self, SamplePayload.summary), (ExternalPurchaseToken.self, SamplePayload.externalPurchaseToken),
            (AppData.self, SamplePayload.appData), (UnclaimInfo.self, SamplePayload.unclaimInfo),
            (TransactionMultiSeatInfo.self, SamplePayload.transactionSeats), (RenewalMultiSeatInfo.self, SamplePayload.renewalSeats),
            (MultiSeatPriceTier.self, SamplePayload.priceTier), (TransactionCommitmentInfo.self, SamplePayload.transactionCommitment),
            (RenewalCommitmentInfo.self, SamplePayload.renewalCommitment),
            (JWSTransactionDecodedPayload.self, SamplePayload.transaction), (JWSRenewalInfoDecodedPayload.self, SamplePayload.renewalInfo),
            (AppTransaction.self, SamplePayload.appTransaction),
        ]
        return samples
    }()

    @Test(arguments: samples)
    func `every member that Apple documents is decoded`(type: any PayloadObject.Type, json: JSONObject) throws {
        let payload = try type.init(json)
        #expect(Set(json.members.map(\.name)) == Set(type.knownMembers))
        #expect(PayloadCoverage.unconsumedMembers(of: json, in: payload) == [])
    }

    @Test(arguments: samples)
    func `absent and null members are equivalent, and unknown members are ignored`(type: any PayloadObject.Type, json: JSONObject) throws {
        let nulls = JSONObject(type.knownMembers.map { ($0, .null) })
        #expect(try type.decoded([:]) == type.decoded(nulls))
        var extended = json
        extended["unknownMember"] = ["x": [1, "y"]]
        let payload = try type.init(extended)
        #expect(try type.decoded(extended) == type.decoded(json))
        #expect(PayloadCoverage.unconsumedMembers(of: extended, in: payload) == ["unknownMember"])
    }

    @Test(arguments: samples)
    func `a value that this version does not know is kept, and noted with its path`(type: any PayloadObject.Type, json: JSONObject) throws {
        #expect(try type.init(json).unknown == [])
        for property in Mirror(reflecting: try type.init(json)).children {
            guard let name = property.label, let known = property.value as? any OpenValue else { continue }
            var new = json
            new[name] = known.rawValue is String ? "NEW" : 4711
            let payload = try type.init(new)
            #expect(payload.unknown == [UnknownValue(path: name, value: known.rawValue is String ? "NEW" : "4711")])
            #expect(PayloadCoverage.unconsumedMembers(of: new, in: payload) == [])
        }
    }

    @Test func `a new value in a nested object is noted with its whole path`() throws {
        let payload = try ResponseBodyV2DecodedPayload(["notificationType": "TEST", "data": ["status": 9, "environment": "Production"]])
        #expect(payload.unknown == [UnknownValue(path: "data.status", value: "9")])
        let seats = try JWSTransactionDecodedPayload(["multiSeatInfo": ["invitationManagement": "A SCHOOL"]])
        #expect(seats.unknown == [UnknownValue(path: "multiSeatInfo.invitationManagement", value: "A SCHOOL")])
    }

    @Test(arguments: samples)
    func `a known member of the wrong JSON type is refused with its path`(type: any PayloadObject.Type, json: JSONObject) {
        for member in json.members {
            var wrong = json
            if case .bool = member.value { wrong[member.name] = [] } else { wrong[member.name] = true }
            let error = #expect(throws: MalformedPayload.self) { try type.init(wrong) }
            #expect(error?.path == member.name)
        }
    }

    @Test(
        arguments: [
            (["data": ["status": "1"]], "data.status", "a 64-bit integer"),
            (["data": ["status": 2_147_483_648]], "data.status", "a 32-bit integer"),
            (["summary": ["storefrontCountryCodes": ["USA", 1]]], "summary.storefrontCountryCodes[1]", "a string"),
            (["signedDate": "2025"], "signedDate", "a date in milliseconds from 1970 to 9999"),
            (["signedDate": -1], "signedDate", "a date in milliseconds from 1970 to 9999"),
            (["data": ["appAppleId": "+5"]], "data.appAppleId", "a 64-bit integer"),
            (["data": ["appAppleId": "12x"]], "data.appAppleId", "a 64-bit integer"),
        ] as [(JSONObject, String, String)]
    )
    func `an error names the path and the expected type`(json: JSONObject, path: String, expectation: String) {
        let expected = MalformedPayload(path: path, expectation: expectation)
        #expect(throws: expected) { try ResponseBodyV2DecodedPayload(json) }
        #expect(expected.description == "payload: \(path) is not \(expectation)")
    }

    /// No type decodes the content of Advanced Commerce, because it has no effect on the ledger.
    @Test(arguments: [["items": [["price": "990"]]], "text", 7, [1, true]] as [JSONValue])
    func `the undecoded content of Advanced Commerce cannot make a payload unreadable`(content: JSONValue) throws {
        var (transaction, renewalInfo) = (SamplePayload.transaction, SamplePayload.renewalInfo)
        transaction["advancedCommerceInfo"] = content
        renewalInfo["advancedCommerceInfo"] = content
        let payload = try JWSTransactionDecodedPayload(transaction)
        #expect(try payload.isAdvancedCommerce && !JWSTransactionDecodedPayload(SamplePayload.transaction).isAdvancedCommerce)
        #expect(payload.transactionId == "23456")
        #expect(try JWSRenewalInfoDecodedPayload(renewalInfo) == JWSRenewalInfoDecodedPayload(SamplePayload.renewalInfo))
    }

    @Test func `an identifier may be a number, and appAppleId may be a string`() throws {
        let transaction = try JWSTransactionDecodedPayload(["transactionId": 2_000_000_848_445_242, "originalTransactionId": "0012"])
        #expect(transaction.transactionId == "2000000848445242")
        #expect(transaction.originalTransactionId == "0012")
        #expect(try NotificationData(["appAppleId": "1659344089"]).appAppleId == 1_659_344_089)
    }

    @Test func `an account token that is not a UUID is kept as text`() throws {
        let token = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
        let valid = try JWSTransactionDecodedPayload(["appAccountToken": .string(token)])
        #expect(valid.appAccountToken == UUID(uuidString: token))
        for text in ["", "user-17", token + "0", String(token.dropLast()), token.replacing("-", with: ""), "{\(token)}"] {
            let payload = try JWSTransactionDecodedPayload(["appAccountToken": .string(text)])
            #expect(payload.appAccountToken == nil)
            #expect(payload.appAccountTokenText == text)
        }
    }

    @Test func `dates are rounded down to milliseconds and amounts are exact`() throws {
        let json = try JSONParser().parseObject(
            Array(#"{"signedDate":1738755504443.9,"expiresDate":1.7387555e12,"price":9223372036854775807}"#.utf8)
        )
        let payload = try JWSTransactionDecodedPayload(json)
        #expect(payload.signedDate == Timestamp(millisecondsSince1970: 1_738_755_504_443))
        #expect(payload.expiresDate == Timestamp(millisecondsSince1970: 1_738_755_500_000))
        #expect(payload.price == .max)
    }

    @Test func `the prefix of an external purchase token determines its environment`() throws {
        #expect(try ExternalPurchaseToken(["externalPurchaseId": "SANDBOX_b2158121"]).environment == .sandbox)
        #expect(try ExternalPurchaseToken(["externalPurchaseId": "b2158121"]).environment == .production)
        #expect(try ExternalPurchaseToken([:]).environment == nil)
    }

    @Test(arguments: 1...10)
    func `random JSON never crashes a payload type`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for (type, json) in Self.samples {
            for _ in 0..<50 {
                var mutated = json
                let name = json.members.randomElement(using: &generator)?.name ?? ""
                mutated[name] = generator.value(depth: 3)
                do {
                    _ = try type.init(mutated)
                } catch {
                    #expect(error.path.hasPrefix(name), "seed \(seed)")
                }
            }
        }
    }
}

extension PayloadObject {
    fileprivate static func decoded(_ json: JSONObject) throws -> AnyHashable { AnyHashable(try Self(json)) }
}
