import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// What holds for JWS holds for what a shared secret or TLS to Apple vouches for.
struct OddLegacyMemberTests {
    private static func read(_ json: JSONObject, _ source: EventSource) throws -> EventReading {
        let reader = EventReader(verifier: try SignedScene.verifier(), receipts: try SignedScene.receiptVerifier())
        let body = JSONSerializer.serialize(json)
        return reader.read(InboxEvent(id: 7, source: source, body: body, receivedAt: SignedScene.now, readAt: SignedScene.now))
    }

    private static func refusal(_ reading: EventReading) -> EventRefusal? {
        if case .failure(let refusal) = reading.result { refusal } else { nil }
    }

    @Test(arguments: ResponseBodyV1.Member.allCases)
    func `an odd member of a notification V1`(member: ResponseBodyV1.Member) throws {
        for value in try OddMemberTests.oddValues(ResponseBodyV1.self, member.rawValue) {
            let body = try LegacyFixture().notification(.didRenew) {
                $0["\(member.rawValue)_ms"] = nil
                $0[member.rawValue] = value
            }
            let reading = try Self.read(body, .notificationV1)
            #expect(reading.labels.oddMembers.contains { $0.hasPrefix(member.rawValue) }, "\(value)")
            if [.environment, .bundleID].contains(member) {
                // An app can be read in a text with NUL, and is not a configured one.
                let expected = member == .bundleID && value == "a\u{0}b" ? "wrong_bundle" : "unreadable_member:\(member.rawValue)"
                #expect(Self.refusal(reading)?.reason == expected, "\(value)")
                continue
            }
            let facts = try reading.result.get()
            let hasReceipt = member != .unifiedReceipt
            #expect(facts.receipts.count == (hasReceipt ? 3 : 0), "\(member) \(value)")
            let isNeeded = [.notificationType, .originalTransactionID, .unifiedReceipt, .latestReceipt, .latestExpiredReceipt].contains(
                member
            )
            #expect(facts.unhandledReason == (isNeeded ? "unreadable_member:\(member.rawValue)" : nil), "\(value)")
        }
    }

    @Test func `unified_receipt as a JSON string is unhandled, with the labels of the rest`() throws {
        let reading = try Self.read(LegacyFixture().notification(.didRenew) { $0["unified_receipt"] = "{}" }, .notificationV1)
        #expect(try reading.result.get().unhandledReason == "unreadable_member:unified_receipt")
        #expect(reading.labels.notificationType == "DID_RENEW" && reading.labels.bundleID == SignedScene.app.bundleID)
    }

    @Test func `a body that names app or environment in an unreadable way is never taken for one that names none`() throws {
        for change in [{ $0["bid"] = 7 }, { $0["bid"] = ["x"] }, { $0["environment"] = [:] }] as [SignedScene.Change] {
            let refusal = Self.refusal(try Self.read(LegacyFixture().notification(.didRenew, change), .notificationV1))
            #expect(refusal?.kind == .unhandled && refusal?.reason.hasPrefix("unreadable_member:") == true)
        }
    }

    @Test(arguments: ReceiptTransaction.Member.allCases)
    func `an odd member of one purchase in Apple's answer leaves the others`(member: ReceiptTransaction.Member) throws {
        let control = try Self.read(LegacyFixture().answer().json, .verifyReceipt).result.get()
        for value in try OddMemberTests.oddValues(ReceiptTransaction.self, member.rawValue) {
            var json = try LegacyFixture().answer().json
            var index = 0
            json.changeEach("latest_receipt_info") { purchase in
                if index == 0 {
                    purchase["\(member.rawValue)_ms"] = nil
                    purchase[member.rawValue] = value
                }
                index += 1
            }
            let reading = try Self.read(json, .verifyReceipt)
            let place = "latest_receipt_info[].\(member.rawValue)"
            #expect(reading.labels.oddMembers.contains(place), "\(value)")
            if member == .bundleID { continue }
            let facts = try reading.result.get()
            let isLeftOut = ReceiptTransaction.neededMembers.contains(member.rawValue)
            #expect(facts.receipts.count == control.receipts.count - (isLeftOut ? 1 : 0), "\(member) \(value)")
            #expect(facts.unhandledReason == (isLeftOut ? "unreadable_member:\(place)" : nil), "\(value)")
            #expect(facts.legacyRenewals.count == control.legacyRenewals.count)
        }
    }

    @Test(arguments: [
        ("status", "status"), ("environment", "environment"), ("receipt", "receipt"), ("receipt.bundle_id", "receipt.bundle_id"),
        ("receipt.request_date", "receipt.request_date"), ("receipt.receipt_creation_date", "receipt.receipt_creation_date"),
    ])
    func `an answer whose app, environment or date cannot be read is unhandled`(member: String, place: String) throws {
        var json = try LegacyFixture().answer().json
        if let name = member.split(separator: ".").dropFirst().first.map(String.init) {
            json.change("receipt") {
                $0["\(name)_ms"] = nil
                $0[name] = [true]
            }
        } else {
            json[member] = [true]
        }
        #expect(Self.refusal(try Self.read(json, .verifyReceipt)) == .unreadable(place))
    }

    @Test func `a genuine receipt that cannot be read is unhandled`() throws {
        let receipt = try LegacyFixture().signed { $0.purchases[0].productID = "\u{0}" }
        let reading = try Self.read(["receiptData": .string(receipt)], .unansweredReceipt)
        #expect(Self.refusal(reading)?.kind == .unhandled && Self.refusal(reading)?.reason == "nul_in_payload")
    }
}
