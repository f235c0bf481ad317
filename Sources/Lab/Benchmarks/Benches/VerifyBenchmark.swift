import AppStore
import StoreSimulator

/// Measures how many full notifications one core verifies and decodes.
package struct VerifyBenchmark: Sendable {
    /// Different notifications, verified in turn.
    package var events = 2000
    package var rounds = 5
    /// How long each side is measured in each round.
    package var seconds = 3

    package init() {}

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        machine.openssl = try await OpenSSLSpeed.version()
        let store = try BenchmarkStore()
        let bodies = try await store.bodies(of: try Self.renewals(events))
        let cost = try VerificationCost(of: bodies, store: store)
        let requests = bodies.map { VerificationRequest($0) }
        let verifier = try store.verifier()
        try VerificationRequest.warmUp(verifier, with: requests)
        let figures = try await Rounds.run(rounds, of: 2) { index, round in
            guard index == 0 else { return try await OpenSSLSpeed.verificationsPerSecond(seconds: seconds) / Double(Self.signatures) }
            let rate = try Self.rate(requests, seconds: Double(seconds)) { try $0.verify(with: verifier) }
            environment.progress("round \(round + 1) of \(rounds): \(rate.figureText) events/s")
            return rate
        }
        let size = bodies.reduce(0) { $0 + $1.count } / max(1, bodies.count)
        var report = BenchmarkReport(
            name: "verify",
            summary: "One core verifies \(events) different renewals in turn, each with three JWS and \(size) bytes: from the body of the "
                + "POST to decoded payloads, with the certificate chain cached.",
            comparisons: [
                Comparison(
                    "verify",
                    unit: "events/s per core",
                    rounds: figures[0],
                    yardstick: Comparison.Yardstick("openssl speed ecdsap256 verify/s / \(Self.signatures) JWS", rounds: figures[1]),
                    aim: .ratio(0.75)
                )
            ],
            machine: machine
        )
        report.costs = [
            ProcessorCost("ECDSA and hashing", cost.signatures, per: 1, source: "verified by themselves in the same run"),
            ProcessorCost("decoding", cost.decoding, per: 1, source: "verification as a whole, less ECDSA and hashing"),
        ]
        report.details = [BenchmarkReport.Detail("bytes per event", Double(size), unit: "bytes")]
        return report
    }

    /// JWS in each renewal.
    private static let signatures = 3

    /// Renewals of as many customers.
    static func renewals(_ count: Int) throws -> [SimulatedNotification] {
        let kind = NotificationKind(.didRenew)
        // 2024-01-01
        let now = Timestamp(millisecondsSince1970: 1_704_067_200_000)
        return try (0..<count).map { seed in
            try NotificationTrigger(kind, app: SimulatedTraffic.app, now: now, seed: UInt64(seed)).notification()
        }
    }

    /// Does the work for one element after another on the calling thread. Returns the elements per second.
    private static func rate<Element>(_ elements: [Element], seconds: Double, _ work: (Element) throws -> Void) throws -> Double {
        let start = SteadyClock.now()
        var count = 0
        while true {
            for element in elements {
                try work(element)
                count += 1
                guard count.isMultiple(of: 16) else { continue }
                let elapsed = SteadyClock.now() - start
                if elapsed >= seconds { return Double(count) / elapsed }
            }
        }
    }
}
