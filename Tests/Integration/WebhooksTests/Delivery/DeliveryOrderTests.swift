import Foundation
import Randomness
import Testing

@testable import Feed

/// Random failures of every kind, by a clock of the test's.
struct DeliveryOrderTests {
    /// `WEBHOOK_SEED` runs one seed only.
    @Test func `every entry is delivered, and those of a subject in order unless one has failed for ten minutes`() {
        let given = ProcessInfo.processInfo.environment["WEBHOOK_SEED"].flatMap(UInt64.init)
        let seeds = given.map { [$0] } ?? (0..<60).map { _ in UInt64.random(in: 0...999_999) }
        for seed in seeds { check(seed) }
    }

    private func check(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 20...200, using: &random)
        let subjects: [String?] = (0..<count).map { _ in
            Int.random(in: 0..<10, using: &random) == 0 ? nil : "\(Int.random(in: 0..<12, using: &random))"
        }
        let window = Int.random(in: 1...16, using: &random)
        var scene = EndpointScene(subjects, window: window, seed: seed) {
            if Bool.random(using: &random) {
                $0.position = Int64(count / 3)
                $0.redelivery = (7, 0, Int64(count / 3))
            }
        }
        let first = scene.feed.position + 1
        let isDown = (0..<8).map { _ in Int.random(in: 0..<4, using: &random) == 0 }
        var delivered: [(position: Int64, at: Duration)] = []
        var failedAt: [Int64: Duration] = [:]
        let clean = Duration.seconds(2000)
        scene.run(for: .seconds(6 * 3600), latency: .milliseconds(Int.random(in: 1...3000, using: &random))) { position, _, elapsed in
            let outcome: DeliveryOutcome
            let step = Int(elapsed / .seconds(250))
            if elapsed > clean {
                outcome = .status(200)
            } else if isDown[min(step, 7)] {
                outcome = .failed("down")
            } else {
                switch Int.random(in: 0..<20, using: &random) {
                case 0, 1: outcome = .status(400)
                case 2: outcome = .status(500)
                case 3: outcome = .status(429, retryAfter: .seconds(Int.random(in: 0...90, using: &random)))
                case 4: outcome = .proxyFailed("407")
                case 5: outcome = .failed("timed out")
                default: outcome = .status(200)
                }
            }
            if case .answered(let answer) = outcome, answer.status == 200 {
                delivered.append((position, elapsed))
            } else if case .proxyFailed = outcome {
            } else if failedAt[position] == nil {
                failedAt[position] = elapsed
            }
            return outcome
        }
        let once = delivered.filter { $0.position >= first }
        #expect(Set(once.map(\.position)) == Set(first...Int64(count)), "seed \(seed): some are missing")
        #expect(scene.feed.redelivery == nil, "seed \(seed): the redelivery has not ended")
        #expect(scene.feed.position == Int64(count) && scene.feed.open.isEmpty, "seed \(seed): the cursor is at \(scene.feed.position)")
        for subject in Set(subjects.compactMap(\.self)) {
            let own = once.filter { subjects[Int($0.position) - 1] == subject }
            for (earlier, later) in zip(own, own.dropFirst()) where later.position < earlier.position {
                // The later one was overtaken: it must have failed for ten minutes.
                let failed = failedAt[later.position].map { earlier.at - $0 }
                #expect(
                    failed.map { $0 >= .seconds(590) } ?? false,
                    "seed \(seed): \(earlier.position) before \(later.position) after \(failed ?? .zero)"
                )
            }
        }
    }
}
