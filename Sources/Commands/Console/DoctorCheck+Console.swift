import Console
import Postgres

extension DoctorCheck {
    /// The findings of the checks that only ask the database, for the console. Each has a transaction of its own, so that one that fails prevents
    /// no other.
    ///
    /// - Parameter pool: connections of role `appstore_console`.
    static func health(through pool: ConnectionPool, _ reader: SettingsReader) async -> [HealthFinding] {
        var findings: [(Group, Finding)] = []
        for check in all where check.asksDatabaseOnly {
            do {
                findings += try await pool.withTransaction { transaction in
                    _ = try await transaction.pipeline(["SET TRANSACTION READ ONLY", "SET LOCAL ROLE appstore_viewer"])
                    return try await check.run(DoctorContext(transaction, reader))
                }.map { (check.group, $0) }
            } catch {
                findings.append(check.failed(error))
            }
        }
        return findings.map { group, finding in
            HealthFinding(
                group: group.rawValue,
                status: HealthFinding.Status(finding.status),
                subject: finding.subject,
                found: finding.found,
                remedy: finding.remedy
            )
        }
    }
}

extension HealthFinding.Status {
    fileprivate init(_ status: Finding.Status) {
        switch status {
        case .ok: self = .good
        case .warning: self = .warning
        case .failure: self = .failure
        }
    }
}
