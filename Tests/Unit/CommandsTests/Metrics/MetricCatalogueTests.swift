import Foundation
import HTTPServing
import Ingest
import Logging
import Postgres
import PrometheusTesting
import Schema
import ServiceSupport
import Testing

@testable import Commands

@Suite struct MetricCatalogueTests {
    private let all = MetricCatalogue.ingest + MetricCatalogue.worker + MetricCatalogue.console

    @Test func `names have the prefix, a unit or a counted noun, and the suffix of their kind`() {
        for metric in all {
            #expect(metric.name.hasPrefix("appstore_inbox_") || metric.name.hasPrefix("process_"))
            #expect(metric.name.allSatisfy { $0.isLowercase && $0.isASCII || $0 == "_" }, "\(metric.name)")
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(["ms", "milliseconds", "kb", "percent"].allSatisfy { !metric.name.split(separator: "_").contains(Substring($0)) })
            if case .histogram(let bounds) = metric.kind { #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count) }
        }
    }

    @Test func `each help is a sentence`() {
        for metric in all { #expect(metric.help.hasSuffix(".") && metric.help.first?.isLowercase == false, "\(metric.name)") }
    }

    @Test(arguments: [MetricCatalogue.ingest, MetricCatalogue.worker, MetricCatalogue.console])
    func `a process shows each metric once`(metrics: [MetricDescription]) {
        #expect(Set(metrics.map(\.name)).count == metrics.count)
    }

    /// Metrics whose series appear with the first refusal or the first request, since their labels are unknown before.
    private let lazy: Set<String> = [
        "appstore_inbox_http_refused_total", "appstore_inbox_api_answered_total", "appstore_inbox_api_answer_seconds",
        "appstore_inbox_endpoint_attempts_total", "appstore_inbox_endpoint_seconds", "appstore_inbox_server_api_requests_total",
        "appstore_inbox_server_api_key_refused_total", "appstore_inbox_server_api_blocked_seconds",
        "appstore_inbox_server_api_budget_used_ratio", "appstore_inbox_history_errors_total", "appstore_inbox_history_covered_age_seconds",
        "appstore_inbox_history_failing_seconds", "appstore_inbox_history_records_total", "appstore_inbox_import_eta_seconds",
    ]

    @Test func `the receiver counts exactly the described metrics`() throws {
        let registry = MetricRegistry(MetricCatalogue.ingest)
        MetricCatalogue.exposeProcess(in: registry)
        let urls = ["database-url": "host=/nonexistent", "api-database-url": "host=/nonexistent", "api-listen": "127.0.0.1:0"]
        let settings = try IngestSettings(SettingsReader(flags: urls, environment: [:]))
        let pool = ConnectionPool(options: try ConnectionOptions("host=/nonexistent"), logger: .quiet)
        let committer = GroupCommitter(pool: pool, logger: .quiet, metrics: registry)
        _ = try IngestServer(configuration: IngestServer.Configuration(), committer: committer, logger: .quiet, registry: registry)
        registry.observe(pool, as: "ingest")
        let status = DaemonStatus(ServiceNotifier(environment: [:], logger: .quiet))
        _ = try IngestCommand.api(
            try #require(settings.api),
            settings,
            status: status,
            registry: registry,
            refusalLog: RefusalLog(logger: .quiet),
            logger: .quiet
        ) { _ in }
        #expect(registry.undescribed == [])
        let metrics = try ExposedMetrics(registry.render())
        #expect(metrics.value("appstore_inbox_ingest_reserved_bytes") == 0)
        #expect(metrics.silent.subtracting(lazy) == [])
        #expect(metrics.pools == ["ingest", "api"])
    }

    @Test func `a worker counts exactly the described metrics`() throws {
        let registry = MetricRegistry(MetricCatalogue.worker)
        MetricCatalogue.exposeProcess(in: registry)
        let flags = ["database-url": "host=/nonexistent", "apps": "com.example.shop", "worker-admin-listen": "127.0.0.1:0"]
        let settings = try WorkerSettings(SettingsReader(flags: flags, environment: [:]))
        let pool = ConnectionPool(options: try ConnectionOptions("host=/nonexistent"), logger: .quiet)
        registry.observe(pool, as: "worker")
        let parts = ReloadableWorker(settings, registry: registry)
        let services = WorkerServices(settings, parts, pool: pool, registry: registry, logger: .quiet)
        let notifier = ServiceNotifier(environment: [:], logger: .quiet)
        let (all, admin) = services.all(SchemaGate(.worker, logger: .quiet), notifier) {}
        #expect(admin.count == 1)
        #expect(all.contains { ($0 as? ConnectionPool).map { $0 !== pool } ?? false }, "the pool of crash markers is run")
        #expect(registry.undescribed == [])
        let metrics = try ExposedMetrics(registry.render())
        #expect(metrics.value("appstore_inbox_statistics_up") == 0)
        // Statistics of the database that were never read.
        let collected =
            MetricCatalogue.inbox + MetricCatalogue.storage + MetricCatalogue.endpoints + MetricCatalogue.revocation
            + MetricCatalogue.reconcile + MetricCatalogue.unknownValues + MetricCatalogue.externalPurchaseTokens
        let unread = Set(collected.map(\.name)).subtracting(["appstore_inbox_statistics_up"])
            .subtracting(lazy)
            .union(["appstore_inbox_outbox_open_calls", "appstore_inbox_outbox_oldest_call_timestamp_seconds"])
            .union(["appstore_inbox_import_remaining"])
            .union(["open", "due_seconds", "missed_total"].map { "appstore_inbox_consumption_" + $0 })
        #expect(metrics.silent.subtracting(lazy) == unread)
        #expect(metrics.value("appstore_inbox_maintenance_rows_total", ["task": "prepare_partitions"]) == 0)
        let late = ["kind": "verify_receipt", "result": "late"]
        #expect(metrics.value("appstore_inbox_outbox_attempts_total", late) == 0)
        #expect(metrics.pools == ["worker", "markers"])
    }

    private func readme() throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../../../..").standardized
        return try String(contentsOf: root.appending(path: "deploy/README.md"), encoding: .utf8)
    }

    @Test func `the README of deploy explains every metric`() throws {
        let readme = try readme()
        #expect(all.map(\.name).filter { !readme.contains("`\($0)`") } == [])
    }

    @Test func `the README of deploy says how many connections each daemon may open`() throws {
        let ingest = GroupCommitter.Configuration().maximumBatchesInFlight + 1
        // One is for crash markers.
        let worker = WorkerServices.connections(forBatches: 0) + 1
        let row =
            "| database connections | \(ingest), and \(IngestCommand.apiConnections) more for the API "
            + "| `APPSTORE_INBOX_CONCURRENCY` + \(worker) | up to \(ConsoleServe.connections) |"
        #expect(try readme().contains(row))
    }
}

extension ExposedMetrics {
    /// Metrics without a series.
    fileprivate var silent: Set<String> { Set(families.filter { $1.samples.isEmpty }.keys) }
    /// The pools whose connections are counted.
    fileprivate var pools: Set<String> {
        let names = ["opened_total", "lost_total"].map { name in
            Set((families["appstore_inbox_database_connections_\(name)"]?.samples ?? []).compactMap { $0.labels["pool"] })
        }
        return names[0] == names[1] ? names[0] : []
    }
}

extension Logger {
    fileprivate static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
