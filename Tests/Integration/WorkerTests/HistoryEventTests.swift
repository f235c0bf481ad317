import AppStore
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

@Suite struct HistoryEventTests {
    private static func body(_ jws: [UInt8]) -> [UInt8] { Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8) }

    @Test func `a notification that the history brought means what a posted one means, and a copy of it is a duplicate`() async throws {
        try await WorkerScene.with { scene in
            let notification = try SignedScene.trigger(NotificationKind(.oneTimeCharge)).notification()
            let jws = try SignedScene.sign(notification)
            let recovered = try await scene.receive(Self.body(jws), source: EventSource.historyV2.rawValue)
            #expect(try await scene.outcome(of: recovered) == "applied")
            let posted = try await scene.receive(notification: jws)
            #expect(try await scene.outcome(of: posted) == "duplicate")
            let again = try await scene.receive(Self.body(jws), source: EventSource.historyV2.rawValue)
            #expect(try await scene.outcome(of: again) == "duplicate")
            #expect(try await scene.labels(of: recovered) == scene.labels(of: posted))
            #expect(try await scene.count(of: "transactions", "effect_log") == [1, 1])
        }
    }

    @Test func `a body of the history cannot be posted, and does not end a silence`() async throws {
        try await WorkerScene.with { scene in
            let jws = try SignedScene.sign(try SignedScene.trigger(NotificationKind(.oneTimeCharge)).notification())
            await #expect(throws: PostgresError.self) {
                try await scene.database.withConnection(user: "appstore_ingest") { connection in
                    _ = try await connection.query("SELECT appstore.receive(ARRAY[\(Self.body(jws))::bytea], 'history_v2')")
                }
            }
            try await scene.receive(Self.body(jws), source: EventSource.historyV2.rawValue)
            try await scene.work()
            let silence: Statement = "SELECT (silence IS NULL)::text FROM appstore.inbox_statistics()"
            #expect(try await scene.database.lines(silence) == ["true"])
            try await scene.receive(notification: jws)
            try await scene.work()
            // The posted copy is a duplicate, and genuine.
            #expect(try await scene.database.lines(silence) == ["false"])
        }
    }
}
