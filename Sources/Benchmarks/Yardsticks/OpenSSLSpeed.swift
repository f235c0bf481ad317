import PrivateCluster

/// `openssl speed`: how many signatures a core can verify, the bound of everything that verifies.
package enum OpenSSLSpeed {
    /// Verifications of P-256 signatures a second on one core, measured for so many seconds.
    static func verificationsPerSecond(seconds: Int) async throws -> Double {
        let words = ["openssl", "speed", "-elapsed", "-seconds", "\(seconds)", "ecdsap256"]
        let output = try await run(words)
        guard let figure = parse(output) else {
            throw BenchmarkError(.yardstick, "openssl speed printed no figure for ecdsap256:\n\(output)")
        }
        return figure
    }

    /// What `openssl version` says.
    static func version() async throws -> String {
        // Without the version of the library, which is the same.
        try await run(["openssl", "version"]).split(separator: "(").first?.trimmed ?? ""
    }

    /// The last column of the table that `openssl speed` ends with: verifications a second.
    package static func parse(_ output: String) -> Double? {
        for line in output.split(separator: "\n") where line.trimmed.hasPrefix("256 bits ecdsa") {
            let columns = line.split(whereSeparator: \.isWhitespace)
            if columns.count > 4, let figure = columns.last.flatMap({ Double($0) }), figure > 0 { return figure }
        }
        return nil
    }

    private static func run(_ words: [String]) async throws -> String {
        let path = try PostgresPrograms.path(of: "openssl")
        return try await ChildProcess.launch(ChildCommand([path] + words.dropFirst()).bound()).awaitSuccess()
    }
}
