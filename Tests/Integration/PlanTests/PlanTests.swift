import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// No frequent statement reads unrelated rows, under any statistics at the time when its plan was made.
struct PlanTests {
    enum Statistics: CaseIterable, Sendable {
        /// The tables were vacuumed and analysed while they were empty.
        case empty
        /// The tables were never analysed, and almost empty when sessions cached their plans.
        case none
        /// The tables were analysed while they were almost empty, and filled since.
        case stale
        /// Statistics show a thousand times the actual number of rows.
        case huge
    }

    /// Tables of settings and progress, whose size does not depend on the number of events.
    static let small: Set<String> = [
        "access_settings", "batch_markers", "call_kinds", "consumption_policies", "endpoints", "feed_consumers", "feed_generations",
        "feed_head", "repairs", "feed_switch", "fence", "history_counts", "history_cursors", "history_windows", "import_chunks",
        "import_rates", "imports", "live_since", "maintenance_state", "products", "reconcile_counts", "reconcile_walks", "redeliveries",
        "retention", "schema_history",
    ]

    @Test(arguments: Statistics.allCases)
    func `reads depend only on the rows that an operation concerns`(statistics: Statistics) async throws {
        let database = try await PlanScene.make()
        if statistics == .empty { try await run("VACUUM ANALYZE", in: database) }
        try await PlanScene.fill(1...100, in: database)
        if statistics == .stale { try await run("ANALYZE", in: database) }
        if statistics == .huge {
            try await PlanScene.fill(101...20_000, in: database)
            try await run("ANALYZE", in: database)
            try await run(
                "UPDATE pg_class SET reltuples = reltuples * 1000 WHERE relnamespace = 'appstore'::regnamespace AND reltuples > 0",
                in: database
            )
        }
        // A session caches a plan after five or six executions.
        var pools: [ConnectionPool] = []
        for planCase in PlanCase.all {
            let pool = try Self.pool(of: planCase, in: database)
            for round in 0..<planCase.warmUps {
                let size = min(planCase.size, 5)
                if let before = planCase.before { try await run(before, in: database) }
                try await Self.act(planCase, pool, 1 + round * size..<1 + (round + 1) * size)
            }
            // Reports the reads so far, which are not part of the measurement.
            _ = try await pool.withConnection { try await $0.query("SELECT FROM pg_stat_force_next_flush()") }
            pools.append(pool)
        }
        if statistics != .huge { try await PlanScene.fill(101...20_000, in: database) }
        // Each case has customers of its own.
        for (index, (planCase, pool)) in zip(PlanCase.all, pools).enumerated() {
            let first = 5_001 + index * 100
            if let before = planCase.before { try await run(before, in: database) }
            let reads = try await database.reads(by: Self.applicationName(planCase)) {
                try await Self.act(planCase, pool, first..<first + min(planCase.size, 100))
                await pool.close()
            }
            expect(reads, fit: planCase)
        }
    }

    private func expect(_ reads: [String: TableReads], fit planCase: PlanCase) {
        for (table, reads) in reads where !Self.small.contains(table) && !planCase.whole.contains(table) {
            #expect(reads.sequentialScans == 0, "\(planCase.name): \(table) is read from end to end")
            let entries = planCase.entries * Int64(planCase.size)
            #expect(reads.entries <= entries, "\(planCase.name): \(reads.entries) entries of \(table)")
            let pages = planCase.pages * Int64(planCase.size)
            #expect(reads.pages <= pages, "\(planCase.name): \(reads.pages) pages of \(table)")
        }
    }

    private static func act(_ planCase: PlanCase, _ pool: ConnectionPool, _ keys: PlanCase.Keys) async throws {
        do {
            try await planCase.act(pool, keys)
        } catch {
            Issue.record(FailedCase(name: planCase.name, error: error))
        }
    }

    private static func applicationName(_ planCase: PlanCase) -> String { "case \(planCase.name)" }

    private static func pool(of planCase: PlanCase, in database: TestDatabase) throws -> ConnectionPool {
        var options = try ConnectionOptions(database.url(user: planCase.role))
        options.applicationName = applicationName(planCase)
        return ConnectionPool(options: options, configuration: .init(maxConnections: 4), logger: .silent)
    }

    private func run(_ script: String, in database: TestDatabase) async throws {
        try await database.withConnection { connection in
            try await connection.runScript(script)
            // A session that ends reports its reads a moment after its client has disconnected.
            _ = try await connection.query("SELECT FROM pg_stat_force_next_flush()")
        }
    }
}

/// A case whose operation failed.
struct FailedCase: Error {
    let name: String
    let error: any Error
}
