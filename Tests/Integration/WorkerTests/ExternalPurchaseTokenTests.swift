import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The register of tokens for purchases outside the App Store.
struct ExternalPurchaseTokenTests {
    private static let created: Int64 = 1_767_225_600_000  // 2026-01-01
    private static let day: Int64 = 86_400_000

    /// A notification about token t1, signed some hours before now.
    private static func notification(
        _ subtype: Subtype,
        hoursAgo: Int64,
        app: SimulatedApp = SignedScene.app,
        _ change: @escaping (inout JSONObject) -> Void = { _ in }
    ) throws -> [UInt8] {
        try SignedScene.sign(
            SignedScene.trigger(NotificationKind(.externalPurchaseToken, subtype), app: app).notification(),
            outer: { outer in
                guard case .object(var token)? = outer["externalPurchaseToken"] else { return }
                token["externalPurchaseId"] = .string(app.environment == .sandbox ? "SANDBOX_t1" : "t1")
                token["tokenCreationDate"] = .integer(created)
                change(&token)
                outer["externalPurchaseToken"] = .object(token)
                outer["notificationUUID"] = .string(UUID().uuidString.lowercased())
                outer["signedDate"] = .integer(SignedScene.now.millisecondsSince1970 - hoursAgo * 3_600_000)
            }
        )
    }

    private static let rows: Statement = """
        SELECT concat_ws(' ', external_purchase_id, bundle_id, coalesce(token_type, '-'), coalesce(report_by::date::text, '-'), subtype,
                         (signed_date - first_signed_date)::text, coalesce((SELECT string_agg(k, ',') FROM jsonb_object_keys(known) AS k), '-'))
        FROM appstore.external_purchase_tokens ORDER BY environment, external_purchase_id
        """

    /// Notifications that lack what others say: nothing of it is forgotten, and the newest one that has it counts.
    private static func statements() throws -> [[UInt8]] {
        [
            try notification(.created, hoursAgo: 4) { token in
                (token["tokenType"], token["tokenExpirationDate"]) = ("ACQUISITION", .integer(created + 200 * day))
            },
            try notification(.activeTokenReminder, hoursAgo: 3) { token in
                (token["tokenType"], token["tokenExpirationDate"]) = ("SERVICES", .integer(created + 365 * day))
            },
            try notification(.unreported, hoursAgo: 1) { token in token["tokenCreationDate"] = nil },
        ]
    }

    @Test func `the newest notification about a token counts, in whatever order they come, and what cannot change is not forgotten`()
        async throws
    {
        let statements = try Self.statements()
        let orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1, 0, 2]]
        var digests: Set<String> = []
        for (number, order) in orders.enumerated() {
            try await WorkerScene.with { scene in
                for index in order {
                    try await scene.receive(notification: statements[index])
                    if number.isMultiple(of: 2) { try await scene.work() }
                }
                try await scene.work()
                #expect(
                    try await scene.database.lines(Self.rows) == [
                        "t1 com.example.app SERVICES 2027-01-01 UNREPORTED 03:00:00 token_type,token_creation_date,token_expiration_date"
                    ],
                    "order \(order)"
                )
                let events: Statement = """
                    SELECT bool_and(o.subtype = t.subtype)::text || bool_and(f.subtype = 'CREATED')::text FROM appstore.external_purchase_tokens AS t
                    JOIN appstore.outcomes AS o ON o.event_id = t.last_event_id JOIN appstore.outcomes AS f ON f.event_id = t.first_event_id
                    """
                #expect(try await scene.database.lines(events) == ["truetrue"])
                digests.formUnion(try await scene.database.lines("SELECT appstore.state_digest('Production')"))
            }
        }
        #expect(digests.count == 1)
    }

    @Test func `report_by is what the effect tells`() async throws {
        try await WorkerScene.with { scene in
            try await scene.receive(notification: Self.notification(.unreported, hoursAgo: 1))
            try await scene.receive(
                notification: Self.notification(.created, hoursAgo: 1) { token in
                    (token["externalPurchaseId"], token["tokenExpirationDate"]) = ("t2", .integer(Self.created + 77 * Self.day))
                }
            )
            try await scene.work()
            let pairs: Statement = """
                SELECT external_purchase_id || ' ' || (report_by = (e.details ->> 'report_by')::timestamptz) FROM appstore.external_purchase_tokens
                JOIN appstore.effects AS e ON e.details ->> 'id' = external_purchase_id ORDER BY 1
                """
            #expect(try await scene.database.lines(pairs) == ["t1 true", "t2 true"])
        }
    }

    @Test func `what cannot be read of a token is read by a later version, and the rest is kept now`() async throws {
        try await WorkerScene.with { scene in
            let whole = try Self.notification(.created, hoursAgo: 2) { token in token["tokenType"] = "SERVICES" }
            let odd = try Self.notification(.unreported, hoursAgo: 1) { token in token["tokenCreationDate"] = "today" }
            try await scene.receive(notification: whole)
            let event = try await scene.receive(notification: odd)
            #expect(try await scene.outcome(of: event) == "unhandled unreadable_member:externalPurchaseToken.tokenCreationDate")
            #expect(
                try await scene.database.lines(Self.rows) == [
                    "t1 com.example.app SERVICES 2026-01-11 UNREPORTED 01:00:00 token_type,token_creation_date"
                ]
            )
        }
    }

    @Test func `Sandbox never changes Production, and nothing unverified has an effect`() async throws {
        let sandbox = SignedScene.sandboxApp
        try await WorkerScene.with { scene in
            try await scene.receive(notification: Self.notification(.created, hoursAgo: 2, app: sandbox))
            try await scene.work()
            let keys: Statement = "SELECT environment || ' ' || external_purchase_id FROM appstore.external_purchase_tokens"
            #expect(try await scene.database.lines(keys) == ["Sandbox SANDBOX_t1"])
            var forged = try Self.notification(.created, hoursAgo: 2)
            forged[forged.count - 3] ^= 1
            let event = try await scene.receive(notification: forged)
            #expect(try await scene.outcome(of: event).hasPrefix("rejected"))
            #expect(try await scene.count(of: "external_purchase_tokens") == [1])
        }
    }

    private static func mark(_ id: String, _ at: String, in scene: WorkerScene, as role: String = "appstore_backend") async throws {
        try await scene.database.withConnection(user: role) { connection in
            _ = try await connection.query(
                "SELECT appstore.mark_external_purchase_token_reported('Production', \(id), \(unsafeRaw: at))"
            )
        }
    }

    private static let due: Statement = """
        SELECT concat_ws(' ', external_purchase_id, subtype, time_left < '0', reported_at IS NOT NULL) FROM appstore.external_purchase_tokens_due
        """

    @Test func `a reported token is due no longer, until that is taken back or Apple says otherwise`() async throws {
        try await WorkerScene.with { scene in
            try await scene.receive(notification: Self.notification(.created, hoursAgo: 3))
            try await scene.work()
            let marks: Statement = "SELECT coalesce(reported_at::text || ' ' || reported_by, 'none') FROM appstore.external_purchase_tokens"
            #expect(try await scene.database.lines(Self.due) == ["t1 CREATED t f"])
            try await Self.mark("t1", "'2026-01-05T00:00:00Z'", in: scene)
            #expect(try await scene.database.lines(Self.due) == [])
            let marked = try await scene.database.lines(marks)
            #expect(marked[0].hasPrefix("2026-01-05") && marked[0].hasSuffix("appstore_backend"))
            // Repeating a call changes nothing, also by another login.
            try await Self.mark("t1", "'2026-01-05T00:00:00Z'", in: scene, as: "appstore_operator")
            #expect(try await scene.database.lines(marks) == marked)
            // What is said of the report outlives later notifications, and a reminder does not contradict it.
            try await scene.receive(notification: Self.notification(.activeTokenReminder, hoursAgo: 2))
            try await scene.work()
            #expect(try await scene.database.lines(Self.due) == [])
            #expect(try await scene.database.lines(marks) == marked)
            try await scene.receive(notification: Self.notification(.unreported, hoursAgo: 1))
            try await scene.work()
            #expect(try await scene.database.lines(Self.due) == ["t1 UNREPORTED t t"])
            try await Self.mark("t1", "now()", in: scene)
            #expect(try await scene.database.lines(Self.due) == [])
            try await Self.mark("t1", "NULL", in: scene)
            #expect(try await scene.database.lines(marks) == ["none"])
            #expect(try await scene.database.lines(Self.due) == ["t1 UNREPORTED t f"])
        }
    }

    @Test(arguments: [
        ("t2", "now()", "P0002"), ("t1", "now() + interval '1 day'", "22023"), ("t1", "'infinity'", "22023"),
        ("t1", "'-infinity'", "22023"),
    ])
    func `a call that cannot be meant is refused`(id: String, at: String, state: String) async throws {
        try await WorkerScene.with { scene in
            try await scene.receive(notification: Self.notification(.created, hoursAgo: 3))
            try await scene.work()
            let error = await #expect(throws: PostgresError.self) { try await Self.mark(id, at, in: scene) }
            #expect(error?.sqlState?.rawValue == state)
        }
    }

    @Test(arguments: ["appstore_viewer", "appstore_worker", "appstore_api"])
    func `others say nothing of reports`(role: String) async throws {
        try await WorkerScene.with { scene in
            await #expect(throws: PostgresError.self) { try await Self.mark("t1", "now()", in: scene, as: role) }
        }
    }

    @Test func `those that are due are counted by their time, the soonest first`() async throws {
        try await WorkerScene.with { scene in
            for (id, days) in [("late", -20), ("soon", -9), ("later", -1)] as [(String, Int64)] {
                try await scene.receive(
                    notification: Self.notification(.created, hoursAgo: 3) { token in
                        (token["externalPurchaseId"], token["tokenCreationDate"]) = (
                            .string(id), .integer(SignedScene.now.millisecondsSince1970 + days * Self.day)
                        )
                    }
                )
            }
            try await scene.work()
            let counts: Statement =
                "SELECT overdue || ' ' || due_soon || ' ' || unreported FROM appstore.external_purchase_token_statistics()"
            #expect(try await scene.database.lines(counts) == ["1 1 3"])
            let order: Statement = "SELECT external_purchase_id FROM appstore.external_purchase_tokens_due"
            #expect(try await scene.database.lines(order) == ["late", "soon", "later"])
            try await Self.mark("late", "now()", in: scene, as: "appstore_operator")
            #expect(try await scene.database.lines(counts) == ["0 1 2"])
        }
    }
}
