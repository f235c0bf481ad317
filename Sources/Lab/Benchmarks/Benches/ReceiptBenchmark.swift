import AppStore
import AppStoreVerification
import Postgres

/// Measures how many app receipts with years of purchases are verified, and merged into the ledger.
package struct ReceiptBenchmark: Sendable {
    /// Purchases in each receipt.
    package var purchases = 187
    /// Receipts, each of another customer.
    package var receipts = 400
    package var rounds = 3
    /// How long the yardsticks, and verification alone, are measured in each round.
    package var seconds = 3

    package init() {}

    private static let template = "posted"
    private static let drained = "merged"

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        machine.openssl = try await OpenSSLSpeed.version()
        let traffic = try ReceiptTraffic()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            environment.progress("signing and storing \(receipts) receipts with \(purchases) purchases each")
            let bodies = try await traffic.bodies(of: 0..<receipts, purchases: purchases)
            try await store(bodies, in: Self.template, of: cluster, program: environment.program)
            try await prepareYardstick(cluster)
            let samples = try (0..<20).map { try traffic.receipt(of: $0, purchases: purchases) }
            let verifier = try traffic.verifier()
            var runs: [DrainRun] = []
            let figures = try await Rounds.run(rounds, of: 4) { index, round in
                switch index {
                case 0: return try Self.verifications(of: samples, by: verifier, seconds: Double(seconds))
                case 1: return try await OpenSSLSpeed.rsaVerificationsPerSecond(seconds: seconds) / Double(Self.signatures)
                case 2:
                    runs.append(try await drain(traffic, cluster: cluster, program: environment.program))
                    environment.progress("round \(round + 1) of \(rounds): \(runs[round].rate.figureText) receipts/s merged")
                    return runs[round].rate
                default: return try await upserts(in: cluster).transactionsPerSecond
                }
            }
            let statements = try await [1, purchases].asyncMap { count in
                try await countStatements(for: count, traffic, cluster: cluster, program: environment.program)
            }
            return report(figures, runs: runs, statements: statements, bytes: bodies.first?.count ?? 0, machine: machine)
        }
    }

    /// RSA signatures of a receipt: its own, and those of its leaf and intermediate.
    private static let signatures = 3

    private static func verifications(of receipts: [String], by verifier: ReceiptVerifier, seconds: Double) throws -> Double {
        let start = SteadyClock.now()
        var count = 0
        while true {
            for receipt in receipts {
                guard case .valid(let verified) = verifier.verify(receipt, receivedAt: Self.receivedAt), !verified.receipt.purchases.isEmpty
                else { throw BenchmarkError(.wrongResult, "a simulated receipt is refused") }
                count += 1
            }
            let elapsed = SteadyClock.now() - start
            if elapsed >= seconds { return Double(count) / elapsed }
        }
    }

    /// Later than the date of any receipt.
    private static let receivedAt = Timestamp(millisecondsSince1970: 4_000_000_000_000)

    /// The hash of the API key that posts the receipts.
    private static let keyHash = [UInt8](repeating: 7, count: 32)

    private func store(_ bodies: [[UInt8]], in database: String, of cluster: BenchmarkCluster, program: String) async throws {
        try await cluster.makeDatabase(database, program: program)
        try await cluster.withConnection(to: database) { connection in
            try await connection.execute(
                "SELECT appstore.make_api_key(\(Self.keyHash), 'benchmark', NULL, '{Production}', ARRAY['receipts:submit'])"
            )
            for body in bodies { try await connection.execute("SELECT FROM appstore.api_submit_receipt(\(Self.keyHash), \(body))") }
            try await connection.execute("VACUUM ANALYZE")
        }
    }

    private func drain(_ traffic: ReceiptTraffic, cluster: BenchmarkCluster, program: String) async throws -> DrainRun {
        try await cluster.dropDatabase(Self.drained)
        try await cluster.copyDatabase(Self.template, as: Self.drained)
        try await cluster.checkpoint()
        let settings = try traffic.workerSettings(database: Self.drained, of: cluster)
        let run = try await DrainRun.measure(events: receipts, in: Self.drained, of: cluster, program: program, settings: settings)
        try await cluster.withConnection(to: Self.drained) { connection in
            let rows = try await connection.query("SELECT count(*) AS charges FROM appstore.transactions")
            let charges = try rows.first?.decode("charges", as: Int64.self) ?? 0
            guard charges == Int64(receipts * purchases) else {
                throw BenchmarkError(.wrongResult, "\(receipts * purchases) purchases were posted, and \(charges) are in the ledger")
            }
        }
        return run
    }

    /// SQL statements that write rows when the worker settles one receipt with so many purchases.
    private func countStatements(
        for purchases: Int,
        _ traffic: ReceiptTraffic,
        cluster: BenchmarkCluster,
        program: String
    ) async throws -> Int {
        let database = "counted_\(purchases)"
        try await store(try await traffic.bodies(of: 0..<1, purchases: purchases), in: database, of: cluster, program: program)
        // Triggers count statements that write; an idle worker's polls do not count.
        try await cluster.withConnection(to: database) { connection in try await connection.runScript(Self.counters) }
        var settings = try traffic.workerSettings(database: database, of: cluster)
        settings["CONCURRENCY"] = "1"
        _ = try await DrainRun.measure(events: 1, in: database, of: cluster, program: program, settings: settings)
        return try await cluster.withConnection(to: database) { connection in
            let rows = try await connection.query("SELECT count(*) AS statements FROM bench_statements")
            return Int(try rows.first?.decode("statements", as: Int64.self) ?? 0)
        }
    }

    /// Records each statement that writes into one of the schema's tables, once for each table.
    private static let counters = """
        CREATE TABLE bench_statements (table_name text, operation text);
        GRANT INSERT ON bench_statements TO PUBLIC;
        CREATE FUNCTION bench_note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO public.bench_statements VALUES (TG_TABLE_NAME, TG_OP);
            RETURN NULL;
        END $$;
        DO $$
        DECLARE
            v_table text;
        BEGIN
            FOREACH v_table IN ARRAY ARRAY['transactions', 'posted_types', 'v1_renewals', 'client_posts', 'token_orders', 'contracts',
                                           'ownership_claims', 'effect_log', 'event_contracts', 'outbox', 'outcomes'] LOOP
                EXECUTE format('CREATE TRIGGER bench_note AFTER INSERT OR UPDATE OR DELETE ON appstore.%I
                                FOR EACH STATEMENT EXECUTE FUNCTION bench_note()', v_table);
            END LOOP;
        END $$;
        """

    private func prepareYardstick(_ cluster: BenchmarkCluster) async throws {
        try await cluster.withConnection(to: "postgres") { connection in
            try await connection.runScript(
                """
                CREATE TABLE bench_purchases (
                    environment text, transaction_id text, original_transaction_id text NOT NULL, product_id text NOT NULL,
                    purchase_date timestamptz NOT NULL, expires_date timestamptz, cancellation_date timestamptz, user_id text,
                    PRIMARY KEY (environment, transaction_id));
                CREATE INDEX ON bench_purchases (original_transaction_id);
                """
            )
        }
    }

    /// The upserts of a hand-written endpoint: one statement for each purchase, in one transaction.
    private func upserts(in cluster: BenchmarkCluster) async throws -> PgBench.Result {
        let upsert = """
            INSERT INTO bench_purchases VALUES ('Production', :customer || '-NUMBER', :customer || '-0', 'pro.weekly', now(), now(), NULL, 'u')
            ON CONFLICT (environment, transaction_id) DO UPDATE SET expires_date = excluded.expires_date,
                cancellation_date = excluded.cancellation_date, user_id = excluded.user_id;
            """.replacing("\n", with: " ")
        let body = (0..<purchases).map { upsert.replacing("NUMBER", with: "\($0)") }.joined(separator: "\n")
        let script = "\\set customer random(1, 1000000000)\nBEGIN;\n\(body)\nCOMMIT;\n"
        let clients = Machine.processorCount + 1
        return try await PgBench(cluster: cluster, database: "postgres", script: script, clients: clients, seconds: seconds).run().result
    }

    private func report(
        _ figures: [[Double]],
        runs: [DrainRun],
        statements: [Int],
        bytes: Int,
        machine: Machine
    ) -> BenchmarkReport {
        var report = BenchmarkReport(
            name: "receipts",
            summary:
                "App receipts with \(purchases) purchases each, \(bytes) bytes as they are posted: verified on one core, and settled by "
                + "one worker process, \(receipts) of as many customers.",
            comparisons: [
                Comparison(
                    "verified",
                    unit: "receipts/s per core",
                    rounds: figures[0],
                    yardstick: Comparison.Yardstick("openssl speed rsa2048 verify/s / \(Self.signatures) signatures", rounds: figures[1])
                ),
                Comparison(
                    "verified and merged",
                    unit: "receipts/s",
                    rounds: figures[2],
                    yardstick: Comparison.Yardstick(
                        "pgbench -M prepared: a transaction with \(purchases) upserts into one narrow table, nothing verified",
                        rounds: figures[3]
                    )
                ),
            ],
            machine: machine
        )
        report.costs = DrainRun.costs(runs, events: receipts, verification: nil)
        report.details = zip([1, purchases], statements).map { count, statements in
            BenchmarkReport.Detail("writing statements for a receipt with \(count) purchases", Double(statements), unit: "statements")
        }
        report.details.append(
            BenchmarkReport.Detail("worker's peak memory", Samples(runs.map { Double($0.peakMemory) / 1e6 }).median, unit: "MB")
        )
        return report
    }
}

extension Array {
    /// Transforms the elements one after the other.
    fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
        var values: [T] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
