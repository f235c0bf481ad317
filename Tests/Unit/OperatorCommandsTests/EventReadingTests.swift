import AppStore
import InboxQueue
import Interpretation
import Ledger
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing
import Worker

@testable import Commands

/// How `explain` reads bodies of the legacy App Store, without a database.
struct EventReadingTests {
    private static func explanation(_ body: [UInt8], source: String) throws -> Explanation {
        let processor = EventProcessor(
            EventReader(
                verifier: try SignedScene.verifier(),
                receipts: try SignedScene.receiptVerifier(),
                legacy: LegacySettings(mode: .apple, appsWithSecret: [SignedScene.app.bundleID])
            )
        )
        let now = PostgresTimestamp(millisecondsSince1970: SignedScene.now.millisecondsSince1970)
        let event = ClaimedEvent(eventID: 1, source: source, receivedAt: now, claimedAt: now, attempts: 0, body: body)
        let record = InboxRecord(
            eventID: 1,
            source: source,
            receivedAt: now,
            body: body,
            queue: nil,
            isDue: false,
            outcome: nil,
            history: [],
            audit: nil,
            readAt: now
        )
        let reading = EventReading(event, processor: processor)
        let standings = reading.facts.map { FactStatuses(of: $0, in: .empty, others: []) } ?? FactStatuses()
        return Explanation(
            record: record,
            reading: reading,
            subject: ExplainedSubject(record, reading),
            books: .empty,
            standings: standings
        )
    }

    @Test func `a notification V1 is explained with its meaning, its receipt and its facts`() throws {
        let fixture = try LegacyFixture()
        let body = JSONSerializer.serialize(try fixture.notification(.didChangeRenewalStatus))
        let explanation = try Self.explanation(body, source: "notification_v1")
        #expect(explanation.meaning?.type == "DID_CHANGE_RENEWAL_STATUS" && explanation.meaning?.effect == "will_renew")
        #expect(explanation.subject?.contractID == fixture.transactions[0].originalTransactionID)
        #expect(explanation.standings.receipts.count == 3 && explanation.standings.legacyRenewals.count == 1)
        #expect(explanation.standings.receipts.allSatisfy { $0.standing.relation == .notMerged })
        let text = explanation.text
        #expect(text.contains("DID_CHANGE_RENEWAL_STATUS: renewal was turned on or off"))
        #expect(text.contains("a shared secret vouches for it") && text.contains("characters of a receipt"))
        #expect(text.contains("charge \(fixture.transactions[1].transactionID) of contract") && text.contains("will_renew "))
        let json = explanation.json
        #expect(json.word("source") == "notification_v1")
        guard case .object(let facts)? = json["facts"], case .array(let receipts)? = facts["receipts"],
            case .array(let payloads)? = json["payloads"]
        else {
            Issue.record("no facts")
            return
        }
        #expect(receipts.count == 3 && payloads.count == 2)
        #expect(
            String(decoding: JSONSerializer.serialize(json), as: UTF8.self).contains(
                #""location":"receipt","passed":["form","signed_date""#
            )
        )
    }

    @Test func `a refused receipt is explained with the reason`() throws {
        let body = JSONSerializer.serialize(
            try LegacyFixture().notification(.didRenew) { $0.change("unified_receipt") { $0["latest_receipt"] = "AAAA" } }
        )
        let text = try Self.explanation(body, source: "notification_v1").text
        #expect(text.contains("FAILED       form (three parts") && text.contains("NOT VERIFIED: anyone may have written it"))
        #expect(text.contains("unhandled beyond that: receipt:not_a_receipt"))
    }

    @Test func `a posted receipt is explained with its user and the call to Apple`() throws {
        let fixture = try LegacyFixture()
        let post = try ClientReceipt(
            receiptData: fixture.signed(),
            user: "anna",
            transactionID: fixture.transactions[2].transactionID,
            environment: .production,
            bundleIDs: nil
        )
        let explanation = try Self.explanation(post.body, source: "client_receipt")
        #expect(explanation.meaning == .clientReceipt && explanation.subject?.transactionID == fixture.transactions[2].transactionID)
        #expect(explanation.text.contains("anna posts a receipt with contract"))
        #expect(explanation.text.contains("asks outside: verify_receipt about a receipt of com.example.app"))
        guard case .object(let submission)? = explanation.json["submission"] else {
            Issue.record("no submission")
            return
        }
        #expect(submission.word("user") == "anna" && submission.word("transactionId") == fixture.transactions[2].transactionID)
    }

    @Test func `an answer of verifyReceipt is explained as such`() throws {
        let explanation = try Self.explanation(JSONSerializer.serialize(LegacyFixture().answer().json), source: "verify_receipt")
        #expect(explanation.meaning == .receiptAnswer && explanation.standings.receipts.count == 9)
        #expect(
            explanation.text.contains("an answer over TLS")
                && explanation.text.contains("verify_receipt of \(SignedScene.app.bundleID), version")
        )
    }

    @Test(arguments: ["notification_v1", "client_receipt", "verify_receipt", "carrier_pigeon"])
    func `a malformed body of any source is explained without an error`(source: String) throws {
        for body in ["", "{", "[]", "{}", #"{"notification_type":7}"#, #"{"receipt":[]}"#] {
            let explanation = try Self.explanation(Array(body.utf8), source: source)
            #expect(!explanation.text.isEmpty && explanation.json.word("source") == source)
        }
    }
}

extension LedgerExcerpt {
    /// An empty ledger.
    fileprivate static let empty = LedgerExcerpt(
        transaction: nil,
        subscription: nil,
        receiptVersions: [:],
        legacyRenewalVersions: [:],
        legacyRenewals: [],
        contract: nil,
        claims: [],
        ownerLinks: [],
        posts: [],
        orders: [],
        effects: [],
        refundStatements: [],
        firstEvent: nil,
        calls: []
    )
}
