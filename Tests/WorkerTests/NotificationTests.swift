import AppStore
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// Every notification ends with one recorded outcome, through the real queue and the real books.
struct NotificationTests {
    @Test func `every documented kind is settled, and only those about a purchase reach the books`() async throws {
        try await Office.with { office in
            var expected: [String] = []
            var isAboutPurchase: [Int64: Bool] = [:]
            for (index, pair) in NotificationMatrix.pairs.enumerated() {
                let kind = NotificationKind(pair.type, pair.subtype)
                var trigger = SignedScene.trigger(kind)
                trigger.seed = UInt64(index)
                let notification = try trigger.notification()
                let event = try await office.receive(notification: SignedScene.signer().sign(notification).jws)
                isAboutPurchase[event] = notification.transaction != nil
                expected.append("\(kind) \(notification.transaction == nil ? "no_effect" : "applied")")
            }
            try await office.work()
            let outcomes = try await office.database.lines(
                "SELECT concat_ws('/', notification_type, subtype) || ' ' || concat_ws(' ', result, reason) FROM appstore.outcomes"
            )
            #expect(outcomes.sorted() == expected.sorted())
            let purchases = isAboutPurchase.values.filter(\.self).count
            #expect(try await office.count(of: "transactions", "refund_statements") == [Int64(purchases), 3])
            #expect(try await office.database.eventsNotExactlyOnce() == [])
        }
    }

    @Test func `the content that is no purchase is labelled with its app and environment`() async throws {
        try await Office.with { office in
            for kind in [NotificationKind(.renewalExtension, .summary), NotificationKind(.rescindConsent)] {
                let notification = try SignedScene.trigger(kind, app: SignedScene.sandboxApp).notification()
                let event = try await office.receive(notification: SignedScene.signer().sign(notification).jws)
                #expect(try await office.outcome(of: event) == "no_effect")
                let subtype = kind.subtype?.rawValue ?? "-"
                #expect(try await office.labels(of: event) == "\(kind.type.rawValue) \(subtype) Sandbox com.example.app - -")
            }
        }
    }

    @Test func `a wrong app transaction inside rejects its notification, with the reason`() async throws {
        let notification = try SignedScene.trigger(NotificationKind(.rescindConsent)).notification()
        guard case .appData(var download) = notification.content else { return }
        download.receiptCreationDate = Timestamp(millisecondsSince1970: 0)
        var wrong = notification
        wrong.content = .appData(download)
        try await Office.with { office in
            let event = try await office.receive(notification: SignedScene.signer().sign(wrong).jws)
            #expect(try await office.outcome(of: event) == "rejected certificate_not_yet_valid")
            #expect(try await office.labels(of: event) == "RESCIND_CONSENT - Production com.example.app - -")
        }
    }

    @Test func `what nobody knows is kept, merged, and runs again by one SQL call`() async throws {
        var trigger = SignedScene.trigger(try NotificationKind("DID_RENEW/BY_TELEPATHY"))
        trigger.allowsUnknownKinds = true
        let notification = try trigger.notification()
        try await Office.with { office in
            let event = try await office.receive(notification: SignedScene.signer().sign(notification).jws)
            #expect(try await office.outcome(of: event) == "unhandled unknown_notification")
            #expect(try await office.count(of: "transactions", "subscriptions", "effects", "inbox") == [1, 1, 1, 1])
            let requeued = try await office.database.withConnection(user: "appstore_operator") { connection in
                try await connection.query("SELECT appstore.requeue(outcome => 'unhandled') AS n")[0].decode("n", as: Int64.self)
            }
            #expect(requeued == 1)
            #expect(try await office.outcome(of: event) == "unhandled unknown_notification")
            #expect(try await office.database.lines("SELECT run::text FROM appstore.outcomes") == ["2"])
            #expect(try await office.count(of: "transactions", "subscriptions", "effects") == [1, 1, 1])
        }
    }

    @Test func `a source that this version does not know is unhandled`() async throws {
        try await Office.with { office in
            let event = try await office.receive(Array("{}".utf8), source: "carrier_pigeon")
            #expect(try await office.outcome(of: event) == "unhandled unknown_source")
        }
    }
}
