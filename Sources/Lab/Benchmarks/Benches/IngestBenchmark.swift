import Randomness

/// Measures how many notifications ingest stores over many connections, each answered after its commit.
package struct IngestBenchmark: Sendable {
    package var rounds = 5
    /// How long each side is measured in each round.
    package var seconds = 10
    package var connections = 64
    /// Sizes of the bodies, in bytes.
    package var sizes = [18_900, 6000]
    package var seed: UInt64 = 1

    package init() {}

    /// The rounds of one size of body.
    private struct Figures {
        let size: Int
        var own: [IngestRun] = []
        var yardstick: [IngestRun] = []
        /// The 99th and 50th percentiles of the time to an answer, in milliseconds, at half of the median rate of the rounds so far.
        var slowest: [Double] = []
        var typical: [Double] = []
    }

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            let run = IngestSetup(cluster: cluster, program: environment.program, connections: connections)
            try await run.prepare()
            var generator = SeededGenerator(seed: seed)
            var all: [Figures] = []
            for size in sizes {
                let bodies = (0..<16).map { _ in PlainBody.make(bytes: size, using: &generator) }
                all.append(try await measure(size, bodies: bodies, setup: run, environment: environment))
            }
            return report(all, machine: machine)
        }
    }

    private func measure(
        _ size: Int,
        bodies: [[UInt8]],
        setup: IngestSetup,
        environment: BenchmarkEnvironment
    ) async throws -> Figures {
        var figures = Figures(size: size)
        for round in 0..<rounds {
            try Task.checkCancellation()
            // The two take turns in going first.
            for index in Rounds.order(of: 2, in: round) {
                if index == 0 {
                    figures.own.append(try await setup.own(bodies, pace: .asFastAsAnswered(seconds: Double(seconds))))
                } else {
                    figures.yardstick.append(try await setup.yardstick(bodies, seconds: seconds))
                }
            }
            let rate = Samples(figures.own.map(\.rate)).median / 2
            let count = max(1, Int(rate * Double(seconds)))
            let half = try await setup.own(bodies, pace: .steady(perSecond: rate, count: count))
            figures.slowest.append(half.latencies.percentile(99))
            figures.typical.append(half.latencies.median)
            let (own, yardstick) = (figures.own[round].rate.figureText, figures.yardstick[round].rate.figureText)
            environment.progress(
                "\(size) bytes, round \(round + 1) of \(rounds): \(own) events/s, pgbench \(yardstick); at half load p99 "
                    + "\(figures.slowest[round].figureText) ms"
            )
        }
        return figures
    }

    private func report(_ all: [Figures], machine: Machine) -> BenchmarkReport {
        var comparisons: [Comparison] = []
        for figures in all {
            comparisons.append(
                Comparison(
                    "ingest, \(figures.size) bytes",
                    unit: "events/s",
                    rounds: figures.own.map(\.rate),
                    yardstick: Comparison.Yardstick(
                        "pgbench -M prepared -c \(connections), the same rows in the same tables, one by one",
                        rounds: figures.yardstick.map(\.rate)
                    ),
                    aim: .ratio(1.5)
                )
            )
            comparisons.append(
                Comparison("p99 at half load, \(figures.size) bytes", unit: "ms", rounds: figures.slowest, aim: .below(20))
            )
            comparisons.append(Comparison("p50 at half load, \(figures.size) bytes", unit: "ms", rounds: figures.typical))
        }
        var report = BenchmarkReport(
            name: "ingest",
            summary: "\(connections) persistent connections post bodies, each answered with 200 after its commit; the load generator "
                + "is a thread of this process. The yardstick's client sends the same bytes over as many connections. Half load is half of "
                + "the median rate of the rounds so far, at even intervals; a request's time begins when it was due.",
            comparisons: comparisons,
            machine: machine
        )
        if let first = all.first { report.costs = IngestRun.costs(first.own, bytes: first.size) }
        for figures in all {
            report.details += IngestRun.details(figures.own, "\(figures.size) bytes", yardstick: figures.yardstick)
        }
        return report
    }
}
