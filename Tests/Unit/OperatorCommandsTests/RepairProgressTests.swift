import Testing

@testable import Commands
@testable import Postgres

/// A repair in steps, and its output on the command line.
struct RepairProgressTests {
    @Test func `a bar shows the finished part, the rate and the time left`() {
        #expect(
            RepairProgress(expected: 1_000_000, repaired: 250_000).bar(width: 20, after: .seconds(100))
                == "[#####---------------] 25 % 250000 of 1000000, 2500/s, about 5 min left"
        )
        #expect(RepairProgress(expected: 1_000_000, repaired: 0).words(after: .seconds(9)) == "0 of 1000000")
        #expect(RepairProgress(expected: 1_000_000, repaired: 5000).words(after: .zero) == "5000 of 1000000")
    }

    @Test func `the bar is not full before the end, even with more events than expected`() {
        #expect(RepairProgress(expected: 1_000_000, repaired: 1_000_001).percent == 99)
        #expect(RepairProgress(expected: 0, repaired: 10).percent == 0)
        #expect(RepairProgress(expected: 5, repaired: 7).words(after: .seconds(1)).hasSuffix("about 0 s left"))
    }

    /// Scripted answers of the database.
    private final class Script {
        var answers: [Result<RepairStep, PostgresError>]
        private(set) var asked: [String?] = []
        private(set) var pauses: [Duration] = []
        private(set) var reported: [Int] = []

        init(_ answers: [Result<RepairStep, PostgresError>]) { self.answers = answers }

        func run() async throws -> Int {
            try await SteppedRepair(
                step: { progress in
                    self.asked.append(progress)
                    return try self.answers.removeFirst().get()
                },
                pause: { self.pauses.append($0) },
                report: { step, _ in self.reported.append(step.repaired) }
            ).run()
        }
    }

    private func answer(_ repaired: Int, _ progress: String, isDone: Bool = false) -> Result<RepairStep, PostgresError> {
        .success(RepairStep(repaired: repaired, isDone: isDone, pause: .milliseconds(800), progress: progress))
    }

    @Test func `each step starts where the last one ended, after the pause that it returned`() async throws {
        let script = Script([answer(1000, "a"), answer(1000, "b"), answer(1500, "c", isDone: true)])
        #expect(try await script.run() == 1500)
        #expect(script.asked == [nil, "a", "b"])
        #expect(script.pauses == [.milliseconds(800), .milliseconds(800)])
        #expect(script.reported == [1000], "the second step only waited")
    }

    @Test func `a step that conflicts with another transaction is repeated later`() async throws {
        let conflict = PostgresError(.sql, "canceling statement due to lock timeout", sqlState: .lockNotAvailable)
        let script = Script([answer(1000, "a"), .failure(conflict), answer(1200, "b", isDone: true)])
        #expect(try await script.run() == 1200)
        #expect(script.asked == [nil, "a", "a"])
        #expect(script.pauses == [.milliseconds(800), SteppedRepair.lockPause])
    }

    @Test func `any other error ends the repair`() async throws {
        let script = Script([answer(1000, "a"), .failure(PostgresError(.connectionLost, "the server has gone"))])
        await #expect(throws: PostgresError.self) { _ = try await script.run() }
        #expect(script.asked == [nil, "a"])
    }
}
