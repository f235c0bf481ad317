import Foundation
import PrometheusTesting
import ServiceSupport
import Testing

@testable import Commands

/// The alert rules and the dashboard in `deploy`.
@Suite struct MonitoringFilesTests {
    private static let deploy = URL(filePath: #filePath).appending(path: "../../../../../deploy").standardized

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: deploy.appending(path: path), encoding: .utf8)
    }

    /// An alert of the rules file.
    private struct Alert: Hashable {
        var name: String
        /// How long its condition must hold; empty for an instant.
        var duration = ""
    }

    private static func alerts() throws -> [Alert] {
        try text("prometheus/appstore-inbox.rules.yml").split(separator: "\n").reduce(into: []) { alerts, line in
            let parts = line.split(separator: ": ", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2 else { return }
            if parts[0] == "- alert" { alerts.append(Alert(name: parts[1])) }
            if parts[0] == "for", !alerts.isEmpty { alerts[alerts.count - 1].duration = parts[1] }
        }
    }

    /// The metrics of both daemons with the suffixes of a histogram's samples.
    private static let samples = Set(
        (MetricCatalogue.ingest + MetricCatalogue.worker).flatMap { metric in
            if case .histogram = metric.kind { ["_bucket", "_sum", "_count"].map { metric.name + $0 } } else { [metric.name] }
        }
    )

    @Test(arguments: ["prometheus/appstore-inbox.rules.yml", "prometheus/appstore-inbox.tests.yml", "grafana/appstore-inbox.json"])
    func `each metric in a file is one of the daemons'`(path: String) throws {
        let names = try Self.text(path).matches(of: /(appstore_inbox|process)_[a-z_]+/).map { String($0.output.0) }
        #expect(names.count > 20)
        #expect(Set(names).subtracting(Self.samples) == [])
    }

    @Test func `the README of deploy explains each alert with its duration, and no other`() throws {
        let rows = try Self.text("README.md").split(separator: "\n").filter { $0.hasPrefix("| `AppstoreInbox") }
        let explained = rows.map { row in
            let cells = row.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
            return Alert(name: cells[1].replacing("`", with: ""), duration: cells[2])
        }
        let alerts = try Self.alerts()
        #expect(alerts.count > 15)
        #expect(Set(explained) == Set(alerts) && explained.count == alerts.count)
    }

    @Test func `each alert has a test of its own`() throws {
        let tests = try Self.text("prometheus/appstore-inbox.tests.yml")
        for alert in try Self.alerts() {
            let fires = try Regex("alertname: \(alert.name)\n +exp_alerts:")
            #expect(tests.firstMatch(of: fires) != nil, "\(alert.name)")
        }
    }

    @Test func `each panel of the dashboard has a title, a place and queries`() throws {
        let file = try JSONDecoder().decode(Dashboard.self, from: Data(Self.text("grafana/appstore-inbox.json").utf8))
        #expect(Set(file.panels.map(\.id)).count == file.panels.count && file.panels.count > 20)
        for panel in file.panels {
            #expect(!panel.title.isEmpty && panel.gridPos.x + panel.gridPos.w <= 24, "\(panel.title)")
            #expect(panel.type == "row" || panel.targets?.isEmpty == false, "\(panel.title)")
        }
    }

    @Test(.enabled(if: Promtool.isInstalled, "promtool (Debian's package prometheus) is not installed"))
    func `promtool accepts the rules, and each alert fires when it should`() async throws {
        let folder = Self.deploy.appending(path: "prometheus")
        let check = try await Promtool.run(["check", "rules", "appstore-inbox.rules.yml"], in: folder)
        #expect(check.contains("SUCCESS"), "\(check)")
        let test = try await Promtool.run(["test", "rules", "appstore-inbox.tests.yml"], in: folder)
        #expect(test.contains("SUCCESS") && !test.contains("FAILED"), "\(test)")
    }

    @Test(.enabled(if: Promtool.isInstalled, "promtool (Debian's package prometheus) is not installed"))
    func `promtool accepts each query of the dashboard`() async throws {
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(Self.text("grafana/appstore-inbox.json").utf8))
        let queries = dashboard.panels.flatMap { $0.targets ?? [] }.map { $0.expr.replacing("$__rate_interval", with: "5m") }
        let rules = queries.enumerated().map { "      - {record: 'query:\($0)', expr: '\($1)'}" }.joined(separator: "\n")
        let folder = try TemporaryFolder()
        let file = try folder.write("queries.yml", "groups:\n  - name: dashboard\n    rules:\n\(rules)\n")
        let check = try await Promtool.run(["check", "rules", file])
        #expect(check.contains("SUCCESS: \(queries.count) rules found"), "\(check)")
    }

    private struct Dashboard: Decodable {
        struct Panel: Decodable {
            struct Place: Decodable { let x: Int, w: Int }
            struct Target: Decodable { let expr: String }
            let id: Int
            let title: String
            let type: String
            let gridPos: Place
            let targets: [Target]?
        }

        let panels: [Panel]
    }
}
