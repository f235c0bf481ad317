/// The address of a database and how to connect to it, from a libpq connection string.
package struct ConnectionOptions: Sendable {
    /// The `application_name` of the connections in `pg_stat_activity`.
    package var applicationName: String
    /// How long one host may take to accept a connection; libpq counts whole seconds, at least two.
    package var connectTimeout: Duration
    /// How long one round trip may take before the client abandons it and closes the connection.
    package var statementDeadline: Duration = .seconds(60)
    /// Whether statements are prepared under a name and kept until the connection closes.
    ///
    /// False for a pooler that changes servers between transactions and does not track prepared statements, such as PgBouncer before 1.21.
    package var prepared = true
    /// Whether the log gets the texts of warnings and of what scripts raise as a notice. They may quote data.
    package var logsNotices = false
    /// The first statement of each connection, such as session settings.
    package var opening: Statement?

    let settings: [ConnectionSetting]

    /// Reads a URL (`postgresql://…`) or `key=value` pairs, as libpq does; it may list several hosts.
    ///
    /// libpq takes missing values from environment variables (`PGHOST`, …), service files and password files.
    ///
    /// - Throws: ``PostgresError/Code/invalidOptions``, with the mistake but without any part of the string.
    package init(_ conninfo: String) throws(PostgresError) {
        settings = try ConnectionSetting.parse(conninfo)
        applicationName = settings.value(of: "application_name") ?? "appstore-inbox"
        connectTimeout = settings.value(of: "connect_timeout").flatMap { Int($0) }.map { .seconds($0) } ?? .seconds(5)
    }

    /// The host, the database and the user that the connection string names; nil where libpq takes its default.
    package var host: String? { settings.value(of: "host") ?? settings.value(of: "hostaddr") }
    package var database: String? { settings.value(of: "dbname") }
    package var user: String? { settings.value(of: "user") }

    /// The settings for `PQconnectdbParams`. libpq uses the last value of a keyword, so these override the user's.
    var parameters: [ConnectionSetting] {
        let defaults = Self.keepAlive.filter { settings.value(of: $0.keyword) == nil }
        return defaults + settings + [
            ConnectionSetting(keyword: "application_name", value: applicationName),
            ConnectionSetting(keyword: "connect_timeout", value: "\(max(2, connectTimeout.components.seconds))"),
            ConnectionSetting(keyword: "client_encoding", value: "UTF8"),
        ]
    }

    /// Detects a vanished peer within a minute; the kernel's default is two hours.
    private static let keepAlive = [
        ConnectionSetting(keyword: "keepalives_idle", value: "30"),
        ConnectionSetting(keyword: "keepalives_interval", value: "10"),
        ConnectionSetting(keyword: "keepalives_count", value: "3"),
        // Keepalive probes are not sent while data is unacknowledged; this bounds that case.
        ConnectionSetting(keyword: "tcp_user_timeout", value: "60000"),
    ]
}

extension ConnectionOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The settings without the secret ones.
    package var description: String {
        settings.filter { !$0.isSecret }.map { "\($0.keyword)=\($0.value)" }.joined(separator: " ")
    }

    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["settings": description]) }
}
