import Feed
import FoundationEssentials
import Postgres
import WebhookReceiver

/// One measurement of a worker that delivers webhooks.
struct WebhookRun: Sendable {
    /// Deliveries a second, from the first arrival to the last.
    let rate: Double
    /// Milliseconds from the commit of a change to the arrival of its webhook.
    let arrivals: Samples
    let workerTime: Duration
    let postgresTime: Duration
    /// Of this process, which receives.
    let receiverTime: Duration

    private static let batch = 10

    static func measure(
        _ benchmark: WebhookBenchmark,
        in database: String,
        of cluster: BenchmarkCluster,
        _ program: String,
        _ settings: [String: String]
    ) async throws -> WebhookRun {
        let receivers = try await makeReceivers(benchmark.endpoints, in: database, of: cluster)
        let expected = benchmark.entries * benchmark.endpoints
        let run = try await cluster.withConnection(to: database) { connection in
            try await tell(benchmark.entries, on: connection)
            try await cluster.checkpoint()
            let postgres = try cluster.processorTime()
            let own = ProcessClock.now()
            return try await Daemon.withWorker(program: program, settings: settings) { worker in
                try await awaitArrivals(expected, at: receivers, from: worker)
                let times = (try worker.processorTime(), try cluster.processorTime() - postgres, ProcessClock.now() - own)
                let instants = receivers.flatMap { $0.received.map(\.arrivedAt) }
                guard let first = instants.min(), let last = instants.max(), last > first else {
                    throw BenchmarkError(.wrongResult, "\(instants.count) webhooks arrived within no time")
                }
                // The others get nothing more, so that one endpoint is measured.
                for number in 1..<receivers.count {
                    _ = try await connection.execute("SELECT appstore.pause_endpoint(\(name(number)))")
                }
                return WebhookRun(
                    rate: Double(instants.count - 1) / (last - first),
                    arrivals: try await arrivals(benchmark, at: receivers[0], on: connection, from: worker),
                    workerTime: times.0,
                    postgresTime: times.1,
                    receiverTime: times.2
                )
            }
        }
        try await cluster.withConnection(to: database) { connection in
            for number in receivers.indices { _ = try await connection.execute("SELECT appstore.remove_endpoint(\(name(number)))") }
        }
        for receiver in receivers { receiver.stop() }
        return run
    }

    /// Commits changes, and gives them their positions.
    static func tell(_ count: Int, on connection: Connection) async throws {
        _ = try await connection.execute(
            "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', 'user ' || n FROM generate_series(1, \(Int64(count))) AS n"
        )
        while try await FeedStep.take(on: connection).hasMore {}
    }

    private static func name(_ number: Int) -> String { "endpoint-\(number)" }

    private static func makeReceivers(_ count: Int, in database: String, of cluster: BenchmarkCluster) async throws -> [WebhookReceiver] {
        var receivers: [WebhookReceiver] = []
        for number in 0..<count {
            let receiver = try await WebhookReceiver.start()
            try await cluster.withConnection(to: database) { connection in
                _ = try await connection.execute("SELECT appstore.make_endpoint(\(name(number)), \(receiver.url))")
            }
            receivers.append(receiver)
        }
        return receivers
    }

    private static func awaitArrivals(_ count: Int, at receivers: [WebhookReceiver], from worker: Daemon) async throws {
        let deadline = ContinuousClock.now + .seconds(60 + count / 200)
        while receivers.reduce(0, { $0 + $1.count }) < count {
            try worker.check()
            guard ContinuousClock.now < deadline else { throw BenchmarkError(.wrongResult, "\(count) webhooks have not arrived in time") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Commits changes at a steady pace, ten at once.
    private static func arrivals(
        _ benchmark: WebhookBenchmark,
        at receiver: WebhookReceiver,
        on connection: Connection,
        from worker: Daemon
    ) async throws -> Samples {
        let head = try await connection.query("SELECT position FROM appstore.feed_head")[0].decode(0, as: Int64.self)
        let before = receiver.count
        let count = benchmark.rate * benchmark.seconds / batch
        let pause = Duration.seconds(Double(batch) / Double(benchmark.rate))
        let start = ContinuousClock.now
        var commits: [Double] = []
        for number in 0..<count {
            try await Task.sleep(until: start + pause * number)
            _ = try await connection.execute(
                "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', 'user ' || n FROM generate_series(1, \(Int64(batch))) AS n"
            )
            commits.append(Date().timeIntervalSince1970)
        }
        try await awaitArrivals(before + count * batch, at: [receiver], from: worker)
        let instants = Dictionary(receiver.received.map { ($0.id, $0.arrivedAt) }) { first, _ in first }
        // Positions are in the order of commits.
        let ids = try await connection.query("SELECT f.id::text FROM appstore.feed AS f WHERE f.position > \(head) ORDER BY f.position")
        let times = try ids.enumerated().compactMap { index, row in
            instants[try row.decode(0, as: String.self)].map { ($0 - commits[index / batch]) * 1000 }
        }
        guard times.count == count * batch else {
            throw BenchmarkError(.wrongResult, "of \(count * batch) entries, \(times.count) arrived")
        }
        return Samples(times)
    }
}
