import AppStore
import Console
import Postgres
import StrictJSON

/// A check of `doctor`.
struct DoctorCheck: Sendable {
    enum Group: String, CaseIterable, Sendable {
        case settings, database, roles, listeners, inbox, webhooks, apple, disk
    }

    private let group: Group
    /// The subject of the finding when the check cannot be made.
    private let subject: String
    /// Whether the check needs nothing but statements.
    private var asksDatabaseOnly = false
    private let run: @Sendable (DoctorContext) async throws -> [Finding]

    private static let all = [
        DoctorCheck(group: .settings, subject: "settings", run: settings),
        DoctorCheck(group: .settings, subject: "shared secrets", run: sharedSecrets),
        DoctorCheck(group: .settings, subject: "certificates", run: certificates),
        DoctorCheck(group: .database, subject: "server", asksDatabaseOnly: true, run: server),
        DoctorCheck(group: .database, subject: "schema", run: schema),
        DoctorCheck(group: .database, subject: "limits", asksDatabaseOnly: true, run: limits),
        DoctorCheck(group: .roles, subject: "roles", asksDatabaseOnly: true, run: roles),
        DoctorCheck(group: .listeners, subject: "listeners", run: listeners),
        DoctorCheck(group: .listeners, subject: "public URL", run: publicURL),
        DoctorCheck(group: .inbox, subject: "inbox", asksDatabaseOnly: true, run: inbox),
        DoctorCheck(group: .inbox, subject: "unreadable members", asksDatabaseOnly: true, run: oddMembers),
        DoctorCheck(group: .inbox, subject: "unknown values", asksDatabaseOnly: true, run: unknownValues),
        DoctorCheck(group: .inbox, subject: "external purchase tokens", asksDatabaseOnly: true, run: externalPurchaseTokens),
        DoctorCheck(group: .inbox, subject: "ocsp", asksDatabaseOnly: true, run: revocation),
        DoctorCheck(group: .webhooks, subject: "endpoints", asksDatabaseOnly: true, run: endpoints),
        DoctorCheck(group: .apple, subject: "App Store Server API", run: serverAPI),
        DoctorCheck(group: .apple, subject: "history", asksDatabaseOnly: true, run: coverage),
        DoctorCheck(group: .disk, subject: "disk", asksDatabaseOnly: true, run: disk),
    ]

    /// Seconds since 1970.
    static func now() -> Double { Double(LogOutput.standardError.now().millisecondsSince1970) / 1000 }

    /// Makes all checks; one that fails prevents no other.
    static func report(_ context: DoctorContext) async -> FindingReport {
        var findings: [(Group, Finding)] = []
        for check in all {
            do {
                findings += try await check.run(context).map { (check.group, $0) }
            } catch {
                findings.append(check.failed(error))
            }
        }
        return FindingReport(findings: findings)
    }

    /// The findings of the checks that only ask the database, for the console. Each has a transaction of its own, so that one that fails
    /// prevents no other.
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

    private func failed(_ error: any Error) -> (Group, Finding) {
        let remedy = (error as? DoctorContext.NotConnected)?.remedy ?? "remove the cause, then run this again"
        return (group, .unknown(subject, "\(error)", remedy))
    }
}

/// What one check of `doctor` found.
struct Finding: Hashable, Sendable {
    enum Status: String, Comparable, Sendable {
        case ok, warning, failure

        /// The exit code of the command when nothing is worse.
        var exitCode: Int32 {
            switch self {
            case .ok: 0
            case .warning: 1
            case .failure: 2
            }
        }

        static func < (left: Status, right: Status) -> Bool { left.exitCode < right.exitCode }
    }

    let status: Status
    let subject: String
    let found: String
    /// What to do; nil where nothing has to be done.
    let remedy: String?

    static func ok(_ subject: String, _ found: String) -> Finding {
        Finding(status: .ok, subject: subject, found: found, remedy: nil)
    }

    static func warning(_ subject: String, _ found: String, _ remedy: String) -> Finding {
        Finding(status: .warning, subject: subject, found: found, remedy: remedy)
    }

    static func failure(_ subject: String, _ found: String, _ remedy: String) -> Finding {
        Finding(status: .failure, subject: subject, found: found, remedy: remedy)
    }

    /// A warning instead of the finding of a check that could not be made.
    static func unknown(_ subject: String, _ reason: String, _ remedy: String) -> Finding {
        .warning(subject, "not checked: \(reason)", remedy)
    }

    /// Judges the last second of a certificate, since 1970.
    ///
    /// - Parameter days: fewer of them left are a warning.
    static func expiry(_ subject: String, _ notAfter: Int64, now: Int64, days: Int64, _ remedy: String) -> Finding {
        let date = "\(Timestamp(millisecondsSince1970: notAfter * 1000))".prefix(10)
        let left = (notAfter - now) / 86_400
        if notAfter < now { return .failure(subject, "has expired on \(date)", remedy) }
        return left < days ? .warning(subject, "expires on \(date), in \(left) days", remedy) : .ok(subject, "valid until \(date)")
    }
}

/// The findings of all checks, as `doctor` prints them.
struct FindingReport: Sendable {
    /// In the order of ``DoctorCheck/all``.
    let findings: [(group: DoctorCheck.Group, finding: Finding)]

    var worst: Finding.Status { findings.map(\.finding.status).max() ?? .ok }

    var json: JSONObject {
        let list = findings.map { group, finding in
            JSONValue.object([
                "group": .string(group.rawValue), "subject": .string(finding.subject), "status": .string(finding.status.rawValue),
                "found": .string(finding.found), "remedy": .optional(finding.remedy),
            ])
        }
        return ["status": .string(worst.rawValue), "findings": .array(list)]
    }

    /// A line for each finding, below the name of its group.
    func text(inColour: Bool) -> String {
        let width = findings.map(\.finding.subject.count).max() ?? 0
        return DoctorCheck.Group.allCases.map { group in
            let lines = findings.filter { $0.group == group }.map { Self.line($0.finding, width, inColour) }
            return ([group.rawValue] + lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static func line(_ finding: Finding, _ width: Int, _ inColour: Bool) -> String {
        let remedy = finding.remedy.map { ". \($0.prefix(1).uppercased())\($0.dropFirst())" } ?? ""
        let what = "\(finding.subject.padded(to: width))  \(finding.found)\(remedy)".shownSafely.replacing("\n", with: " ")
        let status = finding.status.rawValue.padded(to: 7)
        return "  \(inColour ? finding.status.coloured(status) : status)  \(what)"
    }
}

extension Finding.Status {
    fileprivate func coloured(_ text: String) -> String {
        let code =
            switch self {
            case .ok: 32
            case .warning: 33
            case .failure: 31
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
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
