extension ConnectionSetting {
    /// Checks what libpq checks only when it connects, where a mistake looks like an unavailable server.
    func validate(mayShowValue: Bool) throws(PostgresError) {
        guard !value.isEmpty else { return }
        let expectation: String? =
            switch keyword {
            case "port": isListOfPorts ? nil : "a port from 1 to 65535, or several with commas between"
            case "host", "hostaddr": value.contains("@") ? "without \"@\": in a URL, one in a password is written %40" : nil
            case "connect_timeout": Int(value) == nil ? "a whole number of seconds" : nil
            case "sslmode": expectation(among: ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"])
            case "target_session_attrs":
                expectation(among: ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"])
            case "replication": "left out: replication connections are not supported"
            default: nil
            }
        guard let expectation else { return }
        let shown = mayShowValue ? "\"\(value)\"" : "the value (not shown)"
        throw PostgresError(.invalidOptions, "connection string: \(keyword) must be \(expectation); it is \(shown)")
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
