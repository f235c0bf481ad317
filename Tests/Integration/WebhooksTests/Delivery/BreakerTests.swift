import Testing

@testable import Feed

/// The breaker of an endpoint, by a clock of the test's.
struct BreakerTests {
    private static let down = DeliveryOutcome.failed("Connection refused")

    @Test func `an endpoint that is down gets single probes, and none of its entries loses more than one attempt`() {
        var scene = EndpointScene((0..<1000).map { "\($0 % 50)" }, window: 8)
        scene.run(for: .seconds(3600)) { _, _, _ in Self.down }
        // 5 s, 10 s … then every five minutes.
        #expect(scene.sent.count < 8 + 30, "\(scene.sent.count)")
        #expect(
            scene.feed.reports.count { $0.result == .failed && $0.wait != nil } <= 5 && scene.feed.reports.allSatisfy { $0.attempts <= 1 }
        )
        #expect(scene.feed.position <= 8, "the cursor stands still")
        #expect(scene.deliveries.bytes == 0, "no body waits for the next probe")
        scene.run(for: .seconds(1200)) { _, _, _ in .status(200) }
        #expect(scene.feed.position == 1000 && scene.feed.open.isEmpty && Set(scene.order) == Set(1...1000))
        #expect(scene.events.filter { $0 == .breakerClosed }.count == 1)
        #expect(scene.feed.settlements.last.map { $0.failures == 0 && !$0.isFailing && $0.openFor == nil && $0.probes == 0 } == true)
    }

    @Test func `each probe takes another entry, so that a poisoned one does not keep the breaker open`() {
        var scene = EndpointScene((0..<20).map { "\($0)" }, window: 2)
        let poison: Set<Int64> = [1, 2, 3, 4, 5, 6, 7]
        // While it is down, all fail; then only the poisoned ones.
        scene.run(for: .seconds(3600)) { position, _, elapsed in
            elapsed < .seconds(60) || poison.contains(position) ? .status(500) : .status(200)
        }
        let probes = scene.feed.reports.filter { $0.result == .probeFailed }.map(\.position)
        #expect(probes.count >= 5 && Set(probes.prefix(5)).count == 5)
        #expect(Set(8...20).isSubset(of: scene.feed.reports.filter { $0.result == .delivered }.map(\.position)))
    }

    @Test func `a probe that is answered 4xx closes the breaker, so that many bad entries do not keep the others back`() {
        var scene = EndpointScene((0..<60).map { "\($0)" }, window: 8)
        scene.run(for: .seconds(3600)) { position, _, elapsed in
            .status(elapsed < .seconds(10) ? 503 : position <= 55 ? 422 : 200)
        }
        let delivered = scene.feed.reports.filter { $0.result == .delivered }.map(\.position)
        #expect(delivered.sorted() == Array(56...60) && scene.feed.position == 60)
        let refused = scene.feed.reports.filter { $0.status == 422 }
        #expect(refused.allSatisfy { $0.result == .failed && $0.attempts > 0 && $0.wait != nil })
        #expect(Set(refused.map(\.position)).count == 55)
        #expect(scene.events.filter { $0 == .breakerClosed }.count == 1 && !scene.deliveries.breaker.isOpen)
    }

    @Test func `one poisoned entry alone does not open it, and is given up after its last attempt`() {
        var scene = EndpointScene(["a"])
        scene.run(for: .seconds(6 * 86_400)) { _, _, _ in .status(500) }
        #expect(scene.order.count == 10 && scene.feed.open[1]?.isGivenUp == true && scene.feed.position == 1)
        #expect(scene.deliveries.phase == .serving)
        #expect(!scene.events.contains { if case .breakerOpened = $0 { true } else { false } })
        // A second one is enough.
        scene.feed.subjects += ["b"]
        scene.run(for: .seconds(700)) { _, _, _ in .status(500) }
        #expect(scene.events.contains(.breakerOpened(why: "HTTP status 500")))
    }

    @Test func `a probe is the first of its subject`() {
        var scene = EndpointScene(["a", "a", "a", "b", "b", "b", "c"], window: 2)
        scene.run(for: .seconds(600)) { _, _, elapsed in elapsed < .seconds(100) ? Self.down : .status(200) }
        for subject in [[Int64(1), 2, 3], [4, 5, 6]] {
            let firsts = scene.feed.reports.filter { $0.result == .delivered && subject.contains($0.position) }.map(\.position)
            #expect(firsts == subject)
        }
        #expect(scene.feed.open.isEmpty && scene.feed.position == 7)
    }

    @Test func `five failures in a row open it, and four do not`() {
        for (failures, opens) in [(4, false), (5, true)] {
            var scene = EndpointScene((0..<20).map { _ in nil }, window: 1)
            scene.run(for: .seconds(3)) { position, _, _ in .status(position <= failures ? 500 : 200) }
            #expect(scene.events.contains { if case .breakerOpened = $0 { true } else { false } } == opens)
        }
    }

    @Test func `seven failures of ten within five minutes open it`() {
        var scene = EndpointScene((0..<12).map { _ in nil }, window: 1)
        let good: Set<Int64> = [3, 6, 9]
        scene.run(for: .seconds(3)) { position, _, _ in .status(good.contains(position) ? 200 : 503) }
        #expect(scene.events.contains(.breakerOpened(why: "HTTP status 503")) && scene.order == Array(1...10))
    }

    @Test(arguments: [400, 404, 302, 401])
    func `an endpoint that answers only some entries with 200 is not stopped`(status: Int) {
        var scene = EndpointScene((0..<300).map { "\($0)" }, window: 8)
        scene.run(for: .seconds(5)) { position, _, _ in .status(position % 3 == 0 ? 200 : status) }
        #expect(!scene.events.contains { if case .breakerOpened = $0 { true } else { false } })
        #expect(scene.feed.position == 300 && scene.feed.open.count == 200)
        #expect(Set(scene.order) == Set(1...300))
    }

    @Test(arguments: [404, 500])
    func `five days without a success disable the endpoint`(status: Int) throws {
        var scene = EndpointScene((0..<60).map { "\($0)" }, window: 8)
        scene.run(for: .seconds(4 * 86_400)) { _, _, _ in .status(status) }
        #expect(scene.deliveries.phase == .serving)
        // New ones, whose failures are noticed.
        scene.feed.subjects += ["new", "newer"]
        scene.run(for: .seconds(2 * 86_400)) { _, _, _ in .status(status) }
        #expect(scene.deliveries.phase == .over)
        #expect(scene.feed.settlements.last?.disableBecause == "no delivery has succeeded for five days")
    }

    @Test(arguments: [404, 500])
    func `days without an attempt are no days of failures`(status: Int) {
        var scene = EndpointScene(["a"])
        scene.run(for: .seconds(6 * 86_400)) { _, _, _ in .status(status) }
        #expect(scene.feed.open[1]?.isGivenUp == true && scene.deliveries.phase == .serving)
        scene.feed.subjects += (0..<20).map { "\($0)" }
        let again = scene.elapsed
        scene.run(for: .seconds(3 * 86_400)) { _, _, _ in .status(status) }
        #expect(scene.deliveries.phase == .serving)
        scene.feed.subjects += (20..<30).map { "\($0)" }
        scene.run(for: .seconds(60 * 3600)) { _, _, _ in .status(status) }
        #expect(scene.deliveries.phase == .over && scene.elapsed - again >= .seconds(5 * 86_400))
    }

    @Test func `the days are counted over leases`() {
        var scene = EndpointScene((0..<20).map { _ in nil }, failingFor: .seconds(5 * 86_400))
        scene.run(for: .seconds(3600)) { _, _, _ in .status(500) }
        #expect(scene.deliveries.phase == .over)
        // Two failures are no days of failures.
        scene = EndpointScene([nil, nil], failingFor: .seconds(5 * 86_400))
        scene.run(for: .seconds(1)) { _, _, _ in .status(500) }
        #expect(scene.deliveries.phase == .serving)
        scene = EndpointScene([nil, nil], failingFor: .seconds(5 * 86_400))
        scene.run(for: .seconds(1)) { _, _, _ in .status(200) }
        #expect(scene.deliveries.phase == .serving)
    }
}
