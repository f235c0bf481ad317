import Foundation
import Postgres
import Randomness
import Testing

/// The order of the entries of one subject.
struct EndpointOrderTests {
    @Test func `a failed entry holds later ones of its subject for ten minutes, and nothing else`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "a", "b", "a", nil)
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 1, [.failed(1, "a")])
        let held = try await scene.take(lease, after: 1).map(\.heldMilliseconds)
        #expect((590_000...600_000).contains(held[0] ?? 0))
        #expect(held[1] == nil && (590_000...600_000).contains(held[2] ?? 0) && held[3] == nil)
        try await scene.run("UPDATE appstore.open_deliveries SET first_failed_at = now() - interval '11 minutes'")
        #expect(try await scene.take(lease, after: 1).allSatisfy { $0.heldMilliseconds == nil })
    }

    @Test func `entries that are held become due one after the other`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "a", "a", "a")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 3, [.failed(1, "a"), .held(2, "a"), .held(3, "a")])
        #expect(try await scene.open() == ["1 a 1 in 60", "2 a 0 in 600", "3 a 0 behind"])
        #expect(try await scene.take(lease, after: 3).map(\.heldMilliseconds) == [600_000, nil], "it must not overtake those that wait")
        try await scene.settle(lease, upTo: 4, [.held(4, "a")])
        try await scene.settle(lease, [Report(position: 1, subject: "a")])
        #expect(try await scene.open() == ["2 a 0 now", "3 a 0 behind", "4 a 0 behind"])
        #expect(try await scene.take(lease, after: 4).map(\.line) == ["due 2"])
        try await scene.settle(lease, [.failed(2, "a")])
        #expect(try await scene.open() == ["2 a 1 in 60", "3 a 0 in 600", "4 a 0 behind"])
        try await scene.settle(lease, [Report(position: 2, subject: "a", result: "given_up", attempts: 10)])
        #expect(try await scene.open() == ["2 a 10 given up", "3 a 0 now", "4 a 0 behind"])
    }

    @Test func `an entry that is held by one in flight is tried again soon`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "a")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, [.held(2, "a")])
        #expect(try await scene.lines("SELECT (run_at < now() + interval '6 seconds')::text FROM appstore.open_deliveries") == ["true"])
        try await scene.settle(lease, upTo: 2, [.failed(1, "a")])
        #expect(try await scene.open() == ["1 a 1 in 60", "2 a 0 in 600"])
    }

    @Test func `an entry that the receiver asks to send later holds its subject for ten minutes, too`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "a", "a")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 2, [.later(1, "a"), .held(2, "a")])
        #expect(try await scene.open() == ["1 a 0 in 1200", "2 a 0 in 600"])
        try await scene.pass(minutes: 9)
        try await scene.settle(lease, [.later(1, "a")])
        #expect(try await scene.open() == ["1 a 0 in 1200", "2 a 0 in 60"])
        try await scene.pass(minutes: 2)
        #expect(try await scene.take(lease, after: 2).map(\.line) == ["due 2", "next 3", "through 3"])
        try await scene.settle(lease, upTo: 3, [Report(position: 2, subject: "a"), Report(position: 3, subject: "a")])
        #expect(try await scene.open() == ["1 a 0 in 1080"])
    }

    @Test func `an entry that was asked to come later, and is held then, comes in the end`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "a", "a")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, [.later(2, "a", wait: 0)])
        try await scene.settle(lease, upTo: 3, [.failed(1, "a"), .held(2, "a"), .held(3, "a")])
        #expect(try await scene.open() == ["1 a 1 in 60", "2 a 0 in 600", "3 a 0 in 600"])
    }

    @Test func `without order nothing is held, also what was held before`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "a", "a", "a")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 3, [.failed(1, "a"), .held(2, "a"), .held(3, "a")])
        try await scene.operate(#"SELECT appstore.change_endpoint('crm', '{"keeps_order": false}')"#)
        #expect(try await scene.open() == ["1 a 1 in 60", "2 a 0 in 600", "3 a 0 now"])
        #expect(try await scene.take(lease, after: 3).allSatisfy { $0.heldMilliseconds == nil })
    }

    /// `ENDPOINT_SEEDS`: how many; 5 by default.
    @Test
    func
        `whatever fails, and whichever worker takes over, each entry arrives, and after the earlier ones of its subject that have not failed`()
        async throws
    {
        let seeds = ProcessInfo.processInfo.environment["ENDPOINT_SEEDS"].flatMap(Int.init) ?? 5
        for seed in 0..<seeds {
            let scene = try await EndpointScene.make()
            var random = SeededGenerator(seed: UInt64(seed))
            var receiver = Receiver()
            let subjects = (0..<40).map { _ in ["a", "b", "c", nil].randomElement(using: &random) ?? nil }
            receiver.subjects = subjects
            try await scene.tell(all: subjects)
            var lease = try #require(try await scene.lease().first)
            var cursor: Int64 = 0
            for round in 0..<400 {
                let taken = try await scene.take(lease, after: cursor, most: Int.random(in: 1...6, using: &random), redelivered: 0)
                let open = try await scene.open()
                if taken.isEmpty, open.isEmpty { break }
                try #require(round < 399, "seed \(seed): \(open)")
                var reports: [Report] = []
                for entry in taken.sorted(by: { $0.position < $1.position }) where entry.kind != "through" {
                    let isBehind = reports.contains { $0.subject == entry.subject && $0.result != "delivered" && entry.subject != nil }
                    if entry.heldMilliseconds != nil || isBehind {
                        reports.append(.held(entry.position, entry.subject ?? ""))
                    } else if Int.random(in: 0..<8, using: &random) == 0 {
                        receiver.failed.insert(entry.position)
                        reports.append(.later(entry.position, entry.subject, wait: 300_000))
                    } else if Int.random(in: 0..<3, using: &random) == 0 {
                        receiver.failed.insert(entry.position)
                        reports.append(.failed(entry.position, entry.subject, attempts: Int(entry.attempts) + 1))
                    } else {
                        let isInOrder = receiver.take(entry.position)
                        #expect(isInOrder, "seed \(seed): \(entry.position) overtakes")
                        reports.append(Report(position: entry.position, subject: entry.subject, attempts: Int(entry.attempts) + 1))
                    }
                }
                if Int.random(in: 0..<8, using: &random) == 0 {  // It dies before it reports: another one knows what is stored.
                    try await scene.run("UPDATE appstore.endpoints SET leased_until = NULL")
                    lease = try #require(try await scene.lease().first)
                    cursor = lease.position
                } else {
                    cursor = taken.first { $0.kind == "through" }?.position ?? cursor
                    try await scene.settle(lease, upTo: cursor, reports)
                }
                // Time passes.
                try await scene.pass(minutes: 4)
            }
            #expect(receiver.taken.count == subjects.count, "seed \(seed)")
        }
    }
}

/// Knows what it got, and what it did not take at first.
private struct Receiver {
    var subjects: [String?] = []
    var taken: Set<Int64> = []
    var failed: Set<Int64> = []

    /// False when an earlier entry of the subject was neither taken nor has failed.
    mutating func take(_ position: Int64) -> Bool {
        taken.insert(position)
        guard let subject = subjects[Int(position) - 1] else { return true }
        return (1..<position).allSatisfy { subjects[Int($0) - 1] != subject || taken.contains($0) || failed.contains($0) }
    }
}
