import Postgres
import SQL
import Schema

/// The database roles of `sql/roles.sql`, and who is connected.
extension DoctorCheck {
    /// A role, and what uses it.
    private struct Usage {
        let expected: SchemaExpectation
        /// The `application_name` of the program's sessions.
        let program: String
        /// The unit that holds a session as long as it runs.
        var unit: String?
    }

    private static let usages = [
        Usage(expected: .ingest, program: "appstore-inbox ingest", unit: "appstore-inbox-ingest"),
        Usage(expected: .worker, program: "appstore-inbox worker", unit: "appstore-inbox-worker"),
        Usage(expected: .api, program: "appstore-inbox api"),
        Usage(expected: .console, program: "appstore-inbox console"),
        Usage(expected: SchemaExpectation(role: "appstore_operator", function: "begin_repair"), program: ""),
        Usage(expected: .viewer, program: ""),
        Usage(expected: SchemaExpectation(role: "appstore_backend", function: "create_order"), program: ""),
    ]

    @Sendable static func roles(_ context: DoctorContext) async throws -> [Finding] {
        let usages = usages.filter { usage in
            switch usage.expected.role {
            case SchemaExpectation.api.role: context.daemons.isGiven(Settings.apiListen)
            case SchemaExpectation.console.role: context.daemons.isGiven(Settings.consoleListen)
            default: true
            }
        }
        let rows = try await context.query(
            .doctorRoles(roles: usages.map(\.expected.role), functions: usages.map(\.expected.function), programs: usages.map(\.program))
        )
        let wanted = wantedSettings(SchemaManifest().roles.text)
        return try zip(usages, rows).flatMap { try findings($0, $1, wanted: wanted[$0.expected.role] ?? []) }
    }

    private static func findings(_ usage: Usage, _ row: Row, wanted: Set<String>) throws -> [Finding] {
        let role = usage.expected.role
        let migrate = "run `appstore-inbox migrate` as a superuser"
        guard try row.decode("is_there") else { return [.failure(role, "does not exist", migrate)] }
        var findings: [Finding] = []
        if try !row.decode("is_usable") {
            findings.append(.failure(role, "may not log in and has no members", "ALTER ROLE \(role) LOGIN, or grant it to a login"))
        }
        if try row.decode("is_superuser") { findings.append(.failure(role, "is a superuser", "ALTER ROLE \(role) NOSUPERUSER")) }
        if try !row.decode("may_execute") {
            findings.append(.failure(role, "may not execute appstore.\(usage.expected.function)", migrate))
        }
        let different = wanted.subtracting(try row.decode("settings", as: [String].self)).sorted()
        if !different.isEmpty { findings.append(.warning(role, "lacks the settings \(different.joined(separator: ", "))", migrate)) }
        let sessions: Int64 = try row.decode("sessions")
        if let unit = usage.unit, sessions == 0 {
            findings.append(.failure(role, "has no session: no \(unit) is connected", "systemctl status \(unit)"))
        }
        return findings.isEmpty ? [.ok(role, "as migrate makes it; sessions: \(sessions)")] : findings
    }

    /// The settings that `sql/roles.sql` gives to each role, as the catalogue writes them: `statement_timeout=5s`.
    static func wantedSettings(_ sql: String) -> [String: Set<String>] {
        var settings: [String: Set<String>] = [:]
        for line in sql.split(separator: "\n") {
            // ('appstore_ingest', 'statement_timeout', '5s'),
            let parts = line.split(separator: "'", omittingEmptySubsequences: false)
            guard parts.count == 7, parts[0].drop(while: { $0 == " " }) == "(" else { continue }
            settings[String(parts[1]), default: []].insert("\(parts[3])=\(parts[5])")
        }
        return settings
    }
}
