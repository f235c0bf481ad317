/// Where the database is and how to speak to it, from a connection string that libpq takes.
package struct ConnectionOptions: Sendable {
    /// What `pg_stat_activity` calls the connections.
    package var applicationName: String
    /// How long one host may take to accept a connection; libpq counts whole seconds, at least two.
    package var connectTimeout: Duration
    /// How long one exchange with the server may take before the client gives it and its connection up.
    package var statementDeadline: Duration = .seconds(60)
    /// Whether statements are prepared under a name and kept for the connection's life.
    ///
    /// False for a pooler that changes servers between transactions and knows nothing of prepared statements, such as PgBouncer before 1.21.
    package var prepared = true
    /// What each connection sends before anything else, such as settings of its session.
    package var opening: Statement?

    let settings: [ConnectionSetting]

    /// Reads a URL (`postgresql://…`) or `key=value` pairs, as libpq does; several hosts may be named.
    ///
    /// Environment variables (`PGHOST`, …), service and password files fill in what is left out, as usual.
    ///
    /// - Throws: ``PostgresError/Code/invalidOptions``, saying what is wrong without showing the password.
    package init(_ conninfo: String) throws(PostgresError) {
        settings = try ConnectionSetting.parse(conninfo)
        applicationName = settings.value(of: "application_name") ?? "appstore-inbox"
        connectTimeout = settings.value(of: "connect_timeout").flatMap { Int($0) }.map { .seconds($0) } ?? .seconds(5)
    }

    /// The settings for `PQconnectdbParams`: the user's, then ours, of which libpq takes the last.
    var parameters: [ConnectionSetting] {
        let defaults = Self.keepAlive.filter { settings.value(of: $0.keyword) == nil }
        return defaults + settings + [
            ConnectionSetting(keyword: "application_name", value: applicationName),
            ConnectionSetting(keyword: "connect_timeout", value: "\(max(2, connectTimeout.components.seconds))"),
            ConnectionSetting(keyword: "client_encoding", value: "UTF8"),
        ]
    }

    /// A peer that vanished without a word is noticed within a minute, not within the kernel's two hours.
    private static let keepAlive = [
        ConnectionSetting(keyword: "keepalives_idle", value: "30"),
        ConnectionSetting(keyword: "keepalives_interval", value: "10"),
        ConnectionSetting(keyword: "keepalives_count", value: "3"),
        // Also when it owes an acknowledgement, which keeps the kernel from asking.
        ConnectionSetting(keyword: "tcp_user_timeout", value: "60000"),
    ]
}

extension ConnectionOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The settings, with those that are secret left out.
    package var description: String {
        settings.filter { !$0.isSecret }.map { "\($0.keyword)=\($0.value)" }.joined(separator: " ")
    }

    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["settings": description]) }
}
