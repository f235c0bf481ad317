import AppStore
import FoundationEssentials
import InboxQueue
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// Every notification ends with one recorded outcome, through the real queue and ledger.
struct NotificationTests {
    @Test func `every documented kind is settled, and each but TEST is told or changes the ledger`() async throws {
        try await WorkerScene.with { scene in
            var expected: [String] = []
            var isAboutPurchase: [Int64: Bool] = [:]
            for (index, pair) in NotificationMatrix.pairs.enumerated() {
                let kind = NotificationKind(pair.type, pair.subtype)
                var trigger = SignedScene.trigger(kind)
                trigger.seed = UInt64(index)
                let notification = try trigger.notification()
                let event = try await scene.receive(notification: SignedScene.signer().sign(notification).jws)
                isAboutPurchase[event] = notification.transaction != nil
                expected.append("\(kind) \(pair.type == .test ? "no_effect" : "applied")")
            }
            try await scene.work()
            let outcomes = try await scene.database.lines(
                "SELECT concat_ws('/', notification_type, subtype) || ' ' || concat_ws(' ', result, reason) FROM appstore.outcomes"
            )
            #expect(outcomes.sorted() == expected.sorted())
            let purchases = isAboutPurchase.values.filter(\.self).count
            #expect(try await scene.count(of: "transactions", "refund_requests") == [Int64(purchases), 5])
            #expect(try await scene.database.eventsNotExactlyOnce() == [])
        }
    }

    @Test func `a notification without a purchase is labelled with its app and environment`() async throws {
        try await WorkerScene.with { scene in
            for kind in [NotificationKind(.renewalExtension, .summary), NotificationKind(.rescindConsent)] {
                let notification = try SignedScene.trigger(kind, app: SignedScene.sandboxApp).notification()
                let event = try await scene.receive(notification: SignedScene.signer().sign(notification).jws)
                #expect(try await scene.outcome(of: event) == "applied")
                let subtype = kind.subtype?.rawValue ?? "-"
                #expect(try await scene.labels(of: event) == "\(kind.type.rawValue) \(subtype) Sandbox com.example.app - -")
            }
        }
    }

    @Test func `a TEST in any shape changes nothing, and one that names no environment is rejected`() async throws {
        let test = try SignedScene.trigger(NotificationKind(.test)).notification()
        let shapes: [(SignedScene.Change, String)] = [
            ({ _ in }, "no_effect"), ({ $0["extra"] = ["x": .null] }, "no_effect"),
            ({ $0["data"] = ["bundleId": "com.example.app", "environment": "Sandbox"] }, "no_effect"),
            ({ $0["data"] = ["bundleId": "com.example.app", "environment": "Production"] }, "rejected wrong_app_apple_id"),
            ({ $0["data"] = nil }, "rejected environment_missing"),
        ]
        try await WorkerScene.with { scene in
            for (place, (change, expected)) in shapes.enumerated() {
                let event = try await scene.receive(
                    notification: SignedScene.sign(
                        test,
                        outer: {
                            $0["notificationUUID"] = .string(UUID().uuidString)
                            change(&$0)
                        }
                    )
                )
                #expect(try await scene.outcome(of: event) == expected, "shape \(place)")
            }
            #expect(try await scene.count(of: "transactions", "contracts", "effects") == [0, 0, 0])
        }
    }

    @Test func `members that cannot be read are named in the outcome, which keeps them when the event runs again`() async throws {
        try await WorkerScene.with { scene in
            let notification = try SignedScene.trigger(NotificationKind(.subscribed, .initialBuy)).notification()
            let odd = try await scene.receive(
                notification: SignedScene.sign(
                    notification,
                    data: { $0["bundleVersion"] = 42 },
                    transaction: { $0["price"] = "9990" }
                )
            )
            #expect(try await scene.outcome(of: odd) == "applied")
            func members(_ table: String) async throws -> [String] {
                try await scene.database.lines("SELECT odd_members::text FROM appstore.\(identifier: table) WHERE event_id = \(odd)")
            }
            #expect(try await members("outcomes") == ["{data.bundleVersion,transaction.price}"])
            #expect(try await scene.count(of: "orders", "transactions") == [1, 1])
            _ = try await scene.database.lines("SELECT appstore.requeue_event(\(odd))::text")
            #expect(try await scene.outcome(of: odd) == "applied")
            #expect(try await members("outcome_history") == ["{data.bundleVersion,transaction.price}"])
        }
    }

    @Test func `values that this version does not know are in the outcome, and listed with the latest event`() async throws {
        try await WorkerScene.with { scene in
            let notification = try SignedScene.trigger(NotificationKind(.subscribed, .initialBuy)).notification()
            let event = try await scene.receive(
                notification: SignedScene.sign(
                    notification,
                    data: { $0["bundleVersion"] = 42 },
                    transaction: { $0["offerDiscountType"] = "HALF PRICE" }
                )
            )
            #expect(try await scene.outcome(of: event) == "applied")
            let database = scene.database
            #expect(
                try await database.lines("SELECT odd_members::text FROM appstore.outcomes")
                    == ["{data.bundleVersion,transaction.offerDiscountType=HALF%20PRICE}"]
            )
            let members: Statement = "SELECT events || members::text FROM appstore.odd_members()"
            #expect(try await database.lines(members) == ["1{data.bundleVersion}"])
            let values: Statement = "SELECT unknown::text || events::text || latest_event_ids::text FROM appstore.unknown_values()"
            #expect(try await database.lines(values) == ["{transaction.offerDiscountType=HALF%20PRICE}{1}{\(event)}"])
            _ = try await database.lines("UPDATE appstore.outcomes SET settled_at = now() - interval '169 hours' RETURNING ''")
            #expect(try await database.lines(values) == ["{}{}{}"])
        }
    }

    @Test func `a genuine notification whose app cannot be read is unhandled, and outlives junk`() async throws {
        let notification = try SignedScene.trigger(NotificationKind(.subscribed, .initialBuy)).notification()
        try await WorkerScene.with { scene in
            let event = try await scene.receive(notification: SignedScene.sign(notification, data: { $0["bundleId"] = ["x"] }))
            #expect(try await scene.outcome(of: event) == "unhandled unreadable_member:data.bundleId")
            #expect(try await scene.count(of: "transactions", "orders", "effects") == [0, 0, 0])
            _ = try await scene.database.lines("UPDATE appstore.outcomes SET settled_at = now() - interval '25 hours' RETURNING ''")
            _ = try await scene.database.lines("SELECT checked::text FROM appstore.expire('rejected_bodies')")
            #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.inbox WHERE event_id = \(event)") == ["1"])
        }
    }

    @Test func `unclaimed seats of an app that this version does not find are kept, and an update can run them again`() async throws {
        let notification = try SignedScene.trigger(NotificationKind(.unclaimSeats)).notification()
        try await WorkerScene.with { scene in
            let event = try await scene.receive(
                notification: SignedScene.sign(notification, outer: { $0["data"] = ["status": 1] })
            )
            #expect(try await scene.outcome(of: event) == "unhandled unreadable_member:unclaimInfo")
            #expect(try await scene.labels(of: event) == "UNCLAIM_SEATS - - - - -")
            #expect(try await scene.count(of: "effects", "inbox") == [0, 1])
            _ = try await scene.database.lines("SELECT appstore.requeue_event(\(event))::text")
            #expect(try await scene.outcome(of: event) == "unhandled unreadable_member:unclaimInfo")
        }
    }

    @Test func `an invalid app transaction rejects its notification, with the reason`() async throws {
        let notification = try SignedScene.trigger(NotificationKind(.rescindConsent)).notification()
        guard case .appData(var download) = notification.content else { return }
        download.receiptCreationDate = Timestamp(millisecondsSince1970: 0)
        var wrong = notification
        wrong.content = .appData(download)
        try await WorkerScene.with { scene in
            let event = try await scene.receive(notification: SignedScene.signer().sign(wrong).jws)
            #expect(try await scene.outcome(of: event) == "rejected certificate_not_yet_valid")
            #expect(try await scene.labels(of: event) == "RESCIND_CONSENT - Production com.example.app - -")
        }
    }

    @Test func `an unknown kind is kept and merged, and can be requeued by one SQL call`() async throws {
        var trigger = SignedScene.trigger(try NotificationKind("DID_RENEW/BY_TELEPATHY"))
        trigger.allowsUnknownKinds = true
        let notification = try trigger.notification()
        try await WorkerScene.with { scene in
            let event = try await scene.receive(notification: SignedScene.signer().sign(notification).jws)
            #expect(try await scene.outcome(of: event) == "unhandled unknown_notification")
            #expect(try await scene.count(of: "transactions", "contracts", "effects", "inbox") == [1, 1, 1, 1])
            let requeued = try await scene.database.withConnection(user: "appstore_operator") { connection in
                let begun = try await connection.query("SELECT events FROM appstore.requeue(result => 'unhandled')")
                try await connection.execute("SELECT appstore.take_repair_step()")
                return try begun[0].decode("events", as: Int64.self)
            }
            #expect(requeued == 1)
            #expect(try await scene.outcome(of: event) == "unhandled unknown_notification")
            #expect(try await scene.database.lines("SELECT run::text FROM appstore.outcomes") == ["2"])
            #expect(try await scene.count(of: "transactions", "contracts", "effects") == [1, 1, 1])
        }
    }

    @Test(arguments: [
        ("0A1B2C3D-4E5F-4A6B-8C7D-8E9FA0B1C2D3", "0a1b2c3d-4e5f-4a6b-8c7d-8e9fa0b1c2d3"), ("no UUID", "no UUID"), ("", ""),
        (String(repeating: "long", count: 3000), String(repeating: "long", count: 3000)),
    ])
    func `a copy is a duplicate by its UUID in any case, or by the text of a malformed UUID`(
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
        try await WorkerScene.with { scene in
            var events: [Int64] = []
            for body in bodies { events.append(try await scene.receive(notification: body)) }
            #expect(try await scene.outcome(of: events[0]) == "applied")
            #expect(try await scene.outcome(of: events[1]) == "applied")
            #expect(try await scene.outcome(of: events[2]) == "duplicate")
            #expect(try await scene.count(of: "seen_notifications", "transactions") == [2, 2])
        }
    }

    @Test func `a notification that comes again after its record has expired changes nothing`() async throws {
        try await WorkerScene.with { scene in
            let bodies = try NotificationMatrix.pairs.enumerated().map { index, pair in
                var trigger = SignedScene.trigger(NotificationKind(pair.type, pair.subtype))
                trigger.seed = UInt64(index)
                return try SignedScene.signer().sign(trigger.notification()).jws
            }
            let ledger: Statement = """
                SELECT appstore.state_digest('Production') AS line
                UNION ALL SELECT to_jsonb(e)::text FROM appstore.effects AS e ORDER BY line
                """
            for body in bodies { try await scene.receive(notification: body) }
            try await scene.work()
            let before = try await scene.database.lines(ledger)
            #expect(try await scene.count(of: "seen_notifications") == [Int64(bodies.count)])

            try await scene.database.withConnection {
                try await $0.runScript("UPDATE appstore.seen_notifications SET seen_on = seen_on - 201")
            }
            let step = try await scene.database.withConnection(user: "appstore_worker") {
                try await MaintenanceTask.ageNotifications.step(on: $0)
            }
            #expect(step?.rows == bodies.count)
            for body in bodies { try await scene.receive(notification: body) }
            try await scene.work()
            #expect(try await scene.database.lines(ledger) == before)
            let outcomes = try await scene.database.lines(
                "SELECT DISTINCT result::text FROM appstore.outcomes WHERE event_id > \(Int64(bodies.count)) ORDER BY 1"
            )
            #expect(outcomes == ["no_effect", "superseded"])
        }
    }

    @Test func `an unknown source is unhandled`() async throws {
        try await WorkerScene.with { scene in
            let event = try await scene.receive(Array("{}".utf8), source: "carrier_pigeon")
            #expect(try await scene.outcome(of: event) == "unhandled unknown_source")
        }
    }
}
