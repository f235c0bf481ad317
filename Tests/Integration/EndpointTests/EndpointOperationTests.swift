import InboxTesting
import Postgres
import SQL
import Testing

/// What an operator does with endpoints.
struct EndpointOperationTests {
    @Test func `an endpoint needs the feed, begins at its end, and keeps it on`() async throws {
        let scene = EndpointScene(database: try await InboxDatabase.make())
        let make: Statement = "SELECT appstore.make_endpoint('crm', 'https://example.com/hook?a=b')"
        let refusal = await #expect(throws: PostgresError.self) { try await scene.operate(make) }
        #expect(refusal?.sqlState?.rawValue == "55000")
        try await scene.operate("SELECT appstore.enable_feed()")
        try await scene.tell("a")
        try await scene.operate(make)
        #expect(try await scene.lease().map(\.position) == [1])
        let again = await #expect(throws: PostgresError.self) { try await scene.operate(make) }
        #expect(again?.sqlState?.rawValue == "23505")
        let off = await #expect(throws: PostgresError.self) { try await scene.operate("SELECT appstore.disable_feed()") }
        #expect(off?.sqlState?.rawValue == "55000")
        try await scene.operate("SELECT appstore.remove_endpoint('crm')", "SELECT appstore.disable_feed()")
        #expect(
            try await scene.lines("SELECT action FROM appstore.audit_log ORDER BY audit_id")
                == ["enable_feed", "make_endpoint", "remove_endpoint", "disable_feed"]
        )
    }

    @Test(arguments: [
        "'Crm', 'https://example.com'", "'crm', 'ftp://example.com'", "'crm', 'https://user:secret@example.com'", "'crm', 'https://a/#b'",
        "'crm', 'https://a', 'xml'", "'crm', 'https://a', 'raw', '{order.paid}'", "'crm', 'https://a', types => '{order.sent}'",
        "'crm', 'https://a', bundle_ids => '{}'", "'crm', 'https://a', with_wrong_bundle => true",
        "'crm', 'https://a', max_in_flight => 65",
        "'crm', 'https://a', max_per_second => 0", "'crm', 'https://a', timeout_seconds => NULL", "NULL, 'https://a'", "'crm', NULL",
    ])
    func `what is wrong with an endpoint is refused, with a hint`(arguments: String) async throws {
        let scene = EndpointScene(database: try await InboxDatabase.make())
        try await scene.operate("SELECT appstore.enable_feed()")
        let refusal = await #expect(throws: PostgresError.self) {
            try await scene.operate("SELECT appstore.make_endpoint(\(unsafeRaw: arguments))")
        }
        #expect(refusal?.sqlState?.rawValue == "22023", "\(String(describing: refusal))")
        #expect(refusal?.description.contains("secret") == false)
    }

    @Test(arguments: [
        "pause_endpoint('x')", "resume_endpoint('x')", "remove_endpoint('x')", "rotate_endpoint_secret('x')", "test_endpoint('x')",
        "redeliver('x')", "stop_redelivery(7)", "change_endpoint('x', '{}')",
    ])
    func `an endpoint that does not exist is named`(call: String) async throws {
        let scene = try await EndpointScene.make()
        let refusal = await #expect(throws: PostgresError.self) { try await scene.operate("SELECT appstore.\(unsafeRaw: call)") }
        #expect(refusal?.sqlState?.rawValue == "P0002")
    }

    @Test func `settings change one by one, and a worker reads them with its next poll`() async throws {
        let scene = try await EndpointScene.make()
        let lease = try #require(try await scene.lease().first)
        try await scene.operate(
            #"SELECT appstore.change_endpoint('crm', '{"url": "https://example.org/", "max_in_flight": 2, "environments": ["Sandbox"]}')"#
        )
        let poll = Statement.pollEndpoints(names: ["crm"], epochs: [lease.epoch], after: [0], seconds: 30)
        let row = try #require(try await scene.query(poll).first)
        #expect(try row.decode("url", as: String.self) == "https://example.org/")
        #expect(try row.decode("max_in_flight", as: Int32.self) == 2)
        #expect(try await scene.endpoint("concat_ws(' ', environments, timeout_seconds, types)") == "{Sandbox} 15")
        let wrong = [#"{"position": 7}"#, #"{"max_in_flight": 0}"#, "[]", nil, #"{"bundle_ids": [null]}"#, #"{"environments": [null]}"#]
        for changes in wrong {
            let refusal = await #expect(throws: PostgresError.self) {
                try await scene.operate("SELECT appstore.change_endpoint('crm', \(changes)::text::jsonb)")
            }
            #expect(refusal?.sqlState?.rawValue == "22023")
        }
    }

    @Test func `a test has the id that was returned, and is for its endpoint only`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.operate("SELECT appstore.make_endpoint('other', 'https://example.com/', types => '{test}')")
        let id = try await scene.database.withConnection(user: "appstore_operator") { connection in
            try await connection.execute("SET TimeZone = 'Asia/Tokyo'")
            return try await connection.query("SELECT appstore.test_endpoint('crm')::text")[0].decode(0, as: String.self)
        }
        try await scene.database.sequenceFeed()
        #expect(try await scene.lines("SELECT type || ' ' || id FROM appstore.feed") == ["test \(id)"])
        for lease in try await scene.lease() {
            #expect(try await scene.take(lease, after: 0).map(\.line) == (lease.name == "crm" ? ["next 1", "through 1"] : ["through 1"]))
        }
        try await scene.operate("SELECT appstore.pause_endpoint('crm')")
        await #expect(throws: PostgresError.self) { try await scene.operate("SELECT appstore.test_endpoint('crm')") }
    }

    @Test func `an endpoint that goes back gets its entries again, also those that were given up`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 3, [.failed(1, "a"), Report(position: 3, subject: "c", result: "given_up", attempts: 10)])
        try await scene.operate("SELECT appstore.resume_endpoint('crm', 1)")
        #expect(try await scene.open() == ["1 a 1 in 60"])
        #expect(
            try await scene.lines("SELECT details::text FROM appstore.audit_log WHERE action = 'resume_endpoint'")
                == [#"{"was": "enabled", "from": 3, "endpoint": "crm", "position": 1}"#]
        )
        let next = try #require(try await scene.lease().first)
        #expect(try await scene.take(next, after: 1).map(\.line) == ["next 2", "next 3", "through 3"])
        for after in [4, -1] as [Int64] {
            await #expect(throws: PostgresError.self) { try await scene.operate("SELECT appstore.resume_endpoint('crm', \(after))") }
        }
    }

    @Test func `a redelivery covers a range of positions or times, and counts before it begins`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b")
        try await scene.tell("c", type: "order.paid")
        try await scene.tell("d")
        try await scene.run(
            "UPDATE appstore.feed SET told_at = '2026-01-01'::timestamptz + position * interval '1 day'; UPDATE appstore.endpoints SET position = 3"
        )
        let count = { (arguments: String) in
            try await scene.database.withConnection(user: "appstore_operator") { connection in
                try await connection.query("SELECT appstore.redeliver('crm', \(unsafeRaw: arguments))")[0].decode(0, as: Int64.self)
            }
        }
        #expect(try await count("dry_run => true") == 3, "the fourth comes anyway")
        #expect(try await count("types => '{order.*}', dry_run => true") == 1)
        #expect(try await count("from_position => 2, dry_run => true") == 2)
        #expect(try await count("since => '2026-01-03', before => '2026-01-04', dry_run => true") == 1)
        #expect(try await count("since => '2027-01-01'") == 0)
        #expect(try await scene.lines("SELECT state FROM appstore.redeliveries") == [])
        #expect(try await count("before => '2026-01-04', types => '{effect.granted}'") == 2)
        #expect(
            try await scene.lines("SELECT concat_ws(' ', after, upto, types, state, actor) FROM appstore.redeliveries") == [
                "0 2 {effect.granted} open appstore_operator"
            ]
        )
        try await scene.operate("SELECT appstore.stop_redelivery(1)")
        #expect(try await scene.lines("SELECT appstore.stop_redelivery(1)::text") == ["false"])
        let lease = try #require(try await scene.lease().first)
        #expect(try await scene.take(lease, after: 4).isEmpty)
    }

    @Test func `only what failed is sent again at once, from its first attempt on`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "b", "c")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(
            lease,
            upTo: 4,
            [
                Report(position: 1, subject: "a", result: "given_up", attempts: 10), .failed(2, "b", attempts: 3), .held(3, "b"),
                Report(position: 4, subject: "c"),
            ]
        )
        #expect(try await scene.lines("SELECT appstore.redeliver('crm', only_failed => true, dry_run => true)::text") == ["2"])
        try await scene.operate("SELECT appstore.redeliver('crm', upto_position => 1, only_failed => true)")
        #expect(try await scene.open() == ["1 a 0 now", "2 b 3 in 60", "3 b 0 in 600"])
        try await scene.operate("SELECT appstore.redeliver('crm', only_failed => true)")
        #expect(try await scene.take(lease, after: 4).map(\.line) == ["due 1", "due 2"])
        #expect(try await scene.lines("SELECT state FROM appstore.redeliveries") == [])
    }
}
