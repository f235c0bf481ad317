import AppStore
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
package import StoreSimulatorServer

/// The import of a shop's customers, in an installation of its own, by workers that may be killed.
package struct ImportRun: Sendable {
    /// A request to Apple.
    package struct Request: Hashable, Sendable {
        let endpoint: ServerAPIEndpoint?
        let environment: AppStoreEnvironment
        let arguments: [String]
        let query: [ServerAPIRequest.Parameter]

        init(_ call: ServerAPICall) {
            (endpoint, environment, arguments, query) = (call.endpoint, call.environment, call.arguments, call.query)
        }
    }

    /// The ledger afterwards.
    package private(set) var ledger: [String] = []
    /// The requests before each kill, and those after the last one.
    package private(set) var requests: [[Request]] = []
    /// What is not as it must be.
    package private(set) var problems: [String] = []
    /// How often a worker was killed.
    package var kills: Int { requests.count - 1 }

    /// Imports all customers.
    ///
    /// - Parameters:
    ///   - sabotage: SQL that runs first.
    ///   - kills: how often the worker is killed at most.
    ///   - progress: after how many requests it is killed next.
    package init(
        of scene: ImportedShop,
        _ settings: [String: String],
        _ store: StoreServerAPI,
        sabotage: String? = nil,
        kills: Int = 0,
        after progress: () -> Int = { 0 }
    ) async throws {
        try await Installation.lend { installation in
            if let sabotage {
                let connection = try await Connection.open(ConnectionOptions(installation.database.url()), logger: .silent)
                try await connection.runScript(sabotage)
                await connection.close()
            }
            try await make(scene, installation)
            var begun = Self.calls(store).count
            var worker = try await installation.startWorker(for: scene.shop, settings)
            var target = progress()
            while try await !Self.isOver(installation) {
                if requests.count < kills, Self.calls(store).count >= begun + target {
                    try await worker.kill()
                    // As two minutes later.
                    try await installation.sql.execute("UPDATE appstore.import_chunks SET run_at = clock_timestamp() WHERE is_leased")
                    begun = take(store, from: begun)
                    target = progress()
                    worker = try await installation.startWorker(for: scene.shop, settings)
                }
                try await pauseBriefly()
            }
            try await eventually("all events are settled", within: .seconds(60)) {
                try await installation.sql.value(Bool.self, "SELECT NOT EXISTS (SELECT FROM appstore.inbox_queue)")
            }
            let ending = try await worker.terminate()
            require(ending == .exit(0), "the worker ended with \(ending)")
            require(!worker.log.contains("eyJ"), "a token or a body is in the log")
            _ = take(store, from: begun)
            try await check(scene, installation)
            ledger = try await installation.sql.digest()
        }
    }

    /// For each kill, how many of the requests before it were sent again after it.
    package var repeatedAfterKills: [Int] {
        var latest: [Request: Int] = [:]
        var repeated = Array(repeating: 0, count: kills)
        for (part, requests) in requests.enumerated() {
            for request in requests {
                if let before = latest[request], before < part { repeated[before] += 1 }
                latest[request] = part
            }
        }
        return repeated
    }

    private mutating func make(_ scene: ImportedShop, _ installation: Installation) async throws {
        let file = installation.folder.appending(path: "customers.csv")
        try Data(scene.csv.utf8).write(to: file)
        let settings = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_operator")]
        let command = ["import", "new", file.path, "--app", scene.shop.app.bundleID, "--depth", "history"]
        let made = try await Program.run(command, settings: settings)
        let expected = "import 1: \(scene.customers + 1) ids, 1 repeated lines, 0 lines of other apps, 1 lines not imported"
        require(made.output.hasPrefix(expected), made.output)
        require(made.errors.contains("line 2: not imported: the id is no transaction id"), made.errors)
        // Links count from then on: the same instant for each run.
        try await installation.sql.execute("UPDATE appstore.imports SET made_at = '2026-01-01 00:00Z'")
    }

    /// Whether all that is left are ids that Apple is asked about once more after a day.
    private static func isOver(_ installation: Installation) async throws -> Bool {
        try await installation.sql.value(
            Bool.self,
            """
            SELECT s.state = 'done' OR s.remaining = s.waiting
                AND NOT EXISTS (SELECT FROM appstore.import_chunks WHERE phase <> 'again' OR link_at IS NOT NULL)
            FROM appstore.import_status AS s
            """
        )
    }

    /// The requests so far, but for those of the walk through the history of notifications.
    private static func calls(_ store: StoreServerAPI) -> [ServerAPICall] {
        store.calls.filter { $0.endpoint != .notificationHistory }
    }

    /// Takes the requests since the last kill, of which none may be there twice. Returns how many the store has got in all.
    private mutating func take(_ store: StoreServerAPI, from begun: Int) -> Int {
        let calls = Self.calls(store)
        let part = calls[begun...].map(Request.init)
        require(Set(part).count == part.count, "\(part.count - Set(part).count) requests were sent twice by one worker")
        require(calls[begun...].allSatisfy { $0.flaw == nil }, "a token was refused")
        requests.append(part)
        return calls.count
    }

    private mutating func check(_ scene: ImportedShop, _ installation: Installation) async throws {
        let results = try await installation.sql.values("SELECT DISTINCT source || ' ' || result FROM appstore.outcomes ORDER BY 1")
        let isImported = results.allSatisfy { result in
            result.hasPrefix("imported_transaction ") && !result.hasSuffix("rejected") && !result.hasSuffix("failed")
        }
        require(isImported, "\(results)")
        let status = try await installation.sql.values("SELECT concat_ws(' ', state, waiting, found) FROM appstore.import_status")
        let tokens = try await installation.sql.values(
            "SELECT count(DISTINCT user_id) || ' ' || (SELECT count(*) FROM appstore.import_tokens) FROM appstore.user_tokens"
        )
        require(tokens == ["\(scene.tokens) 0"], "\(tokens)")
        require(status == ["running 1 \(scene.customers)"], "\(status)")
    }

    private mutating func require(_ isRight: Bool, _ problem: String) {
        if !isRight { problems.append(problem) }
    }
}
