import Postgres

/// How fast the queue alone is: claim, outcome, delete, with nothing to do in between.
package struct QueueBenchmark: Sendable {
    /// Events settled in each measurement.
    package var events = 50_000
    package var rounds = 5
    /// Events in a batch, of both.
    package var batch = 50
    /// Events that wait for a later time while it is measured.
    package var waiting = 0
    /// Events that were settled before.
    package var settled = 0

    package init() {}

    private enum Measured: Int, CaseIterable {
        case own, yardstick, ownHeld, yardstickHeld
    }

    private static let database = "inbox"

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            try await cluster.makeDatabase(Self.database, program: environment.program)
            let yardstick = QueueYardstick(cluster: cluster, batch: batch)
            try await yardstick.prepare()
            if settled + waiting > 0 { environment.progress("making \(settled) settled and \(waiting) waiting events") }
            try await Filler.settle(settled, in: Self.database, of: cluster)
            try await Filler.queue(waiting, dueIn: 86_400, in: Self.database, of: cluster)
            // What the first events meet, later ones do not: connections to make, files to grow.
            _ = try await own(cluster)
            _ = try await yardstick.drain(events)
            let figures = try await Rounds.run(rounds, of: Measured.allCases.count) { index, round in
                let measured = Measured.allCases[index]
                let isHeld = measured == .ownHeld || measured == .yardstickHeld
                let isOwn = measured == .own || measured == .ownHeld
                let database = isOwn ? Self.database : QueueYardstick.database
                let run = try await cluster.withSnapshot(of: database, isHeld: isHeld) {
                    isOwn ? try await own(cluster) : try await yardstick.drain(events)
                }
                environment.progress("round \(round + 1) of \(rounds): \(measured) \(run.rate.figureText) events/s")
                try await cluster.vacuum(database, table: isOwn ? "appstore.inbox_ready" : "queue")
                return run
            }
            return report(figures, machine: machine)
        }
    }

    private func own(_ cluster: BenchmarkCluster) async throws -> QueueRun {
        try await Filler.queue(events, dueIn: 0, in: Self.database, of: cluster)
        try await cluster.checkpoint()
        let drain = QueueDrain(url: cluster.url(Self.database, user: "appstore_worker"), batch: batch, loops: QueueDrain.defaultLoops)
        return try await QueueRun.measure(events: events, cluster: cluster) {
            let clock = ProcessClock.now()
            let count = try await drain.run()
            guard count == events else { throw BenchmarkError(.wrongResult, "\(count) events were settled instead of \(events)") }
            return ProcessClock.now() - clock
        }
    }

    private func report(_ figures: [[QueueRun]], machine: Machine) -> BenchmarkReport {
        func rates(_ measured: Measured) -> [Double] { figures[measured.rawValue].map(\.rate) }
        let name = "UPDATE … SKIP LOCKED claim, then DELETE, in pgbench -M prepared -c \(QueueDrain.defaultLoops), batch \(batch)"
        var report = BenchmarkReport(
            name: "drain --queue-only",
            summary: "Claims, records outcomes and deletes \(events) events with tiny bodies in batches of \(batch), "
                + "\(QueueDrain.defaultLoops) at a time, with nothing to merge; \(waiting) more wait for a later time and \(settled) were "
                + "settled before.",
            comparisons: [
                Comparison(
                    "queue",
                    unit: "events/s",
                    rounds: rates(.own),
                    yardstick: Comparison.Yardstick(name, rounds: rates(.yardstick)),
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
                    yardstick: Comparison.Yardstick("\(name), with a snapshot held", rounds: rates(.yardstickHeld))
                ),
            ],
            machine: machine
        )
        let (own, yardstick) = (figures[Measured.own.rawValue], figures[Measured.yardstick.rawValue])
        report.costs = [
            QueueRun.cost("Swift", own.map(\.clientTime), events: events, source: "process time of this process while it drains"),
            QueueRun.cost("PostgreSQL", own.map(\.postgresTime), events: events, source: "process time of all its processes"),
        ]
        report.details = [
            QueueRun.detail("pgbench of the yardstick", yardstick.map(\.clientTime), events: events),
            QueueRun.detail("PostgreSQL under the yardstick", yardstick.map(\.postgresTime), events: events),
        ]
        return report
    }
}
