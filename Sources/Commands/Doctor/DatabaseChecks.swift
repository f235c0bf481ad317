import Postgres
import SQL
import Schema

/// The server, its clock and the schema.
extension DoctorCheck {
    @Sendable static func server(_ context: DoctorContext) async throws -> [Finding] {
        guard context.reader.isGiven(Settings.databaseURL) else {
            return [
                .unknown("server", SettingsReader.missing(Settings.databaseURL.description), "name the database as role appstore_viewer")
            ]
        }
        if case .failure(let error) = context.connection, context.transaction == nil {
            return [
                .failure("server", "cannot be used: \(error)", "start PostgreSQL, or correct the database-url, pg_hba.conf or the network")
            ]
        }
        // The first time, the statement is prepared, which takes the server longer.
        _ = try await context.query(.doctorServer())
        let start = now()
        let row = try await context.query(.doctorServer())[0]
        let end = now()
        let clock = ClockSkew(ahead: try row.decode("clock") - (start + end) / 2, roundTrip: end - start).finding
        return try [version(row), encoding(row)] + durability(row) + [clock]
    }

    private static func version(_ row: Row) throws -> Finding {
        let (version, number): (String, Int32) = (try row.decode("version"), try row.decode("version_number"))
        let (database, role): (String, String) = (try row.decode("database"), try row.decode("role"))
        let found = "PostgreSQL \(version), database \(database), as role \(role)"
        if number < 150_000 { return .failure("server", found, "update PostgreSQL to 15 or newer") }
        guard try row.decode("is_standby") else { return .ok("server", found) }
        return .warning("server", "\(found), a standby, which may lag behind", "name the primary, to which the daemons connect")
    }

    private static func encoding(_ row: Row) throws -> Finding {
        let encoding: String = try row.decode("encoding")
        return encoding == "UTF8" ? .ok("encoding", encoding) : .failure("encoding", encoding, "make a database with the encoding UTF8")
    }

    private static func durability(_ row: Row) throws -> [Finding] {
        var findings: [Finding] = []
        for (name, loss) in [
            ("fsync", "a crash of the machine can lose what was answered with 200"),
            ("full_page_writes", "a crash of the machine can damage the database"),
        ] where try row.decode(name, as: String.self) == "off" {
            findings.append(.failure(name, "off: \(loss)", "set \(name) = on in postgresql.conf and reload PostgreSQL"))
        }
        // ingest switches it on for its own transactions.
        if try row.decode("synchronous_commit", as: String.self) == "off" {
            let found = "off: a crash can lose orders and repairs, but no notification that was answered with 200"
            findings.append(.warning("synchronous_commit", found, "set synchronous_commit = on"))
        }
        return findings.isEmpty ? [.ok("durability", "fsync, full_page_writes and synchronous_commit are not off")] : findings
    }

    @Sendable static func schema(_ context: DoctorContext) async throws -> [Finding] {
        let (connection, viewer) = (try context.connected(), SchemaExpectation.viewer)
        do {
            let version = try await SchemaFinding(viewer, connection).version
            guard version == viewer.version else {
                return [.ok("schema", "version \(version), later than this program's \(viewer.version), and compatible")]
            }
            return [.ok("schema", "version \(version)"), try await objects(connection, context)]
        } catch let error as SchemaError {
            let parts = error.description.split(separator: ": ", maxSplits: 1).map(String.init)
            return [.failure("schema", parts[0], parts.count > 1 ? parts[1] : "run `appstore-inbox migrate`")]
        }
    }

    private static func objects(_ connection: Connection, _ context: DoctorContext) async throws -> Finding {
        guard let comparison = try await SchemaMigrator(connection: connection, logger: context.logger).compare() else {
            return .unknown("schema objects", "this release does not know this major version of PostgreSQL", "update the program")
        }
        let defects = comparison.defects
        guard !defects.isEmpty else {
            let others = comparison.lines.count
            return .ok("schema objects", "as this program makes them" + (others == 0 ? "" : "; migrate --check lists \(others) others"))
        }
        let found = defects.prefix(3).joined(separator: ", ") + (defects.count > 3 ? " and \(defects.count - 3) more" : "")
        return .warning("schema objects", found, "run `appstore-inbox migrate --check`, then `appstore-inbox migrate`")
    }
}

/// How far the clock of the server is from the one of this machine.
struct ClockSkew: Sendable {
    /// Seconds; negative where the server is behind.
    let ahead: Double
    /// Seconds of the exchange in which the server read its clock.
    let roundTrip: Double

    /// Judges the part of the difference that the round trip does not explain.
    var finding: Finding {
        let certain = max(0, abs(ahead) - roundTrip / 2)
        let amount = "\((abs(ahead) * 1000).rounded() / 1000) s \(ahead < 0 ? "behind" : "ahead of") this machine"
        let remedy = "synchronise both machines' clocks (chrony, systemd-timesyncd)"
        if certain > 60 { return .failure("clock", amount, remedy) }
        return certain > 1 ? .warning("clock", amount, remedy) : .ok("clock", amount)
    }
}

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
