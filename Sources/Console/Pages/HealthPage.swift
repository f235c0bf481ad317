import Synchronization

/// What a check found.
package struct HealthFinding: Sendable {
    package enum Status: Sendable { case good, warning, failure }

    package let group: String
    package let status: Status
    package let subject: String
    package let found: String
    /// What to do; nil where nothing has to be done.
    package let remedy: String?

    package init(group: String, status: Status, subject: String, found: String, remedy: String?) {
        (self.group, self.status, self.subject, self.found, self.remedy) = (group, status, subject, found, remedy)
    }
}

/// `GET /health`: the checks of `appstore-inbox doctor` that can be made through the database.
struct HealthPage: ConsolePage {
    let path = "/health"
    let area = ConsoleArea.health
    let reports: HealthReports

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        .later { page(await reports.findings()) }
    }

    private func page(_ findings: [HealthFinding]) -> Page {
        let groups = findings.map(\.group).reduce(into: [String]()) { groups, group in if groups.last != group { groups.append(group) } }
        return Page(
            title: "Health",
            elsewhere: Elsewhere(commands: ["appstore-inbox doctor --config /etc/appstore-inbox/appstore-inbox.env"])
        ) {
            p {
                "Settings, listeners, certificates and Apple's answers are checked on the machine of the daemons: run the command below there."
            }
            groups.map { group in
                section {
                    h2 { group.prefix(1).uppercased() + group.dropFirst() }
                    table(findings.filter { $0.group == group }, group)
                }
            }
        }
    }

    private func table(_ findings: [HealthFinding], _ group: String) -> Markup {
        dataTable(
            caption: "Checks: \(group)",
            columns: [Column("State"), Column("Subject"), Column("Found"), Column("What to do")],
            rows: findings.map { finding in
                [badge(finding.status), .text(finding.subject), .text(finding.found), .text(finding.remedy ?? "–")]
            },
            empty: "No checks."
        )
    }

    private func badge(_ status: HealthFinding.Status) -> Markup {
        switch status {
        case .good: Console.badge(.good, "ok")
        case .warning: Console.badge(.warning, "warning")
        case .failure: Console.badge(.bad, "failure")
        }
    }
}

/// Makes one report at a time. A request that comes meanwhile gets the findings of that report, so that many take no more connections than one.
final class HealthReports: Sendable {
    private let report: HealthReport
    /// The requests that wait for the report in flight; nil while there is none.
    private let waiters = Mutex<[CheckedContinuation<[HealthFinding]?, Never>]?>(nil)

    init(_ report: @escaping HealthReport) {
        self.report = report
    }

    /// How many requests wait for the report in flight.
    var waiterCount: Int { waiters.withLock { $0?.count ?? 0 } }

    func findings() async -> [HealthFinding] {
        let shared: [HealthFinding]? = await withCheckedContinuation { continuation in
            let isFirst = waiters.withLock { waiters in
                defer { waiters = waiters.map { $0 + [continuation] } ?? [] }
                return waiters == nil
            }
            if isFirst { continuation.resume(returning: nil) }
        }
        if let shared { return shared }
        let findings = await report()
        let waiting = waiters.withLock { waiters in
            defer { waiters = nil }
            return waiters ?? []
        }
        for continuation in waiting { continuation.resume(returning: findings) }
        return findings
    }
}
