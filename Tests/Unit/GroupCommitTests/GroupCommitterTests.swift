import Logging
import ServiceLifecycle
import Testing

@testable import Ingest
@testable import Postgres
@testable import ServiceSupport

@Suite(.timeLimit(.minutes(1)))
struct GroupCommitterTests {
    let database = ScriptedDatabase()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs a group committer on the scripted database for the duration of a test.
    private func withCommitter(
        _ change: (inout GroupCommitter.Configuration) -> Void = { _ in },
        _ body: (GroupCommitter, GracefulShutdownTrigger) async throws -> Void
    ) async throws {
        var configuration = GroupCommitter.Configuration()
        configuration.probeDelay = .milliseconds(1) ... .milliseconds(2)
        change(&configuration)
        let committer = GroupCommitter(configuration: configuration, logger: logger) { [database] in try await database.receive($0, $1) }
        let group = ServiceGroup(configuration: .init(services: [.init(service: committer)], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body(committer, GracefulShutdownTrigger(group: group))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    @Test func `a submission completes after its commit`() async throws {
        try await withCommitter { committer, _ in
            async let id = committer.submit([7], source: "notification_v2")
            let call = try await database.nextCall()
            #expect(call.bodies == [[7]])
            call.commit()
            #expect(try await id == 7)
        }
    }

    @Test func `bodies submitted during a commit share the next one`() async throws {
        try await withCommitter({ $0.maximumBatchesInFlight = 1 }) { committer, _ in
            try await withThrowingTaskGroup(of: Int64.self) { submissions in
                submissions.addTask { try await committer.submit([0], source: "notification_v2") }
                let first = try await database.nextCall()
                for index in 1...63 { submissions.addTask { try await committer.submit([UInt8(index)], source: "notification_v2") } }
                while committer.backlog.events < 63 { await Task.yield() }
                first.commit()
                let second = try await database.nextCall()
                #expect(second.bodies.count == 63)
                second.commit()
                let ids = try await submissions.reduce(into: []) { $0.append($1) }
                #expect(ids.sorted() == (0...63).map { Int64($0) })
            }
        }
    }

    @Test func `a second batch is sent after the linger time while the first is in flight`() async throws {
        try await withCommitter { committer, _ in
            async let first = committer.submit([1], source: "notification_v2")
            let firstCall = try await database.nextCall()
            async let second = committer.submit([2], source: "notification_v2")
            let secondCall = try await database.nextCall()
            secondCall.commit()
            #expect(try await second == 2)
            firstCall.commit()
            #expect(try await first == 1)
        }
    }

    @Test func `a failed commit fails its batch and the waiting bodies`() async throws {
        try await withCommitter({ $0.maximumBatchesInFlight = 1 }) { committer, _ in
            async let first: GroupCommitError? = failure(of: committer, [1])
            let call = try await database.nextCall()
            async let second: GroupCommitError? = failure(of: committer, [2])
            while committer.backlog.events < 1 { await Task.yield() }
            call.fail()
            #expect(await first?.code == .notCommitted)
            #expect(await second?.code == .unavailable)
            let probe = try await database.nextCall()
            #expect(probe.bodies.isEmpty)
            #expect(await failure(of: committer, [3])?.code == .unavailable)
            probe.commit()
            while await failure(of: committer, nil) != nil { await Task.yield() }
            async let third = committer.submit([3], source: "notification_v2")
            try await database.nextCall().commit()
            #expect(try await third == 3)
        }
    }

    @Test func `the database is probed until a probe succeeds`() async throws {
        try await withCommitter { committer, _ in
            async let first: GroupCommitError? = failure(of: committer, [1])
            try await database.nextCall().fail()
            #expect(await first?.code == .notCommitted)
            for _ in 1...3 { try await database.nextCall().fail() }
            let probe = try await database.nextCall()
            #expect(await failure(of: committer, [2])?.code == .unavailable)
            probe.commit()
            while await failure(of: committer, nil) != nil { await Task.yield() }
        }
    }

    @Test func `a result with too few event ids fails the batch`() async throws {
        try await withCommitter { committer, _ in
            async let error: GroupCommitError? = failure(of: committer, [1])
            try await database.nextCall().answer([])
            let failure = await error
            #expect(failure?.code == .notCommitted)
            #expect((failure?.cause as? GroupCommitError)?.code == .incomplete)
            try await database.nextCall().commit()
        }
    }

    @Test func `a cancelled submission still waits for its commit`() async throws {
        try await withCommitter { committer, _ in
            try await withThrowingTaskGroup(of: Int64.self) { submissions in
                submissions.addTask { try await committer.submit([1], source: "notification_v2") }
                let call = try await database.nextCall()
                submissions.cancelAll()
                call.commit()
                #expect(try await submissions.next() == 1)
            }
        }
    }

    @Test func `a commit without an answer times out`() async throws {
        var configuration = GroupCommitter.Configuration()
        configuration.commitTimeout = .milliseconds(20)
        configuration.probeTimeout = .milliseconds(20)
        let committer = GroupCommitter(configuration: configuration, logger: logger) { _, _ in
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw CancellationError()
        }
        await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await committer.run() }
            let error = await failure(of: committer, [1])
            #expect((error?.cause as? GroupCommitError)?.code == .timedOut)
            await #expect(throws: GroupCommitError.self) { try await committer.checkReadiness() }
            tasks.cancelAll()
        }
    }

    @Test func `a commit has one timer, and leaves none behind`() async throws {
        let ticker = Ticker()
        let committer = GroupCommitter(logger: logger, ticker: ticker) { [database] in try await database.receive($0, $1) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await committer.run() }
            for index in 0..<100 {
                async let id = committer.submit([UInt8(index)], source: "notification_v2")
                let call = try await database.nextCall()
                while ticker.count == 0 { await Task.yield() }
                #expect(ticker.count == 1)
                call.commit()
                _ = try await id
            }
            tasks.cancelAll()
        }
        #expect(ticker.count == 0)
    }

    @Test func `shutdown commits the accepted bodies and refuses new ones`() async throws {
        try await withCommitter({ $0.maximumBatchesInFlight = 1 }) { committer, shutdown in
            async let first = committer.submit([1], source: "notification_v2")
            let firstCall = try await database.nextCall()
            async let second = committer.submit([2], source: "notification_v2")
            while committer.backlog.events < 1 { await Task.yield() }
            await shutdown()
            while !committer.isDraining { await Task.yield() }
            #expect(await failure(of: committer, [3])?.code == .shuttingDown)
            firstCall.commit()
            try await database.nextCall().commit()
            #expect(try await first == 1)
            #expect(try await second == 2)
        }
    }

    @Test func `one probe answers all concurrent readiness checks`() async throws {
        try await withCommitter { committer, _ in
            try await withThrowingTaskGroup(of: Void.self) { checks in
                for _ in 1...10 { checks.addTask { try await committer.checkReadiness() } }
                let probe = try await database.nextCall()
                while committer.waitingReadinessChecks < 10 { await Task.yield() }
                probe.commit()
                try await checks.waitForAll()
            }
            try await committer.checkReadiness()
        }
    }

    /// The failure of a submission, or of a readiness check when `body` is nil.
    private func failure(of committer: GroupCommitter, _ body: [UInt8]?) async -> GroupCommitError? {
        do {
            if let body { _ = try await committer.submit(body, source: "notification_v2") } else { try await committer.checkReadiness() }
            return nil
        } catch {
            return error as? GroupCommitError
        }
    }
}

/// Starts a graceful shutdown.
struct GracefulShutdownTrigger {
    let group: ServiceGroup

    func callAsFunction() async {
        await group.triggerGracefulShutdown()
    }
}
