import Postgres
import TemporaryPostgres

/// Measures how long the pages of the console take in a large installation.
package struct ConsoleBenchmark: Sendable {
    package var outcomes = 10_000_000
    /// Requests for each page.
    package var requests = 100

    package init() {}

    private static let database = "console"
    /// The secret of the session: 32 bytes of zero.
    private static let secret = String(repeating: "A", count: 43)
    /// Requests for a page that runs a report over all charges.
    private static let reportRequests = 5

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            environment.progress("making \(outcomes) outcomes")
            try await cluster.makeDatabase(Self.database, program: environment.program)
            let records = ConsoleRecords(outcomes: outcomes)
            let pages = try await cluster.withConnection(to: Self.database) { connection in
                try await records.fill(on: connection, progress: environment.progress)
                try await connection.execute(
                    """
                    INSERT INTO appstore.console_sessions (session_hash, person, role, shows_bodies, began_at, expires_at)
                    VALUES (sha256(convert_to(\(Self.secret), 'UTF8')), 'postgres', 'operator', true, now(), now() + interval '1 day')
                    """
                )
                return try await Self.pages(records, on: connection)
            }
            try await cluster.checkpoint()
            return try await measure(pages, cluster, environment, machine)
        }
    }

    private func measure(
        _ pages: [ConsoleBenchmarkPage],
        _ cluster: BenchmarkCluster,
        _ environment: BenchmarkEnvironment,
        _ machine: Machine
    ) async throws -> BenchmarkReport {
        let port = try FreePort.find()
        let settings = [
            "DATABASE_URL": cluster.url(Self.database, user: "appstore_console"), "CONSOLE_LISTEN": "127.0.0.1:\(port)",
            "LOG_LEVEL": "info",
            "LOG_FORMAT": "text",
        ]
        var report = BenchmarkReport(
            name: "console",
            summary: "Pages of the console beside \(outcomes) outcomes of a hundred days with their ledger, over one connection.",
            comparisons: [],
            machine: machine
        )
        return try await Daemon.with("console", program: environment.program, settings: settings, readyMark: "the console is listening") {
            _ in
            for page in pages {
                try Task.checkCancellation()
                let times: Samples
                do {
                    let request = PageRequests(port: port, path: page.path, cookie: "appstore-console=\(Self.secret)")
                    times = Samples(try await request.run(page.isOfAllCharges ? Self.reportRequests : requests))
                } catch let error as BenchmarkError where page.isOfAllCharges {
                    report.warnings.append("\(page.name): \(error)")
                    continue
                }
                let slow = times.percentile(95)
                environment.progress("\(page.name): p50 \(times.median.figureText) ms, p95 \(slow.figureText) ms")
                report.comparisons.append(
                    Comparison("\(page.name), p95", unit: "ms", rounds: [slow], aim: page.isOfAllCharges ? nil : .below(100))
                )
                report.details.append(.init("\(page.name), p50", times.median, unit: "ms"))
            }
            return report
        }
    }
}

/// A page and its address.
struct ConsoleBenchmarkPage: Sendable {
    let name: String
    let path: String
    /// A report is computed from all charges.
    var isOfAllCharges = false

    init(_ name: String, _ path: String, isOfAllCharges: Bool = false) {
        (self.name, self.path, self.isOfAllCharges) = (name, path, isOfAllCharges)
    }
}

extension ConsoleBenchmark {
    /// Each page of the console, and searches and later pages where it has them.
    fileprivate static func pages(_ records: ConsoleRecords, on connection: Connection) async throws -> [ConsoleBenchmarkPage] {
        let (middle, last) = (ConsoleRecords.first + Int64(records.outcomes / 2), records.last)
        let row = try await connection.query(
            """
            SELECT (extract(epoch FROM o.settled_at) * 1000000)::bigint || '.' || o.event_id AS place, o.original_transaction_id AS contract,
                   o.notification_uuid::text AS uuid, to_char(o.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
                   'user%20' || (o.event_id / 24 * 2) AS user,
                   (SELECT f.event_id FROM appstore.failed AS f ORDER BY f.settled_at DESC LIMIT 1) AS failed,
                   (SELECT m.original_transaction_id FROM appstore.contracts AS m WHERE m.user_id = 'the loyal') AS loyal
            FROM appstore.outcomes AS o WHERE o.event_id = \(middle)
            """
        )[0]
        let (place, contract, uuid): (String, String, String) = (
            try row.decode("place"), try row.decode("contract"), try row.decode("uuid")
        )
        let (day, user, loyal): (String, String, String) = (try row.decode("day"), try row.decode("user"), try row.decode("loyal"))
        let failed: Int64 = try row.decode("failed")
        let searches = [
            "type:DID_RENEW", "type:PRICE_INCREASE", "outcome:applied", "outcome:failed", "outcome:rejected", "outcome:waiting",
            "reason:merge_failed",
            "app:com.example.bench", "app:com.example.rare", "env:any", "env:Sandbox", "since:2d", "before:\(day)", "contract:\(contract)",
            "contract:\(loyal)", "uuid:\(uuid)", "source:history_v2", "type:REFUND outcome:failed since:30d",
        ]
        let events = searches.map {
            ConsoleBenchmarkPage("Events, \($0.hasPrefix("uuid") ? "uuid:" : $0)", "/events?q=\($0.replacing(" ", with: "+"))")
        }
        let reports = ["mrr", "subscriptions", "movement", "churn", "trials", "refunds", "renewal_status", "retention"].map {
            ConsoleBenchmarkPage("Reports, \($0)", "/reports?report=\($0)", isOfAllCharges: true)
        }
        return [ConsoleBenchmarkPage("Overview", "/"), ConsoleBenchmarkPage("Events", "/events")] + events
            + [
                ConsoleBenchmarkPage("Events, half way down", "/events?after=\(place)"),
                ConsoleBenchmarkPage("Events, failed ones half way down", "/events?q=outcome:failed&after=\(place)"),
                ConsoleBenchmarkPage("Event", "/events/\(middle)"), ConsoleBenchmarkPage("Event that failed", "/events/\(failed)"),
                ConsoleBenchmarkPage("Event with 200 readers of its body", "/events/\(last)"),
                ConsoleBenchmarkPage("Customers", "/customers"),
                ConsoleBenchmarkPage("Customer, user", "/customers/users/\(user)"),
                ConsoleBenchmarkPage("Customer, contract", "/customers/contracts/\(contract)"),
                ConsoleBenchmarkPage("Customer, user with 520 charges", "/customers/users/the%20loyal"),
                ConsoleBenchmarkPage("Customer, contract with 520 charges", "/customers/contracts/\(loyal)"),
                ConsoleBenchmarkPage("Customer, its first entries", "/customers/contracts/\(loyal)?before=41"),
                ConsoleBenchmarkPage("Customer, user with 100 contracts", "/customers/users/the%20player"),
                ConsoleBenchmarkPage("Attention", "/attention"), ConsoleBenchmarkPage("Outgoing", "/outgoing"),
                ConsoleBenchmarkPage("Outgoing, endpoint", "/outgoing/e2"),
                ConsoleBenchmarkPage("Outgoing, endpoint that fails", "/outgoing/e1"),
                ConsoleBenchmarkPage("Outgoing, its first attempts", "/outgoing/e1?before=1000"),
                ConsoleBenchmarkPage("Repairs", "/repairs"),
                ConsoleBenchmarkPage("Audit", "/audit"), ConsoleBenchmarkPage("Audit, half way down", "/audit?before=50000"),
                ConsoleBenchmarkPage("Audit, a person", "/audit?actor=operator+1"),
                ConsoleBenchmarkPage("Audit, a person without entries", "/audit?actor=x"),
                ConsoleBenchmarkPage("Audit, an action", "/audit?action=forget"), ConsoleBenchmarkPage("Health", "/health"),
                ConsoleBenchmarkPage("Sessions", "/sessions"),
            ] + reports
    }
}
