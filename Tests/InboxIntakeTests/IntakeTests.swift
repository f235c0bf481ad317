import Logging
import ServiceLifecycle
import Testing

@testable import Inbox

@Suite(.timeLimit(.minutes(1)))
struct IntakeTests {
    let database = ScriptedDatabase()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs an intake in front of the scripted database for the length of a test.
    private func withIntake(
        _ change: (inout Intake.Configuration) -> Void = { _ in },
        _ body: (Intake, GracefulShutdownTrigger) async throws -> Void
    ) async throws {
        var configuration = Intake.Configuration()
        configuration.probeDelay = .milliseconds(1) ... .milliseconds(2)
        change(&configuration)
        let intake = Intake(configuration: configuration, logger: logger) { [database] in try await database.receive($0, $1) }
        let group = ServiceGroup(configuration: .init(services: [.init(service: intake)], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body(intake, GracefulShutdownTrigger(group: group))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    @Test func `a sender is answered after the commit of its body`() async throws {
        try await withIntake { intake, _ in
            async let id = intake.submit([7], source: "notification_v2")
            let call = try await database.nextCall()
            #expect(call.bodies == [[7]])
            call.commit()
            #expect(try await id == 7)
        }
    }

    @Test func `senders that come while a commit is under way share the next one`() async throws {
        try await withIntake({ $0.maximumBatchesInFlight = 1 }) { intake, _ in
            try await withThrowingTaskGroup(of: Int64.self) { senders in
                senders.addTask { try await intake.submit([0], source: "notification_v2") }
                let first = try await database.nextCall()
                for index in 1...63 { senders.addTask { try await intake.submit([UInt8(index)], source: "notification_v2") } }
                while intake.backlog.events < 63 { await Task.yield() }
                first.commit()
                let second = try await database.nextCall()
                #expect(second.bodies.count == 63)
                second.commit()
                let ids = try await senders.reduce(into: []) { $0.append($1) }
                #expect(ids.sorted() == (0...63).map { Int64($0) })
            }
        }
    }

    @Test func `a second batch leaves after the linger while the first is under way`() async throws {
        try await withIntake { intake, _ in
            async let first = intake.submit([1], source: "notification_v2")
            let firstCall = try await database.nextCall()
            async let second = intake.submit([2], source: "notification_v2")
            let secondCall = try await database.nextCall()
            secondCall.commit()
            #expect(try await second == 2)
            firstCall.commit()
            #expect(try await first == 1)
        }
    }

    @Test func `a failed commit is told to each sender of the batch and to those who wait`() async throws {
        try await withIntake({ $0.maximumBatchesInFlight = 1 }) { intake, _ in
            async let first: IntakeError? = failure(of: intake, [1])
            let call = try await database.nextCall()
            async let second: IntakeError? = failure(of: intake, [2])
            while intake.backlog.events < 1 { await Task.yield() }
            call.fail()
            #expect(await first?.code == .notCommitted)
            #expect(await second?.code == .unavailable)
            let probe = try await database.nextCall()
            #expect(probe.bodies.isEmpty)
            #expect(await failure(of: intake, [3])?.code == .unavailable)
            probe.commit()
            while await failure(of: intake, nil) != nil { await Task.yield() }
            async let third = intake.submit([3], source: "notification_v2")
            try await database.nextCall().commit()
            #expect(try await third == 3)
        }
    }

    @Test func `probes go on until one succeeds`() async throws {
        try await withIntake { intake, _ in
            async let first: IntakeError? = failure(of: intake, [1])
            try await database.nextCall().fail()
            #expect(await first?.code == .notCommitted)
            for _ in 1...3 { try await database.nextCall().fail() }
            let probe = try await database.nextCall()
            #expect(await failure(of: intake, [2])?.code == .unavailable)
            probe.commit()
            while await failure(of: intake, nil) != nil { await Task.yield() }
        }
    }

    @Test func `a database that names too few events has not stored the batch`() async throws {
        try await withIntake { intake, _ in
            async let error: IntakeError? = failure(of: intake, [1])
            try await database.nextCall().answer([])
            let failure = await error
            #expect(failure?.code == .notCommitted)
            #expect((failure?.cause as? IntakeError)?.code == .incomplete)
            try await database.nextCall().commit()
        }
    }

    @Test func `a cancelled sender hears of its commit all the same`() async throws {
        try await withIntake { intake, _ in
            try await withThrowingTaskGroup(of: Int64.self) { senders in
                senders.addTask { try await intake.submit([1], source: "notification_v2") }
                let call = try await database.nextCall()
                senders.cancelAll()
                call.commit()
                #expect(try await senders.next() == 1)
            }
        }
    }

    @Test func `a commit without an answer is given up`() async throws {
        var configuration = Intake.Configuration()
        configuration.commitTimeout = .milliseconds(20)
        configuration.probeTimeout = .milliseconds(20)
        let intake = Intake(configuration: configuration, logger: logger) { _, _ in
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw CancellationError()
        }
        await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await intake.run() }
            let error = await failure(of: intake, [1])
            #expect((error?.cause as? IntakeError)?.code == .timedOut)
            await #expect(throws: IntakeError.self) { try await intake.checkReadiness() }
            tasks.cancelAll()
        }
    }

    @Test func `shutdown commits and answers what was taken, and refuses the rest`() async throws {
        try await withIntake({ $0.maximumBatchesInFlight = 1 }) { intake, shutdown in
            async let first = intake.submit([1], source: "notification_v2")
            let firstCall = try await database.nextCall()
            async let second = intake.submit([2], source: "notification_v2")
            while intake.backlog.events < 1 { await Task.yield() }
            await shutdown()
            while !intake.isDraining { await Task.yield() }
            #expect(await failure(of: intake, [3])?.code == .shuttingDown)
            firstCall.commit()
            try await database.nextCall().commit()
            #expect(try await first == 1)
            #expect(try await second == 2)
        }
    }

    @Test func `one probe answers everyone who asks for readiness at the same time`() async throws {
        try await withIntake { intake, _ in
            try await withThrowingTaskGroup(of: Void.self) { readers in
                for _ in 1...10 { readers.addTask { try await intake.checkReadiness() } }
                let probe = try await database.nextCall()
                while intake.waitingReaders < 10 { await Task.yield() }
                probe.commit()
                try await readers.waitForAll()
            }
            try await intake.checkReadiness()
        }
    }

    /// What a sender is told; nil for a body asks for readiness instead.
    private func failure(of intake: Intake, _ body: [UInt8]?) async -> IntakeError? {
        do {
            if let body { _ = try await intake.submit(body, source: "notification_v2") } else { try await intake.checkReadiness() }
            return nil
        } catch {
            return error as? IntakeError
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
