import Outbox
import Postgres
import Testing

@testable import Backfill

@Suite struct ImportErrorTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let reason: String
        let outcome: ExchangeOutcome
        var testDescription: String { reason }
    }

    private static func page(_ body: String) -> ExchangeOutcome { .answer(HTTPAnswer(status: 200, body: Array(body.utf8))) }

    static let faults = [
        Fault(reason: "http_503", outcome: .answer(HTTPAnswer(status: 503))),
        Fault(reason: "apple_4040006", outcome: MadeUpCustomers.error(4_040_006)),
        Fault(reason: "apple_5000000", outcome: MadeUpCustomers.error(5_000_000, status: 500)),
        Fault(reason: "timed_out", outcome: .failure(.timedOut)),
        Fault(reason: "answer_malformed", outcome: page("[]")),
        Fault(reason: "answer_of_another_app", outcome: page(#"{"bundleId":"com.example.other","data":[]}"#)),
        Fault(reason: "malformed_answer", outcome: page(#"{"data":[1]}"#)),
        Fault(reason: "revision_too_long", outcome: page(#"{"revision":"\#(String(repeating: "r", count: 2049))","data":[]}"#)),
        Fault(reason: "revision_too_long", outcome: page(#"{"revision":"\#(String(repeating: "r", count: 1_000_000))","data":[]}"#)),
    ]

    @Test(arguments: faults) func `a request that fails leaves its id open, and the others are asked`(_ fault: Fault) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["10"]), .init(["20"])]
                state.fault = { $0.id == "10" ? fault.outcome : nil }
            }
            try await scene.load("transaction_id\n10\n20\n")
            try await scene.drain()
            #expect(try await scene.items() == ["2 10 Production open \(fault.reason)", "3 20 Production found"])
            #expect(try await scene.lines("SELECT failing_with FROM appstore.import_status") == [fault.reason])
            scene.apple.change { $0.fault = nil }
            try await scene.makeDue()
            try await scene.drain()
            #expect(try await scene.items() == ["2 10 Production found", "3 20 Production found"])
            #expect(try await scene.imports() == ["1 done 2 0 0 0 0 0"])
        }
    }

    static let limits: [(ExchangeOutcome, String)] = [
        (MadeUpCustomers.error(4_290_000, status: 429), "rate_limited"), (.answer(HTTPAnswer(status: 401)), "api_key"),
    ]

    @Test(arguments: limits)
    func `a limit or a key that is refused counts against no id, and the app rests`(outcome: ExchangeOutcome, reason: String) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["10"])]
                state.fault = { _ in outcome }
            }
            try await scene.load("transaction_id\n10\n")
            let chunk = try #require(try await scene.lease().first)
            guard case .rests = try await scene.walk(chunk) else {
                Issue.record("the app does not rest")
                return
            }
            #expect(try await scene.items() == ["2 10 Production open"])
            #expect(try await scene.lines("SELECT concat_ws(' ', last_error, failures) FROM appstore.import_chunks") == ["\(reason) 0"])
        }
    }

    @Test func `an id that Apple refuses fails alone`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["20"])]
                state.fault = { $0.id == "10" ? MadeUpCustomers.error(4_000_006, status: 400) : nil }
            }
            try await scene.load("transaction_id\n10\n20\n")
            try await scene.drain()
            #expect(try await scene.items() == ["2 10 Production failed apple_4000006", "3 20 Production found"])
            #expect(try await scene.imports() == ["1 done 1 0 0 1 0 0"])
        }
    }

    @Test func `an id that fails twenty times is given up`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.fault = { _ in .answer(HTTPAnswer(status: 500)) } }
            try await scene.load("transaction_id\n10\n")
            for _ in 1...20 {
                try await scene.drain()
                try await scene.makeDue()
            }
            #expect(try await scene.items() == ["2 10 Production failed http_500"])
            #expect(try await scene.imports() == ["1 done 0 0 0 1 0 0"])
        }
    }

    @Test func `an answer that cannot be stored stops no other`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"])] }
            try await scene.execute("ALTER TABLE appstore.customer_revisions ADD CHECK (original_transaction_id <> '10')")
            try await scene.load("transaction_id\n10\n20\n", depth: "history")
            for _ in 1...5 {
                try await scene.drain()
                try await scene.makeDue()
            }
            #expect(try await scene.items() == ["2 10 Production failed answer_not_stored", "3 20 Production found"])
            #expect(try await scene.imports() == ["1 done 1 0 0 1 0 0"])
        }
    }

    @Test func `an answer that cannot be stored settles no other id of its customer`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10", "11"])] }
            try await scene.execute("ALTER TABLE appstore.import_items ADD CHECK (id <> '10' OR state <> 'found')")
            try await scene.load("transaction_id\n10\n11\n")
            _ = try await scene.walk(try #require(try await scene.lease().first))
            #expect(scene.apple.asked == ["10", "11"])
            #expect(try await scene.items() == ["2 10 Production covered", "3 11 Production found"])
        }
    }

    @Test(arguments: [4_040_003, 4_000_002]) func `a refusal of the app counts against no id, and the app rests`(code: Int) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.fault = { _ in MadeUpCustomers.error(code, status: code / 10_000) } }
            try await scene.load("transaction_id\n10\n")
            let chunk = try #require(try await scene.lease().first)
            guard case .rests(let delay) = try await scene.walk(chunk), delay == .seconds(3600) else {
                Issue.record("the app does not rest")
                return
            }
            #expect(try await scene.items() == ["2 10 Production open"])
        }
    }

    @Test func `a code that Apple adds tomorrow fails no id at once, and is named`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.fault = { _ in MadeUpCustomers.error(4_990_001, status: 400) } }
            try await scene.load("transaction_id\n10\n")
            try await scene.drain()
            #expect(try await scene.items() == ["2 10 Production open apple_4990001"])
        }
    }

    @Test func `failures of two kinds do not add up`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id\n10\n")
            for fault in [
                ExchangeOutcome.failure(.timedOut), .failure(.timedOut), .failure(.timedOut), .failure(.timedOut), Self.page("[]"),
            ] {
                scene.apple.change { $0.fault = { _ in fault } }
                try await scene.drain()
                try await scene.makeDue()
            }
            #expect(try await scene.items() == ["2 10 Production open answer_malformed"])
            #expect(try await scene.lines("SELECT failures::text FROM appstore.import_items") == ["1"])
        }
    }

    @Test func `where no worker asks in an environment, the status says so`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id\n10\n")
            func failing() async throws -> [String] {
                try await scene.lines("SELECT coalesce(failing_with, '-') FROM appstore.import_status")
            }
            #expect(try await failing() == ["-"])
            try await scene.execute("UPDATE appstore.imports SET touched_at = now() - interval '11 minutes'")
            #expect(try await failing() == ["no worker asks in Production"])
            _ = try await scene.walk(try #require(try await scene.lease().first))
            #expect(try await failing() == ["-"])
            try await scene.execute("UPDATE appstore.import_chunks SET run_at = now() - interval '11 minutes'")
            #expect(try await failing() == ["no worker asks in Sandbox"])
            _ = try await scene.lease()
            #expect(try await failing() == ["-"])
        }
    }

    @Test func `a revision that is too long for a URL cannot be stored`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id,revision\n10,r\n", depth: "history")
            for size in [Int32(2048), 2049] {
                let statements: [Statement] = [
                    "UPDATE appstore.import_items SET revision = repeat('r', \(size))",
                    "INSERT INTO appstore.customer_revisions VALUES ('Production', \("\(size)"), repeat('r', \(size)))",
                ]
                for statement in statements {
                    do {
                        try await scene.execute(statement)
                        #expect(size == 2048)
                    } catch {
                        #expect(size == 2049 && "\(error)".contains("_revision_is_short"))
                    }
                }
            }
        }
    }

    @Test func `a revision that Apple refuses is left out, and one that stands still is an error`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["10"])]
                state.fault = { $0.revision == "old" ? MadeUpCustomers.error(4_000_005, status: 400) : nil }
            }
            try await scene.load("transaction_id,revision\n10,old\n", depth: "history")
            try await scene.drain()
            #expect(scene.apple.requests.map(\.revision) == ["old", nil])
            #expect(try await scene.imports() == ["1 done 1 0 0 0 0 0"])
            scene.apple.change { $0.fault = { _ in Self.page(#"{"hasMore":true,"revision":"r","signedTransactions":[]}"#) } }
            try await scene.load("transaction_id,revision\n20,r\n", depth: "history")
            try await scene.drain()
            #expect(try await scene.lines("SELECT reason FROM appstore.import_items WHERE id = '20'") == ["revision_repeated"])
        }
    }
    @Test func `a customer for whom Apple refuses each revision fails, and is not read without end`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["10"], transactions: 9)]
                state.fault = { $0.revision == nil ? nil : MadeUpCustomers.error(4_000_005, status: 400) }
            }
            try await scene.load("transaction_id\n10\n", depth: "history")
            try await scene.drain()
            #expect(scene.apple.requests.map(\.revision) == [nil, "r-3", nil])
            #expect(try await scene.items() == ["2 10 Production failed revision_repeated"])
        }
    }

    @Test func `a customer whose revisions go in a circle fails`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.fault = { request in
                    Self.page(#"{"hasMore":true,"revision":"\#(request.revision == "a" ? "b" : "a")","signedTransactions":[]}"#)
                }
            }
            try await scene.load("transaction_id\n10\n", depth: "history")
            try await scene.drain()
            #expect(scene.apple.requests.map(\.revision) == [nil, "a", "b"])
            #expect(try await scene.items() == ["2 10 Production failed revision_repeated"])
        }
    }
}
