import TemporaryPostgres

/// Runs `pgbench` with a script.
package struct PgBench: Sendable {
    /// The figures of a run.
    package struct Result: Hashable, Sendable {
        /// Without the time to connect.
        package let transactionsPerSecond: Double
        package let transactions: Int
        package let failures: Int

        package init(transactionsPerSecond: Double, transactions: Int, failures: Int) {
            self.transactionsPerSecond = transactionsPerSecond
            self.transactions = transactions
            self.failures = failures
        }
    }

    let cluster: BenchmarkCluster
    let database: String
    let script: String
    var clients: Int
    /// Threads that the clients share; nil for one per core, at most one per client.
    var threads: Int?
    var seconds: Int
    var variables: [String: String] = [:]

    /// Runs the script with prepared statements; also returns pgbench's own processor time.
    func run() async throws -> (result: Result, processorTime: Duration) {
        let file = try cluster.write(script, to: "pgbench.sql")
        let threads = threads ?? min(clients, Machine.processorCount)
        var arguments = ["-n", "-M", "prepared", "-c", "\(clients)", "-j", "\(threads)", "-f", file, "-T", "\(seconds)"]
        for (name, value) in variables.sorted(by: { $0.key < $1.key }) { arguments += ["-D", "\(name)=\(value)"] }
        let process = try ChildProcess.launch(try PostgresPrograms.command("pgbench", arguments + [cluster.url(database)]))
        let output = try await process.awaitSuccess()
        guard let result = Self.parse(output), result.failures == 0 else {
            throw BenchmarkError(.yardstick, "pgbench failed:\n\(output)")
        }
        return (result, process.processorTime)
    }

    /// Parses the output of pgbench.
    package static func parse(_ output: String) -> Result? {
        var (tps, transactions, failures): (Double?, Int?, Int) = (nil, nil, 0)
        for line in output.split(separator: "\n") {
            let words = line.split(whereSeparator: \.isWhitespace)
            // Older versions print a second line that includes the time to connect.
            if words.count > 2, words[0] == "tps", !line.contains("including connections") { tps = Double(words[2]) }
            if let count = number(in: line, after: "number of transactions actually processed:") { transactions = count }
            if let count = number(in: line, after: "number of failed transactions:") { failures = count }
        }
        guard let tps, let transactions else { return nil }
        return Result(transactionsPerSecond: tps, transactions: transactions, failures: failures)
    }

    /// The number after a label, up to a slash.
    private static func number(in line: Substring, after label: String) -> Int? {
        guard line.hasPrefix(label) else { return nil }
        return Int(line.dropFirst(label.count).trimmed.prefix { $0.isNumber })
    }
}
