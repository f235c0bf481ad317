import TemporaryPostgres

/// `openssl speed`: the number of signatures that a core can verify, an upper bound for verification.
package enum OpenSSLSpeed {
    /// Verifications of P-256 signatures a second on one core, measured for so many seconds.
    static func verificationsPerSecond(seconds: Int) async throws -> Double {
        try await verificationsPerSecond("ecdsap256", row: "256 bits ecdsa", seconds: seconds)
    }

    /// Verifications of RSA signatures with 2048 bits a second on one core, measured for so many seconds.
    static func rsaVerificationsPerSecond(seconds: Int) async throws -> Double {
        try await verificationsPerSecond("rsa2048", row: "rsa 2048 bits", seconds: seconds)
    }

    private static func verificationsPerSecond(_ algorithm: String, row: String, seconds: Int) async throws -> Double {
        let output = try await run(["openssl", "speed", "-elapsed", "-seconds", "\(seconds)", algorithm])
        guard let figure = parse(output, row: row) else {
            throw BenchmarkError(.yardstick, "openssl speed printed no figure for \(algorithm):\n\(output)")
        }
        return figure
    }

    /// The output of `openssl version`, without the library's version.
    static func version() async throws -> String {
        try await run(["openssl", "version"]).split(separator: "(").first?.trimmed ?? ""
    }

    /// The column `verify/s` of the table at the end of the output; newer versions have more columns after it.
    ///
    /// - Parameter row: the words that the algorithm's row begins with.
    package static func parse(_ output: String, row: String = "256 bits ecdsa") -> Double? {
        var columnsBehind = 0
        let label = row.split(separator: " ")
        for line in output.split(separator: "\n") {
            let words = line.split(whereSeparator: \.isWhitespace)
            if let column = words.firstIndex(of: "verify/s") { columnsBehind = words.count - 1 - column }
            guard words.starts(with: label), words.count > 4 + columnsBehind else { continue }
            if let figure = Double(words[words.count - 1 - columnsBehind]), figure > 0 { return figure }
        }
        return nil
    }

    private static func run(_ words: [String]) async throws -> String {
        let path = try PostgresPrograms.path(of: "openssl")
        return try await ChildProcess.launch(ChildCommand([path] + words.dropFirst()).bound()).awaitSuccess()
    }
}
