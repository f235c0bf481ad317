import Postgres
import TemporaryPostgres
import Testing

@testable import Benchmarks

/// Filling databases before a measurement.
@Suite(.serialized, .timeLimit(.minutes(2))) struct FillerTests {
    private func text(_ cluster: BenchmarkCluster, _ question: Statement) async throws -> String? {
        try await cluster.withConnection(to: "inbox") { connection in
            try await connection.query(question).first?.decode("text", as: String.self)
        }
    }

    @Test func `settled events have charges, orders and effects in the ledger, and no index is missing`() async throws {
        try await BenchmarkCluster.with { cluster in
            try await cluster.makeDatabase("inbox", program: try BuiltProduct.path(of: "appstore-inbox"))
            let tables = SettledLedger.tables.map { String($0.dropFirst("appstore.".count)) }
            let indexes: Statement =
                "SELECT string_agg(indexdef, ' ' ORDER BY indexdef) AS text FROM pg_indexes WHERE tablename = ANY (\(tables))"
            let keys: Statement = """
                SELECT string_agg(conrelid::regclass || conname || pg_get_constraintdef(oid), ' ' ORDER BY conname) AS text
                FROM pg_constraint WHERE contype IN ('p', 'u') AND conrelid = ANY (\(SettledLedger.tables)::text[]::regclass[])
                """
            let before = (try await text(cluster, indexes), try await text(cluster, keys))
            try await Filler.settle(1200, in: "inbox", of: cluster)
            #expect(try await text(cluster, indexes) == before.0)
            #expect(try await text(cluster, keys) == before.1)

            // A dozen events for each of a hundred contracts. Ids begin with 1: the first contract lacks event 0, and the last event begins another.
            let counts = SettledLedger.tables.map { "(SELECT count(*) FROM \($0))" }.joined(separator: ", ")
            let counted = try await text(cluster, "SELECT concat_ws(' ', \(unsafeRaw: counts)) AS text")
            #expect(counted == "1200 1200 600 600 100 50 600")
            let whole = try await text(
                cluster,
                """
                SELECT count(*)::text AS text FROM appstore.transactions AS t
                JOIN appstore.orders AS o ON o.order_no = t.order_no AND o.period_no = t.period_no AND o.transaction_id = t.transaction_id
                JOIN appstore.effects AS f ON f.transaction_id = t.transaction_id AND f.order_no = o.order_no
                JOIN appstore.outcomes AS e ON e.event_id = f.event_id AND e.transaction_id = t.transaction_id
                WHERE e.notification_type = 'DID_RENEW'
                """
            )
            #expect(whole == "600")
        }
    }

    @Test(.enabled(if: PostgresPrograms.isInstalled("pgbench"), "pgbench is not installed"))
    func `the yardstick's queue is enlarged until it does not run empty`() async throws {
        try await BenchmarkCluster.with { cluster in
            var yardstick = QueueYardstick(cluster: cluster, batch: 50, stock: 300)
            try await yardstick.prepare()
            let run = try await yardstick.measure(seconds: 1)
            #expect(run.events > 300)
            #expect(run.events.isMultiple(of: 50), "each claim had a whole batch")
            #expect(run.rate > Double(run.events) / 2)
        }
    }
}
