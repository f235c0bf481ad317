import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

struct EventReaderTests {
    private static func read(_ body: [UInt8], _ source: EventSource, at instant: Timestamp = SignedScene.now) throws -> EventReading {
        let reader = EventReader(verifier: try SignedScene.verifier(), receipts: try SignedScene.receiptVerifier())
        return reader.read(InboxEvent(id: 7, source: source, body: body, receivedAt: SignedScene.now, readAt: instant))
    }

    private static func notification(transaction: @escaping SignedScene.Change = { _ in }) throws -> [UInt8] {
        let jws = try SignedScene.sign(
            SignedScene.trigger(NotificationKind(.subscribed, .initialBuy)).notification(),
            transaction: transaction
        )
        return JSONSerializer.serialize(["signedPayload": .string(String(decoding: jws, as: UTF8.self))] as JSONObject)
    }

    @Test(
        arguments: [
            .notificationV2, .historyV2, .notificationV1, .clientTransaction, .clientAppTransaction, .clientReceipt, .verifyReceipt,
            .unansweredReceipt,
            .subscriptionStatus, .transactionInfo, .appTransaction, .importedStatus, .importedTransaction,
        ] as [EventSource]
    )
    func `each source has an interpreter, which refuses what is no body of the source`(source: EventSource) throws {
        let reading = try Self.read(Array("[]".utf8), source)
        // A shared secret or TLS to Apple vouches for these bodies as a whole.
        let isVouchedFor = [.notificationV1, .verifyReceipt].contains(source)
        #expect(reading.refusal?.kind == (isVouchedFor ? .unhandled : .rejected) && reading.labels.environment == nil)
    }

    @Test func `without a verifier of receipts, only Apple's root of receipts is trusted for them`() throws {
        let reader = EventReader(verifier: try SignedScene.verifier())
        #expect(reader.receipts.policy.roots.map(\.certificate) == [TrustedRoot.appleRootCA.certificate])
        #expect(reader.receipts.policy.apps == reader.verifier.policy.apps)
    }

    @Test func `an unknown source is unhandled`() throws {
        let refusal = try #require(try Self.read(Self.notification(), EventSource(rawValue: "carrier_pigeon")).refusal)
        #expect((refusal.reason, refusal.kind) == ("unknown_source", .unhandled))
    }

    @Test func `a genuine notification becomes facts, labelled with what it is about`() throws {
        let reading = try Self.read(Self.notification(), .notificationV2)
        let facts = try reading.result.get()
        #expect(facts.eventID == 7 && facts.transaction?.key.id == reading.labels.transactionID)
        #expect((reading.labels.notificationType, reading.labels.subtype) == ("SUBSCRIBED", "INITIAL_BUY"))
    }

    @Test func `a member with U+0000, which PostgreSQL cannot store, counts as one that cannot be read`() throws {
        let reading = try Self.read(Self.notification { $0["offerIdentifier"] = "a\u{0}b" }, .notificationV2)
        #expect(try reading.result.get().transaction?.payload.offerIdentifier == nil && reading.labels.transactionID != nil)
        #expect(reading.labels.oddMembers == ["transaction.offerIdentifier"])
    }

    @Test func `values that this version does not know are merged, and noted percent-encoded`() throws {
        let change: SignedScene.Change = {
            $0["offerDiscountType"] = "HALF PRICE/é"
            $0["revocationReason"] = 77
        }
        let reading = try Self.read(Self.notification(transaction: change), .notificationV2)
        let facts = try reading.result.get()
        #expect(facts.unhandledReason == nil && facts.transaction?.payload.offerDiscountType?.rawValue == "HALF PRICE/é")
        #expect(
            reading.labels.unknownValues.sorted() == [
                "transaction.offerDiscountType=HALF%20PRICE%2F%C3%A9", "transaction.revocationReason=77",
            ]
        )
        #expect(reading.labels.oddMembers == [])
        #expect(try Self.read(Self.notification(), .notificationV2).labels.unknownValues == [])
    }

    @Test func `a notification from the future is retryable, and the error says where the date is`() throws {
        let early = SignedScene.now.advanced(by: .seconds(-3600))
        let refusal = try #require(try Self.read(Self.notification(), .notificationV2, at: early).refusal)
        #expect(refusal.kind == .retryable(error: "signed_in_the_future in signedPayload"))
    }
}

extension EventReading {
    fileprivate var refusal: EventRefusal? {
        if case .failure(let refusal) = result { refusal } else { nil }
    }
}
