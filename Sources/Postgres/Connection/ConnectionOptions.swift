import CLibPQ

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

    private let settings: [ConnectionSetting]

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

/// One keyword of a connection string with its value.
struct ConnectionSetting: Sendable {
    let keyword: String
    let value: String

    fileprivate var isSecret: Bool { keyword == "password" || keyword == "sslpassword" }

    /// Parses what libpq accepts, and refuses what it would misread. Errors contain no part of `conninfo`.
    fileprivate static func parse(_ conninfo: String) throws(PostgresError) -> [ConnectionSetting] {
        let isURL = ConnectionStringMistake.isURL(conninfo)
        guard !conninfo.utf8.contains(0) else { throw .connectionString("it contains a NUL character") }
        // libpq takes a space for a part of the password or the host.
        guard !isURL || conninfo.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
            throw .connectionString("a URL must not contain a space or a control character: a space is written %20")
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(conninfo, &message) else {
            defer { PQfreemem(message) }
            let text = message.map { String(cString: $0) } ?? ""
            throw .connectionString(ConnectionStringMistake(text, of: conninfo).description)
        }
        defer { PQconninfoFree(options) }
        var settings: [ConnectionSetting] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                settings.append(ConnectionSetting(keyword: String(cString: keyword), value: String(cString: value)))
            }
            option += 1
        }
        for setting in settings { try setting.validate(inURL: isURL) }
        return settings
    }
}

extension PostgresError {
    fileprivate static func connectionString(_ mistake: String) -> PostgresError {
        PostgresError(.invalidOptions, "connection string: \(mistake)")
    }
}

extension [ConnectionSetting] {
    fileprivate func value(of keyword: String) -> String? {
        last { $0.keyword == keyword && !$0.value.isEmpty }?.value
    }
}

extension ConnectionSetting {
    /// Checks what libpq checks only when it connects: there a mistake looks like an unavailable server, and its message quotes the value.
    private func validate(inURL isURL: Bool) throws(PostgresError) {
        guard !value.isEmpty else { return }
        let expectation: String? =
            switch keyword {
            case "port": isListOfPorts ? nil : "a port from 1 to 65535, or several with commas between"
            case "password", "sslpassword", "options": nil
            case _ where isSeveralSettings: "a single value" + Self.hint(isURL)
            case "host", "hostaddr": value.contains("@") ? "a host, or several with commas between" + Self.hint(isURL) : nil
            case "dbname": value.contains("@") ? "the name of a database" + Self.hint(isURL) : nil
            case "user": value.contains(":") ? "the name of a role" + Self.hint(isURL) : nil
            case "connect_timeout": Int(value) == nil ? "a whole number of seconds" : nil
            case "sslmode": expectation(among: ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"])
            case "target_session_attrs":
                expectation(among: ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"])
            case "replication": "left out: replication connections are not supported"
            default: nil
            }
        guard let expectation else { return }
        throw PostgresError(.invalidOptions, "connection string: \(keyword) must be \(expectation)")
    }

    private static func hint(_ isURL: Bool) -> String {
        isURL ? "; in a password, @ is written %40, / is %2F and a space is %20" : "; spaces stand between settings"
    }

    /// Whether the value looks like more than one setting, such as `db;password=x`, or like a whole URL.
    private var isSeveralSettings: Bool {
        value.contains("=") || value.contains(";") || value.contains("://")
    }

    private var isListOfPorts: Bool {
        value.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { port in
            port.isEmpty || Int(port).map { (1...65_535).contains($0) } == true
        }
    }

    private func expectation(among values: [String]) -> String? {
        values.contains(value) ? nil : "one of " + values.joined(separator: ", ")
    }
}

/// What is wrong with a connection string, in words of this file: libpq quotes the string in its messages, and each part of it may be a part of
/// a password.
private struct ConnectionStringMistake {
    let description: String

    /// Explains why libpq refuses `conninfo` with `message`.
    init(_ message: String, of conninfo: String) {
        let isURL = Self.isURL(conninfo)
        let known = Self.explanations.first { message.hasPrefix($0.prefix) }?.text
        description =
            !isURL && conninfo.contains("://")
            ? "a URL must begin with postgresql:// or postgres://" : known ?? (isURL ? Self.asURL : Self.asPairs)
    }

    static func isURL(_ conninfo: String) -> Bool {
        conninfo.hasPrefix("postgresql://") || conninfo.hasPrefix("postgres://")
    }

    private static let asURL = "it must be postgresql://user:password@host:port/database, with % as %25, @ as %40 and / as %2F in each part"
    private static let asPairs = "it must be key=value pairs with spaces between them, and quotes around a value that contains a space"

    /// The beginnings of libpq's messages.
    private static let explanations: [(prefix: String, text: String)] = [
        ("unterminated quoted string", "a quotation mark is not closed; in a value, \\ stands before each ' and \\"),
        ("invalid connection option", "it contains an option that libpq does not know; " + asPairs),
        ("invalid percent-encoded token", "a % must be followed by two hexadecimal digits: % itself is written %25"),
        ("forbidden value %00", "it contains %00, which PostgreSQL does not accept"),
        ("end of string reached when looking for matching \"]\"", "the ] after an IPv6 address is missing"),
        ("IPv6 host address may not be empty", "there is no address between [ and ]"),
        ("invalid URI query parameter", "it contains an option after ? that libpq does not know"),
        ("missing key/value separator", "each option after ? must be key=value, with & between them"),
        ("extra key/value separator", "each option after ? must be key=value, with & between them"),
    ]
}
