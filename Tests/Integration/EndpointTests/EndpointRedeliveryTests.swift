import InboxTesting
import Postgres
import Testing

/// What an endpoint gets again, beside what is new.
struct EndpointRedeliveryTests {
    /// An endpoint that has got entries of these subjects.
    private static func make(_ subjects: String...) async throws -> (EndpointScene, Lease) {
        let scene = try await EndpointScene.make()
        try await scene.tell(all: subjects)
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(
            lease,
            upTo: Int64(subjects.count),
            subjects.enumerated().map { Report(position: Int64($0 + 1), subject: $1) }
        )
        return (scene, lease)
    }

    @Test(arguments: [Report.failed(1, "a"), .later(1, "a", wait: 60_000)])
    func `what fails when it is sent again is tried again, and holds nothing that is new`(report: Report) async throws {
        let (scene, lease) = try await Self.make("a", "a")
        try await scene.operate("SELECT appstore.redeliver('crm')")
        var report = report
        report.redelivery = 1
        try await scene.settle(lease, [report], Breaker(redelivered: [(1, 1)]))
        try await scene.tell("a")
        #expect(try await scene.open() == ["1 a \(report.attempts) in 60"])
        let taken = try await scene.take(lease, after: 2)
        #expect(taken.map(\.line) == ["next 3", "redelivery 2", "through 3", "redelivered_through 2"])
        #expect(taken.allSatisfy { $0.heldMilliseconds == nil })
        try await scene.settle(lease, upTo: 3, [.failed(3, "a")])
        try await scene.pass(minutes: 2)
        try await scene.tell("a")
        let next = try await scene.take(lease, after: 3, redelivered: 0)
        #expect(
            next.map { "\($0.line) \($0.heldMilliseconds != nil)" } == ["due 1 false", "due 3 false", "next 4 true", "through 4 false"]
        )
    }

    @Test func `what is in the open deliveries is not sent a second way`() async throws {
        let (scene, lease) = try await Self.make("a")
        try await scene.tell("b", "b", "c")
        try await scene.settle(
            lease,
            upTo: 4,
            [.failed(2, "b"), .held(3, "b"), Report(position: 4, subject: "c", result: "given_up", attempts: 10)]
        )
        #expect(try await scene.lines("SELECT appstore.redeliver('crm', dry_run => true)::text") == ["2"])
        try await scene.operate("SELECT appstore.redeliver('crm')")
        let taken = try await scene.take(lease, after: 4)
        #expect(taken.map(\.line) == ["redelivery 1", "redelivery 4", "redelivered_through 4"])
        #expect(taken.map(\.attempts) == [0, 0, 0], "what was given up is tried as often as anything else")
    }

    @Test func `what cannot be sent again is no delivery that was given up`() async throws {
        let (scene, lease) = try await Self.make("a", "b")
        try await scene.operate("SELECT appstore.redeliver('crm')")
        let missing = Report(position: 1, subject: "a", result: "given_up", attempts: 0, status: nil, error: "aged", redelivery: 1)
        try await scene.settle(lease, [missing])
        #expect(try await scene.open() == [])
        #expect(
            try await scene.lines(
                "SELECT concat_ws(' ', result, is_redelivery, error) FROM appstore.delivery_attempts WHERE attempt_id > 2"
            )
                == ["given_up t aged"]
        )
        try await scene.settle(lease, [Report(position: 2, subject: "b", result: "given_up", attempts: 10)])
        try await scene.settle(lease, [Report(position: 2, subject: "b", result: "given_up", attempts: 11, redelivery: 1)])
        #expect(try await scene.open() == ["2 b 11 given up"])
    }

    @Test func `counting locks no endpoint`() async throws {
        let (scene, _) = try await Self.make("a")
        try await scene.database.withConnection(user: "appstore_operator") { connection in
            try await connection.withTransaction { transaction in
                for argument in ["only_failed => true", "dry_run => true"] {
                    try await transaction.execute("SELECT appstore.redeliver('crm', \(unsafeRaw: argument))")
                }
                try await scene.run("SELECT FROM appstore.endpoints FOR UPDATE NOWAIT")
            }
        }
    }

    @Test(arguments: ["dry_run => NULL", "only_failed => NULL"])
    func `what is neither true nor false is refused`(argument: String) async throws {
        let (scene, _) = try await Self.make("a")
        let refusal = await #expect(throws: PostgresError.self) {
            try await scene.operate("SELECT appstore.redeliver('crm', \(unsafeRaw: argument))")
        }
        #expect(refusal?.sqlState?.rawValue == "22023")
        #expect(try await scene.lines("SELECT state FROM appstore.redeliveries") == [])
    }
}
