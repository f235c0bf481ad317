import AppStore
import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

@Suite(.timeLimit(.minutes(2)))
struct EventTests {
    /// The routes that store events.
    enum Post: String, CaseIterable {
        case transactions = #"{"signedTransaction":"YWJj.ZGVm.Z2hp","user":"ann"}"#
        case receipts = #"{"receiptData":"MIIB","user":"ann","transactionId":"71"}"#

        var path: String { self == .transactions ? "/v1/transactions" : "/v1/receipts" }
    }

    private func post(_ api: RunningAPI, _ key: TestKey, _ kind: Post, _ query: String = "") async throws -> String {
        let answer = try await api.exchange("POST", kind.path + query, key: key, json: kind.rawValue)
        return try #require(try answer.json()["event"]?.text)
    }

    @Test(arguments: Post.allCases)
    func `an event is returned while it waits and when it is settled`(kind: Post) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let event = try await post(api, key, kind)
            let waiting = try await api.exchange("GET", "/v1/events/\(event)", key: key).json()
            #expect((waiting["state"]?.text, waiting["result"]) == ("waiting", .null))
            #expect(waiting["url"]?.text == "/v1/events/\(event)")
            try await api.database.settle(event, "applied", reason: "owner_conflict")
            let settled = try await api.exchange("GET", "/v1/events/\(event)", key: key)
            let json = try settled.json()
            #expect((json["state"]?.text, json["result"]?.text) == ("settled", "applied"))
            #expect((json["reason"]?.text, json["transactionId"]?.text) == ("owner_conflict", "71"))
            #expect(!settled.body.contains("ann"))
        }
    }

    @Test(arguments: Post.allCases)
    func `an event is returned only to keys that cover it`(kind: Post) async throws {
        try await RunningAPI.run { api in
            let any = try await api.makeKey()
            let tides = try await api.makeKey(apps: ["com.example.tides"])
            let both = try await api.makeKey(apps: ["com.example.tides", "com.example.dunes"])
            let sandbox = try await api.makeKey(environments: [.sandbox])
            func sees(_ key: TestKey, _ event: String) async throws -> Bool {
                let answer = try await api.exchange("GET", "/v1/events/\(event)", key: key)
                if answer.status != 200 { #expect(answer.problem == "no-such-event") }
                return answer.status == 200
            }
            let event = try await post(api, both, kind)
            #expect(try await sees(any, event))
            #expect(try await sees(both, event))
            #expect(try await !sees(tides, event), "it may be for the other app")
            #expect(try await !sees(sandbox, event))
            try await api.database.settle(event, "applied", app: "com.example.tides")
            #expect(try await sees(tides, event), "it is for this app")
            let second = try await post(api, any, kind)
            #expect(try await !sees(both, second))
            try await api.database.settle(second, "rejected", reason: "wrong_bundle", app: nil)
            #expect(try await !sees(both, second))
            let third = try await post(api, any, kind, "?environment=Sandbox")
            #expect(try await sees(sandbox, third))
        }
    }

    @Test(arguments: Post.allCases)
    func `an event without its body is found by what was verified`(kind: Post) async throws {
        try await RunningAPI.run { api in
            let any = try await api.makeKey()
            let production = try await api.makeKey(environments: [.production])
            let tides = try await api.makeKey(apps: ["com.example.tides"])
            let dunes = try await api.makeKey(apps: ["com.example.dunes"])
            let sandbox = try await api.makeKey(environments: [.sandbox])
            func seen(_ event: String) async throws -> [Bool] {
                var seen: [Bool] = []
                for key in [any, production, tides, dunes, sandbox] {
                    seen.append(try await api.exchange("GET", "/v1/events/\(event)", key: key).status == 200)
                }
                return seen
            }
            let applied = try await post(api, any, kind)
            try await api.database.settle(applied, "applied")
            let rejected = try await post(api, tides, kind)
            try await api.database.settle(rejected, "rejected", reason: "signature_invalid", app: nil)
            #expect(try await seen(applied) == [true, true, true, false, false])
            #expect(try await seen(rejected) == [true, true, true, false, false])
            try await api.database.change("DELETE FROM appstore.inbox")
            #expect(try await seen(applied) == [true, true, true, false, false])
            #expect(try await seen(rejected) == [true, false, false, false, false], "its app and environment are not known any longer")
        }
    }

    @Test func `Apple's notifications are not returned`() async throws {
        try await RunningAPI.run { api in
            // Any client of the ingest server can store a body that looks like a submission.
            let body = Array(#"{"signedTransaction":"YQ.YQ.YQ","environment":"Production"}"#.utf8)
            let rows = try await api.database.withConnection(user: "appstore_ingest") { connection in
                try await connection.query("SELECT appstore.receive(\([body])) AS event_id")
            }
            let event: Int64 = try #require(rows.first).decode("event_id")
            let answer = try await api.exchange("GET", "/v1/events/\(event)", key: try await api.makeKey())
            #expect((answer.status, answer.problem) == (404, "no-such-event"))
        }
    }

    @Test(arguments: ["0", "-1", "x", "99999999999999999999", "1.0", "%31x"])
    func `an id that is not a positive number is not found`(id: String) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            #expect(try await api.exchange("GET", "/v1/events/\(id)", key: key).problem == "no-such-event")
        }
    }

    @Test func `an event has one path`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let event = try await post(api, key, .transactions)
            #expect(try await api.exchange("GET", "/v1/events/\(event)", key: key).status == 200)
            for id in ["+\(event)", "0\(event)", "%2B\(event)", "%20\(event)", "\(event)%20", "\(event)%00", "-0"] {
                #expect(try await api.exchange("GET", "/v1/events/\(id)", key: key).problem == "no-such-event", "\(id)")
            }
            for wait in ["+1", "01", "-0"] {
                let answer = try await api.exchange(
                    "POST",
                    "/v1/transactions?wait=\(wait)",
                    key: key,
                    json: Post.transactions.rawValue
                )
                #expect(answer.problem == "invalid-parameter", "\(wait)")
            }
        }
    }
}
