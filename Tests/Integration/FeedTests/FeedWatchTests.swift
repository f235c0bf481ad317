import Feed
import Synchronization
import Testing

/// Waiters share the questions about the end of the feed.
@Suite(.timeLimit(.minutes(2)))
struct FeedWatchTests {
    /// A feed whose end a test moves.
    private final class Scene: Sendable {
        private let state = Mutex((position: Int64(0), questions: 0, fails: false))

        var end: FeedEnd { FeedEnd(generation: 1, position: state.withLock { $0.position }) }
        var questions: Int { state.withLock { $0.questions } }

        func grow() { state.withLock { $0.position += 1 } }
        func fail(_ fails: Bool) { state.withLock { $0.fails = fails } }

        func read() throws -> FeedEnd {
            try state.withLock { state in
                state.questions += 1
                if state.fails { throw CancellationError() }
                return FeedEnd(generation: 1, position: state.position)
            }
        }

        /// Runs a watch that asks this scene each tick, for the length of `body`.
        func watching(every tick: Duration = .milliseconds(20), _ body: (FeedWatch) async throws -> Void) async throws {
            let watch = FeedWatch(every: tick, restAfterFailure: tick) { try self.read() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await watch.run() }
                try await body(watch)
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }

    private final class Client: Sendable {
        let isGone = Atomic(false)
    }

    @Test func `ten thousand waiters cost one question a tick, and are answered together`() async throws {
        let scene = Scene()
        try await scene.watching(every: .milliseconds(100)) { watch in
            let end = scene.end
            let start = ContinuousClock.now
            let answers = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<10_000 { group.addTask { await watch.grows(beyond: end, until: .now + .seconds(60)) } }
                group.addTask {
                    while scene.questions < 5 { await Task.yield() }
                    scene.grow()
                    return true
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == 10_001)
            let ticks = Int((ContinuousClock.now - start) / .milliseconds(100))
            #expect((6...ticks + 1).contains(scene.questions), "\(scene.questions) questions in \(ticks) ticks")
        }
    }

    @Test func `nothing is asked while nothing waits`() async throws {
        let scene = Scene()
        try await scene.watching { watch in
            #expect(await !watch.grows(beyond: scene.end, until: .now - .seconds(1)))
            #expect(scene.questions == 0)
            #expect(await !watch.grows(beyond: scene.end, until: .now + .milliseconds(50)))
            let asked = scene.questions
            // Another watch runs for many ticks meanwhile.
            try await Scene().watching { other in _ = await other.grows(beyond: scene.end, until: .now + .milliseconds(200)) }
            #expect((1...4).contains(asked))
            #expect(scene.questions <= asked + 1, "one may have begun while it waited")
        }
    }

    @Test func `a waiter is answered at its deadline, also while the database fails`() async throws {
        let scene = Scene()
        try await scene.watching { watch in
            scene.fail(true)
            let start = ContinuousClock.now
            #expect(await !watch.grows(beyond: scene.end, until: start + .milliseconds(100)))
            #expect(ContinuousClock.now - start < .seconds(10))
            scene.fail(false)
            scene.grow()
            #expect(await watch.grows(beyond: FeedEnd(generation: 1, position: 0), until: .now + .seconds(60)))
        }
    }

    @Test func `who is gone or cancelled waits no longer, also while the database is silent`() async throws {
        let silence = AsyncStream.makeStream(of: Void.self)
        let watch = FeedWatch(limit: 1, every: .milliseconds(20)) {
            for await _ in silence.stream {}
            throw CancellationError()
        }
        let end = FeedEnd(generation: 1, position: 0)
        let client = Client()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watch.run() }
            let cancelled = Task { await watch.grows(beyond: end, until: .now + .seconds(3600)) }
            while !watch.isFull { await Task.yield() }
            cancelled.cancel()
            #expect(await !cancelled.value)
            #expect(await !watch.grows(beyond: end, until: .now + .milliseconds(50)))
            async let gone = watch.grows(beyond: end, until: .now + .seconds(3600), unless: { client.isGone.load(ordering: .relaxed) })
            client.isGone.store(true, ordering: .relaxed)
            #expect(await !gone)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func `another generation is growth`() async throws {
        let scene = Scene()
        try await scene.watching { watch in
            #expect(await watch.grows(beyond: FeedEnd(generation: 0, position: 0), until: .now + .seconds(60)))
        }
    }

    @Test func `a watch that stops answers those that wait and those to come`() async throws {
        let scene = Scene()
        try await scene.watching { watch in
            async let waiting = watch.grows(beyond: scene.end, until: .now + .seconds(3600))
            while scene.questions < 1 { await Task.yield() }
            watch.stop()
            #expect(await !waiting)
            #expect(await !watch.grows(beyond: scene.end, until: .now + .seconds(3600)))
        }
    }
}
