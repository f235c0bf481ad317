import HTTPServingTesting
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Reads that a standby answers.
@Suite(.timeLimit(.minutes(2)))
struct StandbyTests {
    @Test func `a standby answers reads, waits for the position that a request names, and else the primary answers`() async throws {
        try await withStandby { api, standby, key in
            let user = "/v1/users/anna/entitlements"
            func read(_ target: String, _ key: TestKey) async throws -> Reading {
                let answer = try await api.exchange("GET", target, key: key)
                return Reading(answer.headers["feed-position"], try answer.json()["entitlements"]?.elements.count)
            }
            let first = try await sell("1", api, key)
            #expect(try await read("\(user)?at_least=\(first)", key) == Reading(first, 1))

            try await standby.run("SELECT pg_wal_replay_pause()")
            let second = try await sell("2", api, key)
            #expect(try await read(user, key) == Reading(first, 1))
            #expect(try await read("\(user)?at_least=\(second)", key) == Reading(second, 2))
            let contract = try await api.exchange("GET", "/v1/subscriptions/2?at_least=\(second)", key: key)
            #expect(contract.status == 200 && contract.headers["feed-position"] == second)
            let unknown = try await api.exchange("GET", "/v1/subscriptions/2", key: key)
            #expect(unknown.status == 200 && unknown.headers["feed-position"] == second, "the standby has no such contract yet")
            let young = try await api.makeKey()
            #expect(try await read(user, young) == Reading(second, 2), "the standby does not know the key yet")

            async let waiting = read("\(user)?at_least=\(second)", key)
            try await standby.run("SELECT pg_wal_replay_resume()")
            let late = try await waiting
            #expect(late == Reading(second, 2))
            try await eventually("the standby has caught up") { try await read(user, key) == Reading(second, 2) }

            await standby.cluster.stop()
            #expect(try await read(user, key) == Reading(second, 2))
        }
    }

    /// Sells a subscription to anna and returns the position of the feed after it.
    private func sell(_ transaction: String, _ api: RunningAPI, _ key: TestKey) async throws -> String {
        try await api.database.addCharge(transaction)
        _ = try await api.exchange("PUT", "/v1/contracts/\(transaction)/owner", key: key, json: #"{"user":"anna"}"#)
        try await api.tell(["anna"])
        return try #require(try await api.feed("?after=now", key: key).head)
    }

    @Test func `a position that the feed does not reach is refused, and what is no position`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            let user = "/v1/users/anna/entitlements"
            for position in ["1.1", "2.0"] {
                let ahead = try await api.exchange("GET", "\(user)?at_least=\(position)", key: key)
                #expect(ahead.status == 409 && ahead.problem == "position-unknown", "\(ahead)")
            }
            #expect(try await api.exchange("GET", "\(user)?at_least=0.7", key: key).status == 200)
            for text in ["begin", "now", "x", "", "1", "1.-1", "time:2026-01-01T00:00:00Z"] {
                let wrong = try await api.exchange("GET", "\(user)?at_least=\(text)", key: key)
                let parameter = try wrong.json()["parameter"]?.text
                #expect(wrong.status == 400 && parameter == "at_least", "\(text): \(wrong)")
            }
        }
    }

    private func withStandby(_ body: (RunningAPI, Standby, TestKey) async throws -> Void) async throws {
        let primary = try await TestCluster.startPrivate()
        let database = try await InboxDatabase.make(in: primary)
        let standby = Standby(cluster: try await primary.startStandby(), database: database.name)
        try await RunningAPI.run(database: database, standby: standby.url(user: "appstore_api")) { api in
            try await database.change("SELECT appstore.enable_feed()")
            try await body(api, standby, try await api.makeKey())
        }
        await standby.cluster.stop()
        await primary.stop()
    }
}

private struct Reading: Equatable {
    let position: String?
    let entitlements: Int?

    init(_ position: String?, _ entitlements: Int?) { (self.position, self.entitlements) = (position, entitlements) }
}

private struct Standby: Sendable {
    let cluster: TestCluster
    let database: String

    func url(user: String) -> String { cluster.url(database: database, user: user) }

    func run(_ statement: Statement) async throws {
        let connection = try await Connection.open(ConnectionOptions(url(user: "postgres")), logger: .silent)
        _ = try await connection.query(statement)
        await connection.close()
    }
}
