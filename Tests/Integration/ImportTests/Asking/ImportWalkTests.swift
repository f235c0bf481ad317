import InboxTesting
import Outbox
import Postgres
import PostgresTesting
import Randomness
import Testing

@testable import Backfill
@testable import Commands

@Suite struct ImportWalkTests {
    @Test func `one answer settles each id that it names, and becomes an event for each contract`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10", "11", "12"]), .init(["20"])] }
            try await scene.load("original_transaction_id\n11\n10\n20\n12\n")
            try await scene.drain()
            #expect(
                try await scene.items()
                    == ["2 11 Production found", "3 10 Production covered", "4 20 Production found", "5 12 Production covered"]
            )
            #expect(scene.apple.asked == ["11", "20"])
            #expect(
                try await scene.events()
                    == ["imported_status 10 1", "imported_status 11 1", "imported_status 12 1", "imported_status 20 1"]
            )
            #expect(try await scene.imports() == ["1 done 2 2 0 0 0 0"])
        }
    }

    @Test func `an id that Production does not know is asked in Sandbox, and once more a day later`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"], environment: "Sandbox")] }
            try await scene.load("transaction_id,environment\n10,\n20,\n30,\n20000,Sandbox\n10000,Production\n")
            try await scene.drain()
            #expect(
                scene.apple.requests.map { "\($0.environment) \($0.id)" }
                    == ["Production 10", "Production 20", "Production 30", "Production 10000", "Sandbox 20", "Sandbox 30", "Sandbox 20000"]
            )
            #expect(try await scene.imports() == ["1 running 2 0 0 0 3 3"])
            // Nothing is due before a day has passed.
            #expect(
                try await scene.lines(
                    "SELECT DISTINCT (run_at > clock_timestamp() + interval '23 hours')::text || ' ' || phase FROM appstore.import_chunks"
                ) == ["true again"]
            )
            scene.apple.change { $0.customers.append(.init(["30"])) }
            try await scene.makeDue()
            try await scene.drain()
            #expect(
                try await scene.items() == [
                    "2 10 Production found", "3 20 Sandbox found", "4 30 Production found", "5 20000 Sandbox unknown_to_apple",
                    "6 10000 Production unknown_to_apple",
                ]
            )
            #expect(try await scene.imports() == ["1 done 3 0 2 0 0 0"])
            #expect(
                try await scene.lines("SELECT concat_ws(' ', line, id, environment, why, asked) FROM appstore.import_misses ORDER BY line")
                    == ["5 20000 Sandbox unknown_to_apple 2", "6 10000 Production unknown_to_apple 2"]
            )
        }
    }

    @Test func `a command's environment is the only one that is asked`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id\n10\n", environment: "Sandbox")
            try await scene.drain()
            #expect(scene.apple.requests.map(\.environment) == ["Sandbox"])
        }
    }

    @Test func `a transaction history is read page by page, and a later import asks for what is new`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10", "11"], transactions: 4)] }
            try await scene.load("transaction_id\n11\n", depth: "history")
            try await scene.drain()
            #expect(scene.apple.requests.map(\.revision) == [nil, "r-3", "r-6"])
            #expect(try await scene.events().count == 8)
            #expect(try await scene.events().allSatisfy { $0.hasPrefix("imported_transaction ") && $0.hasSuffix(" 1") })
            scene.apple.change { $0.customers[0].contracts[1].transactions.append("1199") }
            let again = try await scene.load("transaction_id\n11\n", depth: "history", again: true)
            #expect(again.importID == 2)
            try await scene.drain()
            #expect(scene.apple.requests.map(\.revision) == [nil, "r-3", "r-6", "r-8"])
            #expect(try await scene.events().count == 9)
            // A revision of the file is asked from first.
            try await scene.load("transaction_id,revision\n11,r-7\n", depth: "history")
            try await scene.drain()
            #expect(scene.apple.requests.last?.revision == "r-7")
        }
    }

    @Test func `a walk that ends between two pages goes on with the next one`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"], transactions: 10)] }
            try await scene.load("transaction_id\n10\n", depth: "history")
            let chunk = try #require(try await scene.lease().first)
            // The second page is asked for, and its answer is lost.
            scene.apple.change { $0.fault = { $0.revision == "r-3" ? .failure(.timedOut) : nil } }
            _ = try await scene.walk(chunk)
            #expect(try await scene.events().count == 3)
            scene.apple.change { $0.fault = nil }
            try await scene.makeDue()
            try await scene.drain()
            #expect(scene.apple.requests.map(\.revision) == [nil, "r-3", "r-3", "r-6", "r-9"])
            #expect(try await scene.events().count == 10)
            #expect(try await scene.imports() == ["1 done 1 0 0 0 0 0"])
        }
    }

    @Test func `a worker whose lease another one has taken over changes nothing`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"])] }
            try await scene.load("transaction_id\n10\n20\n")
            let old = try #require(try await scene.lease().first)
            try await scene.makeDue()
            let new = try #require(try await scene.lease().first)
            #expect(new.epoch == old.epoch + 1 && new.items == old.items)
            _ = try await scene.walk(old)
            #expect(scene.apple.asked == ["10"])
            #expect(try await scene.events() == [])
            _ = try await scene.walk(new)
            _ = try await scene.walk(old)
            #expect(try await scene.events() == ["imported_status 10 1", "imported_status 20 1"])
            #expect(try await scene.imports() == ["1 done 2 0 0 0 0 0"])
        }
    }

    @Test func `an import that is paused or stopped ends after the request in flight, and goes on where it was`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in state.customers = (1...9).map { .init(["\($0)0"]) } }
            try await scene.load("transaction_id\n" + (1...9).map { "\($0)0\n" }.joined())
            for (state, asked) in [("paused", 1), ("stopped", 2)] {
                let chunk = try #require(try await scene.lease().first)
                try await scene.change(to: state)
                _ = try await scene.walk(chunk)
                #expect(scene.apple.asked.count == asked)
                try await scene.drain()
                #expect(scene.apple.asked.count == asked)
                #expect(try await scene.imports() == ["1 \(state) \(asked) 0 0 0 0 \(9 - asked)"])
                let misses = try await scene.lines("SELECT why FROM appstore.import_misses")
                #expect(misses == (state == "stopped" ? Array(repeating: "not_asked", count: 7) : []))
                try await scene.change(to: "running")
            }
            try await scene.drain()
            #expect(scene.apple.asked.sorted() == (1...9).map { "\($0)0" })
            #expect(try await scene.imports() == ["1 done 9 0 0 0 0 0"])
            await #expect(throws: PostgresError.self) { try await scene.change(to: "paused") }
        }
    }

    @Test(arguments: ["paused", "stopped"])
    func `an import whose last answer comes after a pause or stop is done when it runs again`(state: String) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.load("transaction_id\n10\n")
            let chunk = try #require(try await scene.lease().first)
            try await scene.change(to: state)
            _ = try await scene.walk(chunk)
            #expect(try await scene.imports() == ["1 \(state) 1 0 0 0 0 0"])
            try await scene.change(to: "running")
            #expect(try await scene.imports() == ["1 done 1 0 0 0 0 0"])
        }
    }

    @Test func `statuses do not wait behind a history`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id\n" + (1000..<2000).map { "\($0)\n" }.joined(), depth: "history")
            try await scene.load("transaction_id\n10\n")
            let depths = try await scene.lease(2).map { "\($0.importID) \($0.lane.depth)" }
            #expect(Set(depths) == ["1 history", "2 statuses"])
        }
    }

    /// Each kill loses what is in flight: at most a request for each slot.
    @Test(arguments: ["statuses", "history"])
    func `an import that is killed again and again asks no id twice but those in flight`(depth: String) async throws {
        let seed = UInt64.random(in: 0...999)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        try await ImportScene.with { scene in
            let customers = (100..<160).map { number in
                MadeUpCustomers.Customer(
                    number % 3 == 0 ? ["\(number)1", "\(number)2"] : ["\(number)1"],
                    transactions: number % 7 + 1,
                    environment: number % 5 == 0 ? "Sandbox" : "Production"
                )
            }
            scene.apple.change { $0.customers = customers }
            let ids = customers.flatMap { $0.contracts.map(\.id) }.shuffled(using: &generator)
            try await scene.load("transaction_id\n" + ids.map { $0 + "\n" }.joined(), depth: depth)
            var repeated = 0
            var rounds = 0
            while try await scene.imports().first?.contains("done") != true {
                rounds += 1
                try #require(rounds < 200)
                let before = scene.apple.requests
                let settled = Set(try await scene.lines("SELECT id FROM appstore.import_items WHERE state NOT IN ('open', 'again')"))
                let goal = before.count + Int.random(in: 1...12, using: &generator)
                let task = Task { try await scene.service(slots: 3).run() }
                // It ends when it has asked enough, or when nothing is left.
                try await eventually("requests", within: .seconds(30)) {
                    let imports = try await scene.imports()
                    return scene.apple.requests.count >= goal || imports.first?.contains("done") == true
                }
                task.cancel()
                _ = try await task.value
                let new = scene.apple.requests.dropFirst(before.count)
                #expect(new.allSatisfy { !settled.contains($0.id) }, "an id is asked that was settled before the kill")
                repeated += new.count { before.contains($0) }
                try await scene.makeDue()
            }
            #expect(repeated <= rounds * 6, "\(repeated) requests were repeated in \(rounds) rounds")
            #expect(try await scene.events().allSatisfy { $0.hasSuffix(" 1") || depth == "history" })
            let wanted = Set(customers.flatMap { $0.contracts.flatMap { depth == "history" ? $0.transactions : [$0.id] } })
            let events = try await scene.events().map { $0.split(separator: " ")[1] }
            #expect(Set(events.map(String.init)) == wanted)
        }
    }
}

extension ImportScene {
    func change(to state: String) async throws {
        try await database.withConnection(user: "appstore_operator") {
            _ = try await $0.query("SELECT appstore.change_import(1, \(state))")
        }
    }
}
