extension ConnectionSetting {
    /// Checks what libpq checks only when it connects: there a mistake looks like an unavailable server, and its message quotes the value.
    func validate(inURL isURL: Bool) throws(PostgresError) {
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
