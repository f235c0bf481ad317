import AppStore
import Inbox
import InboxTesting
import Postgres
import PostgresTesting
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
            #expect(try await office.count(of: "transactions", "refund_requests") == [Int64(purchases), 3])
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
            #expect(try await office.count(of: "transactions", "contracts", "effects", "inbox") == [1, 1, 1, 1])
            let requeued = try await office.database.withConnection(user: "appstore_operator") { connection in
                try await connection.query("SELECT appstore.requeue_events(result => 'unhandled') AS n")[0].decode("n", as: Int64.self)
            }
            #expect(requeued == 1)
            #expect(try await office.outcome(of: event) == "unhandled unknown_notification")
            #expect(try await office.database.lines("SELECT run::text FROM appstore.outcomes") == ["2"])
            #expect(try await office.count(of: "transactions", "contracts", "effects") == [1, 1, 1])
        }
    }

    @Test(arguments: [
        ("0A1B2C3D-4E5F-4A6B-8C7D-8E9FA0B1C2D3", "0a1b2c3d-4e5f-4a6b-8c7d-8e9fa0b1c2d3"), ("no UUID", "no UUID"), ("", ""),
        (String(repeating: "long", count: 3000), String(repeating: "long", count: 3000)),
    ])
    func `a copy is a duplicate by its UUID, in upper or lower case, or by the text where that is no UUID`(
        first: String,
        second: String
    ) async throws {
        let notification = try SignedScene.trigger(NotificationKind(.didRenew)).notification()
        var neighbour = SignedScene.trigger(NotificationKind(.didRenew))
        neighbour.seed = 8
        let bodies = try [
            SignedScene.sign(notification, outer: { $0["notificationUUID"] = .string(first) }),
            SignedScene.signer().sign(neighbour.notification()).jws,
            SignedScene.sign(notification, outer: { $0["notificationUUID"] = .string(second) }),
        ]
        try await Office.with { office in
            var events: [Int64] = []
            for body in bodies { events.append(try await office.receive(notification: body)) }
            #expect(try await office.outcome(of: events[0]) == "applied")
            #expect(try await office.outcome(of: events[1]) == "applied")
            #expect(try await office.outcome(of: events[2]) == "duplicate")
            #expect(try await office.count(of: "seen_notifications", "transactions") == [2, 2])
        }
    }

    @Test func `a notification that comes again after its age changes nothing`() async throws {
        try await Office.with { office in
            let bodies = try NotificationMatrix.pairs.enumerated().map { index, pair in
                var trigger = SignedScene.trigger(NotificationKind(pair.type, pair.subtype))
                trigger.seed = UInt64(index)
                return try SignedScene.signer().sign(trigger.notification()).jws
            }
            let books: Statement = """
                SELECT appstore.state_digest('Production') AS line
                UNION ALL SELECT to_jsonb(e)::text FROM appstore.effects AS e ORDER BY line
                """
            for body in bodies { try await office.receive(notification: body) }
            try await office.work()
            let before = try await office.database.lines(books)
            #expect(try await office.count(of: "seen_notifications") == [Int64(bodies.count)])

            try await office.database.withConnection {
                try await $0.runScript("UPDATE appstore.seen_notifications SET seen_on = seen_on - 201")
            }
            let step = try await office.database.withConnection(user: "appstore_worker") {
                try await MaintenanceTask.ageNotifications.step(on: $0)
            }
            #expect(step?.rows == bodies.count)
            for body in bodies { try await office.receive(notification: body) }
            try await office.work()
            #expect(try await office.database.lines(books) == before)
            let outcomes = try await office.database.lines(
                "SELECT DISTINCT result::text FROM appstore.outcomes WHERE event_id > \(Int64(bodies.count)) ORDER BY 1"
            )
            #expect(outcomes == ["no_effect", "superseded"])
        }
    }

    @Test func `a source that this version does not know is unhandled`() async throws {
        try await Office.with { office in
            let event = try await office.receive(Array("{}".utf8), source: "carrier_pigeon")
            #expect(try await office.outcome(of: event) == "unhandled unknown_source")
        }
    }
}
