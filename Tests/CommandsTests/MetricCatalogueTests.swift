import Foundation
import Inbox
import Ingest
import Logging
import Metrics
import Postgres
import Prometheus
import PrometheusTesting
import ServiceLifecycle
import ShopAPI
import Testing

@testable import Commands

@Suite struct MetricCatalogueTests {
    private let all = MetricCatalogue.ingest + MetricCatalogue.worker

    @Test func `names have the prefix, a unit or what is counted, and the ending of their kind`() {
        for metric in all {
            #expect(metric.name.hasPrefix("appstore_inbox_"))
            #expect(metric.name.allSatisfy { $0.isLowercase && $0.isASCII || $0 == "_" }, "\(metric.name)")
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(["ms", "milliseconds", "kb", "percent"].allSatisfy { !metric.name.split(separator: "_").contains(Substring($0)) })
            if case .histogram(let bounds) = metric.kind { #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count) }
        }
    }

    @Test func `each help is a sentence`() {
        for metric in all { #expect(metric.help.hasSuffix(".") && metric.help.first?.isLowercase == false, "\(metric.name)") }
    }

    @Test(arguments: [MetricCatalogue.ingest, MetricCatalogue.worker])
    func `a process shows each metric once`(metrics: [MetricDescription]) {
        #expect(Set(metrics.map(\.name)).count == metrics.count)
    }

    @Test func `everything that the receiver counts is described`() throws {
        let registry = MetricRegistry(MetricCatalogue.ingest)
        let pool = ConnectionPool(options: try ConnectionOptions("host=/nonexistent"), logger: .quiet)
        let intake = Intake(pool: pool, logger: .quiet, metrics: registry)
        _ = try IngestServer(configuration: IngestServer.Configuration(), intake: intake, logger: .quiet, registry: registry)
        registry.observe(pool, as: "ingest")
        #expect(registry.undescribed == [])
        #expect(try ExposedMetrics(registry.render()).value("appstore_inbox_ingest_reserved_bytes") == 0)
    }

    @Test func `everything that a worker counts is described`() throws {
        let registry = MetricRegistry(MetricCatalogue.worker)
        let pool = ConnectionPool(options: try ConnectionOptions("host=/nonexistent"), logger: .quiet)
        _ = QueueMetrics(types: ["TEST"], factory: registry)
        _ = MaintenanceService(pool: pool, logger: .quiet, metrics: registry)
        let collector = StatisticsCollector(pool: pool, logger: .quiet)
        MetricCatalogue.expose(collector, in: registry)
        registry.observe(pool, as: "worker")
        #expect(registry.undescribed == [])
        let metrics = try ExposedMetrics(registry.render())
        #expect(metrics.value("appstore_inbox_statistics_up") == 0)
        #expect(metrics.families["appstore_inbox_ready_events"]?.samples.isEmpty == true, "a number of the database that nobody has read")
        #expect(metrics.value("appstore_inbox_maintenance_rows_total", ["task": "repair"]) == 0)
    }

    @Test func `the README explains every metric`() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(all.map(\.name).filter { !readme.contains("`\($0)`") } == [])
    }
}

extension Logger {
    fileprivate static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
