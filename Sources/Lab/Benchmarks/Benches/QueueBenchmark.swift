/// Measures the queue alone: claim, outcome, delete, without verification or merge.
package struct QueueBenchmark: Sendable {
    /// Events settled in each measurement.
    package var events = 50_000
    package var rounds = 5
    /// Events in a batch, of the queue and of the yardstick.
    package var batch = 50
    /// Events that are scheduled for a later time during the measurements.
    package var waiting = 10_000
    /// Events that were settled before the measurements.
    package var settled = 1_000_000
    /// How long the yardstick is measured in each round.
    package var yardstickSeconds = 3
    /// After the rounds, events are settled under one snapshot for so many seconds; nil skips this.
    package var hold: Int?

    package init() {}

    private enum Measured: Int, CaseIterable {
        case own, yardstick, ownHeld, yardstickHeld
    }

    static let database = "inbox"
    /// The age of the drained events. A worker's low-water mark stays a second behind, and a backlog's events are older than that.
    private static let age = Duration.milliseconds(1200)

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            try await cluster.makeDatabase(Self.database, program: environment.program)
            var yardstick = QueueYardstick(cluster: cluster, batch: batch)
            try await yardstick.prepare()
            if settled + waiting > 0 { environment.progress("making \(settled) settled and \(waiting) waiting events") }
            try await Filler.settle(settled, in: Self.database, of: cluster)
            try await Filler.queue(waiting, dueIn: 86_400, in: Self.database, of: cluster)
            // The first measurement also opens connections and grows files.
            _ = try await own(cluster)
            _ = try await yardstick.measure(seconds: yardstickSeconds)
            let figures = try await measureInTurns(&yardstick, cluster: cluster, environment: environment)
            var report = report(figures, machine: machine)
            if let hold {
                let (comparison, details) = try await compareHeld(for: hold, cluster: cluster, environment: environment)
                report.comparisons.append(comparison)
                report.details += details
            }
            return report
        }
    }

    private func measureInTurns(
        _ yardstick: inout QueueYardstick,
        cluster: BenchmarkCluster,
        environment: BenchmarkEnvironment
    ) async throws -> [[QueueRun]] {
        try await Rounds.run(rounds, of: Measured.allCases.count) { index, round in
            let measured = Measured.allCases[index]
            let isHeld = measured == .ownHeld || measured == .yardstickHeld
            let isOwn = measured == .own || measured == .ownHeld
            let database = isOwn ? Self.database : QueueYardstick.database
            let run = try await cluster.withSnapshot(of: database, isHeld: isHeld) {
                isOwn ? try await own(cluster) : try await yardstick.measure(seconds: yardstickSeconds)
            }
            environment.progress("round \(round + 1) of \(rounds): \(measured) \(run.rate.figureText) events/s")
            try await cluster.vacuum(database, table: isOwn ? "appstore.inbox_queue" : "queue")
            return run
        }
    }

    private func own(_ cluster: BenchmarkCluster) async throws -> QueueRun {
        try await withDrain(of: Self.database, cluster) { try await measure($0, of: Self.database, cluster) }
    }

    func withDrain<T: Sendable>(of database: String, _ cluster: BenchmarkCluster, _ body: (QueueDrain) async throws -> T) async throws -> T
    {
        try await QueueDrain.with(url: cluster.url(database, user: "appstore_worker"), batch: batch, body)
    }

    /// Fills the queue of the database and measures how fast its events are settled.
    func measure(_ drain: QueueDrain, of database: String, _ cluster: BenchmarkCluster) async throws -> QueueRun {
        try await Filler.queue(events, dueIn: 0, in: database, of: cluster)
        let end = ContinuousClock.now + Self.age
        try await cluster.checkpoint()
        try await Task.sleep(until: end)
        return try await QueueRun.measure(events: events, cluster: cluster) {
            let clock = ProcessClock.now()
            let count = try await drain.run()
            guard count == events else { throw BenchmarkError(.wrongResult, "\(count) events were settled instead of \(events)") }
            return ProcessClock.now() - clock
        }
    }

    private func report(_ figures: [[QueueRun]], machine: Machine) -> BenchmarkReport {
        let (own, yardstick) = (figures[Measured.own.rawValue], figures[Measured.yardstick.rawValue])
        var report = BenchmarkReport(
            name: "drain --queue-only",
            summary: "Claims, records outcomes and deletes \(events) events with tiny bodies, which are more than a second old, in "
                + "batches of \(batch), \(QueueDrain.defaultLoops) at a time, with nothing to merge; \(waiting) more wait for a later time "
                + "and \(settled) were settled before. The yardstick takes events for \(yardstickSeconds) s out of a queue that does not "
                + "run empty.",
            comparisons: comparisons(figures),
            machine: machine
        )
        report.costs = [
            QueueRun.cost("Swift", own, \.clientTime, source: "process time of this process while it drains"),
            QueueRun.cost("PostgreSQL", own, \.postgresTime, source: "process time of all its processes"),
        ]
        report.details = [
            QueueRun.detail("PostgreSQL with a snapshot held", figures[Measured.ownHeld.rawValue], \.postgresTime),
            QueueRun.detail("pgbench of the yardstick", yardstick, \.clientTime),
            QueueRun.detail("PostgreSQL under the yardstick", yardstick, \.postgresTime),
        ]
        return report
    }

    private func comparisons(_ figures: [[QueueRun]]) -> [Comparison] {
        func rates(_ measured: Measured) -> [Double] { figures[measured.rawValue].map(\.rate) }
        let clients = QueueDrain.defaultLoops
        let yardstick = "UPDATE … SKIP LOCKED claim, then DELETE, in pgbench -M prepared -c \(clients) -j \(clients), batch \(batch)"
        return [
            Comparison(
                "queue",
                unit: "events/s",
                rounds: rates(.own),
                yardstick: Comparison.Yardstick(yardstick, rounds: rates(.yardstick)),
                aim: .ratio(1.5)
            ),
            Comparison(
                "queue with a snapshot held",
                unit: "events/s",
                rounds: rates(.ownHeld),
                yardstick: Comparison.Yardstick("the same queue without one", rounds: rates(.own)),
                aim: .ratio(0.95)
            ),
            Comparison(
                "queue with a snapshot held, beside the yardstick with one",
                unit: "events/s",
                rounds: rates(.ownHeld),
                yardstick: Comparison.Yardstick("\(yardstick), with a snapshot held", rounds: rates(.yardstickHeld))
            ),
        ]
    }
}
