import Testing

@testable import Feed

/// What is sent, when, and what is reported, by a clock of the test's.
struct EndpointDeliveriesTests {
    @Test func `entries are sent in the window's width, and the cursor follows`() {
        var scene = EndpointScene((0..<100).map { _ in nil }, window: 4)
        scene.run(for: .seconds(5)) { _, _, _ in .status(200) }
        #expect(scene.order == Array(1...100) && scene.feed.position == 100 && scene.feed.open.isEmpty)
        #expect(scene.feed.reports.allSatisfy { $0.result == .delivered })
        // Never more in memory than the window and as much ahead.
        #expect(scene.takes.allSatisfy { $0.most <= 4 } && scene.greatestBytes <= 8 * 2)
    }

    @Test func `bodies in memory are bounded`() {
        var scene = EndpointScene((0..<50).map { _ in nil }, window: 64) { $0.bodySize = 500_000 }
        scene.run(for: .seconds(60)) { _, _, _ in .status(200) }
        #expect(scene.order == Array(1...50))
        #expect(scene.takes.allSatisfy { $0.mostBytes <= 2_097_152 && $0.mostBytes > 0 })
    }

    @Test func `entries that are not wanted move the cursor, and are settled once a second at most`() {
        var scene = EndpointScene((0..<5000).map { _ in nil }) { $0.unwanted = Set(1...5000) }
        scene.run(for: .seconds(3)) { _, _, _ in .status(200) }
        #expect(scene.feed.position == 5000 && scene.sent.isEmpty && scene.feed.settlements.count <= 3)
    }

    @Test func `one entry of a subject is in flight, in order, and others are not delayed`() {
        var scene = EndpointScene(["a", "a", "b", "a", "b", nil], window: 8)
        scene.run(for: .seconds(1), latency: .milliseconds(50)) { _, _, _ in .status(200) }
        let firsts = scene.sent.filter { $0.at < .milliseconds(50) }.map(\.position)
        #expect(firsts == [1, 3, 6])
        #expect(scene.order.filter { [1, 2, 4].contains($0) } == [1, 2, 4] && scene.order.filter { [3, 5].contains($0) } == [3, 5])
    }

    @Test func `a run of one subject does not keep the others back`() throws {
        var scene = EndpointScene((0..<40).map { _ in "a" } + ["b", nil], window: 8)
        scene.run(for: .seconds(10), latency: .milliseconds(100)) { _, _, _ in .status(200) }
        let last = try #require(scene.sent.filter { $0.position > 40 }.map(\.at).max())
        #expect(last < .milliseconds(300), "\(last)")
        #expect(scene.order.filter { $0 <= 40 } == Array(1...40) && scene.feed.position == 42)
    }

    @Test func `behind one slow entry the others go on, and reads do not grow`() throws {
        var scene = EndpointScene((0..<5000).map { _ in nil }, window: 8)
        scene.run(for: .seconds(14), slow: [1: .seconds(13)]) { position, _, _ in .status(position == 2 ? 500 : 200) }
        let others = try #require(scene.sent.filter { $0.position > 2 }.map(\.at).max())
        #expect(others < .seconds(12) && scene.takes.allSatisfy { $0.known.count <= 100 })
        // A failed one is tried again before the slow one ends.
        #expect(scene.sent.filter { $0.position == 2 }.map(\.at).contains { $0 > .seconds(3) && $0 < .seconds(12) })
        #expect(scene.feed.position == 5000)
    }

    @Test func `without order, entries of a subject are in flight together`() {
        var scene = EndpointScene(["a", "a", "a"], window: 8, keepsOrder: false)
        scene.run(for: .seconds(1), latency: .milliseconds(500)) { _, _, _ in .status(200) }
        #expect(scene.sent.allSatisfy { $0.at < .milliseconds(100) } && scene.order == [1, 2, 3])
    }

    @Test func `a failed entry is tried again by the schedule, and given up after the tenth attempt`() throws {
        // Others succeed, so that the endpoint is not disabled.
        var scene = EndpointScene((0..<2).map { _ in nil })
        scene.run(for: .seconds(5 * 86_400)) { position, _, _ in .status(position == 1 ? 400 : 200) }
        let times = scene.sent.filter { $0.position == 1 }.map(\.at)
        #expect(times.count == 10)
        let pauses = zip(times.dropFirst(), times).map { ($0 - $1) / .seconds(1) }
        for (pause, nominal) in zip(pauses, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400.0]) {
            #expect(pause > nominal * 0.79 && pause < nominal * 1.21 + 2)
        }
        #expect(Set(pauses.map { Int($0) }).count == 9)
        let last = try #require(scene.feed.reports.last)
        #expect(last.result == .givenUp && last.attempts == 10 && last.status == 400 && scene.feed.open[1]?.isGivenUp == true)
        #expect(scene.events.contains(.gaveUp(why: "HTTP status 400")))
    }

    @Test func `a failed entry holds its subject for ten minutes at most, and only its subject`() {
        var scene = EndpointScene(["a", "a", "b", "a"])
        scene.run(for: .seconds(3600)) { position, _, _ in .status(position == 1 ? 400 : 200) }
        let sent = Dictionary(grouping: scene.sent, by: \.position)
        #expect(sent[3]?.first.map { $0.at < .seconds(1) } == true)
        for position in [Int64(2), 4] {
            let first = sent[position]?.first?.at ?? .zero
            #expect(first >= .seconds(599) && first < .seconds(610), "\(position) at \(first)")
        }
        #expect(scene.order.firstIndex(of: 2) ?? 9 < scene.order.firstIndex(of: 4) ?? 0)
        #expect(scene.feed.reports.contains { $0.result == .held && $0.position == 2 && $0.attempts == 0 })
    }

    @Test func `when the failed entry is delivered, those that it held follow at once and in order`() {
        var scene = EndpointScene(["a", "a", "a", "a"])
        scene.run(for: .seconds(60)) { position, attempt, _ in .status(position == 1 && attempt == 1 ? 500 : 200) }
        #expect(scene.order == [1, 1, 2, 3, 4] && (scene.sent.last?.at ?? .zero) < .seconds(8) && scene.feed.open.isEmpty)
    }

    @Test func `an entry whose body is gone is given up without an attempt`() {
        var scene = EndpointScene([nil, nil]) { $0.missingBodies = [1] }
        scene.run(for: .seconds(1)) { _, _, _ in .status(200) }
        #expect(scene.order == [2] && scene.feed.open[1]?.isGivenUp == true && scene.feed.position == 2)
        #expect(scene.events.contains(.gaveUp(why: "the notification has aged or was forgotten")))
    }

    @Test(arguments: [(429, 7), (503, 7), (429, 0), (503, -50), (429, 100_000)])
    func `Retry-After is waited for, a second at least and an hour at most, and counts no attempt`(status: Int, seconds: Int) throws {
        var scene = EndpointScene([nil, nil, nil], window: 1)
        scene.run(for: .seconds(7300)) { position, attempt, _ in
            position == 1 && attempt == 1 ? .status(status, retryAfter: .seconds(seconds)) : .status(200)
        }
        let expected = Duration.seconds(min(max(seconds, 1), 3600))
        #expect(scene.order.sorted() == [1, 1, 2, 3])
        #expect(scene.sent.dropFirst().allSatisfy { $0.at >= expected && $0.at < expected + .seconds(2) }, "nothing is sent meanwhile")
        let later = try #require(scene.feed.reports.first)
        #expect(later.result == .later && later.attempts == 0 && later.status == status)
    }

    @Test func `an endpoint that always asks to come again at once is not asked in a hot loop`() {
        var scene = EndpointScene((0..<500).map { _ in nil }, window: 8)
        scene.run(for: .seconds(600)) { _, _, _ in .status(429, retryAfter: .zero) }
        // The breaker opens, too: seldom probes.
        #expect(scene.sent.count < 30, "\(scene.sent.count)")
        #expect(scene.feed.reports.allSatisfy { $0.attempts == 0 })
    }

    @Test func `410 disables the endpoint at once`() throws {
        var scene = EndpointScene((0..<20).map { _ in nil }, window: 1)
        scene.run(for: .seconds(10)) { position, _, _ in .status(position == 3 ? 410 : 200) }
        #expect(scene.order == [1, 2, 3] && scene.deliveries.phase == .over)
        let last = try #require(scene.feed.settlements.last)
        #expect(last.disableBecause == "the endpoint answered 410 Gone" && last.position == 2)
        #expect(last.reports.last?.result == .failed && scene.feed.open.isEmpty, "it is sent again when the endpoint is resumed")
    }

    @Test func `what is in flight when an endpoint is disabled is reported, and the decision is told once`() throws {
        var scene = EndpointScene((0..<20).map { _ in nil }, window: 8, perSecond: 1)
        scene.run(for: .seconds(60), latency: .milliseconds(3500)) { position, _, _ in .status(position <= 2 ? 410 : 200) }
        #expect(scene.order == [1, 2, 3, 4] && scene.deliveries.phase == .over)
        #expect(scene.events.filter { $0 == .disabled(why: "the endpoint answered 410 Gone") }.count == 1)
        #expect(scene.feed.reports.map(\.result) == [.failed, .failed, .delivered, .delivered])
        #expect(scene.feed.settlements.map { $0.disableBecause != nil }.firstIndex(of: true) == scene.feed.settlements.count - 1)
    }

    @Test func `at most so many are sent in any second`() {
        var scene = EndpointScene((0..<200).map { _ in nil }, window: 64, perSecond: 10)
        scene.run(for: .seconds(30), latency: .milliseconds(1)) { _, _, _ in .status(200) }
        #expect(scene.sent.count == 200)
        for sent in scene.sent { #expect(scene.sent.count { $0.at >= sent.at && $0.at < sent.at + .seconds(1) } <= 10) }
        #expect((scene.sent.last?.at ?? .zero) < .seconds(22))
    }

    @Test func `a limit that is changed applies at once`() {
        var limit = RateLimit(3)
        let now = ContinuousClock.now
        for step in 0..<5 { limit.count(at: now + .milliseconds(step)) }
        #expect(limit.nextAt == now + .milliseconds(2) + .seconds(1))
        limit.change(to: 2)
        #expect(limit.nextAt == now + .milliseconds(3) + .seconds(1))
        limit.change(to: 4)
        #expect(limit.nextAt == nil)
        limit.change(to: nil)
        #expect(limit.nextAt == nil)
    }

    @Test func `a redelivery has half of the window at most, and what is new comes first`() {
        var scene = EndpointScene((0..<60).map { _ in nil }, window: 4) {
            $0.position = 40
            $0.redelivery = (1, 0, 40)
        }
        scene.run(for: .seconds(30), latency: .milliseconds(100)) { _, _, _ in .status(200) }
        #expect(Set(scene.order) == Set(1...60) && scene.sent.count == 60 && scene.feed.redelivery == nil)
        let live = scene.sent.filter { $0.position > 40 }
        let alone = Duration.milliseconds(20 / 4 * 100)
        #expect((live.last?.at ?? .zero) < alone * 2, "half of the window is theirs: \(live.last?.at ?? .zero)")
        let again = scene.sent.filter { $0.position <= 40 }
        for sent in again { #expect(again.count { $0.at <= sent.at && $0.at > sent.at - .milliseconds(100) } <= 2) }
    }

    @Test func `a redelivery of entries that are sent anyway does not send them twice at once`() {
        var scene = EndpointScene((0..<20).map { _ in nil }, window: 8) { $0.redelivery = (1, 0, 20) }
        scene.run(for: .seconds(30), latency: .milliseconds(100)) { _, _, _ in .status(200) }
        for times in Dictionary(grouping: scene.sent, by: \.position).values.map({ $0.map(\.at) }) {
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(100) })
        }
        #expect(Set(scene.order) == Set(1...20) && scene.feed.position == 20 && scene.feed.redelivery == nil)
        #expect(scene.deliveries.bytes == 0)
    }

    @Test func `proxy faults cost no attempt, and are tried again with growing pauses`() {
        var scene = EndpointScene(["a", "a", nil], window: 4)
        scene.run(for: .seconds(600)) { _, _, elapsed in elapsed < .seconds(300) ? .proxyFailed("status 407") : .status(200) }
        #expect(scene.feed.reports.map(\.result) == [.delivered, .delivered, .delivered])
        #expect(scene.sent.count < 60 && !scene.events.contains { if case .breakerOpened = $0 { true } else { false } })
        #expect(scene.order.suffix(3).sorted() == [1, 2, 3] && scene.feed.position == 3)
    }

    @Test func `a failure of the database stops sending, and nothing is lost`() {
        var scene = EndpointScene((0..<40).map { _ in nil }, window: 4)
        scene.run(for: .milliseconds(30)) { _, _, _ in .status(200) }
        scene.deliveries.databaseFailed(at: scene.now, using: &scene.random)
        let before = scene.sent.count
        // The statement that polls for all endpoints works, and that of this one does not.
        scene.deliveries.polled(scene.deliveries.settings, hasWork: true, leaseEnd: scene.deliveries.leaseEnd)
        guard case .wait = scene.deliveries.next(at: scene.now) else {
            Issue.record("it goes on")
            return
        }
        #expect(scene.sent.count == before)
        scene.run(for: .seconds(10)) { _, _, _ in .status(200) }
        #expect(Set(scene.order) == Set(1...40) && scene.feed.position == 40)
    }

    @Test func `an endpoint that is taken away is not sent to any more, and what was in flight is reported`() {
        var scene = EndpointScene((0..<40).map { _ in nil }, window: 4)
        scene.run(for: .milliseconds(15)) { _, _, _ in .status(200) }
        let before = scene.sent.count
        scene.deliveries.end(by: scene.now + .seconds(3))
        scene.run(for: .seconds(10)) { _, _, _ in .status(200) }
        #expect(scene.sent.count == before && scene.deliveries.phase == .over && scene.feed.reports.count == before)
        #expect(scene.elapsed < .seconds(1))
    }

    @Test func `nothing is sent after the lease`() {
        var scene = EndpointScene((0..<1000).map { _ in nil }, window: 1)
        scene.deliveries.leaseEnd = scene.now + .milliseconds(100)
        scene.run(for: .seconds(10)) { _, _, _ in .status(200) }
        #expect(scene.deliveries.phase == .over && scene.sent.allSatisfy { $0.at < .milliseconds(100) })
    }

    @Test func `a settlement of a lost lease ends the deliveries`() {
        var scene = EndpointScene([nil])
        scene.run(for: .milliseconds(5)) { _, _, _ in .status(200) }
        scene.deliveries.settled(scene.deliveries.settlement(at: scene.now), isOurs: false, at: scene.now)
        if case .end = scene.deliveries.next(at: scene.now) { return }
        Issue.record("it goes on")
    }

    @Test func `the answers of failures and of tests are kept, and a NUL in them is replaced`() throws {
        var scene = EndpointScene([nil])
        scene.run(for: .seconds(1)) { _, _, _ in
            .answered(DeliveryAnswer(status: 302, retryAfter: nil, body: [0x61, 0, 0xff], byteCount: 70_000))
        }
        let report = try #require(scene.feed.reports.first)
        #expect(
            report.answer == "a?\u{fffd}" && report.answerBytes == 70_000 && report.error == "HTTP status 302: redirects are not followed"
        )
    }
}
