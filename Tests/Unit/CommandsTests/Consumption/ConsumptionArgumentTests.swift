import ArgumentParser
import Testing

@testable import Commands

/// What the commands for consumption requests refuse before they connect.
@Suite struct ConsumptionArgumentTests {
    private func refusal(_ command: (some ParsableCommand).Type, _ arguments: [String]) throws -> String {
        let error = try #require(throws: (any Error).self) { try command.parse(arguments) }
        #expect(command.exitCode(for: error) == .validationFailure)
        return command.message(for: error)
    }

    @Test(arguments: [
        (["42"], "nothing is assumed"), (["42", "--consented", "--no-consented"], "--no-consented"),
        (["42", "--consented", "--delivery", "DELIVERD"], "did you mean DELIVERED?"),
        (["42", "--consented", "--preference", "GRANT"], "--preference does not know"),
        (["42", "--consented", "--percentage", "half"], "half"),
        (["42", "--consented", "--details", "[1]"], "--details is not a JSON object"),
        (["42", "--consented", "--environment", "sandbox"], "did you mean Sandbox?"),
    ])
    func `answer names what is wrong`(arguments: [String], words: String) throws {
        let refusal = try refusal(ConsumptionAnswer.self, arguments)
        #expect(refusal.contains(words), "\(refusal)")
    }

    @Test(arguments: [(["--state", "missed"], "--state does not know"), (["--environment", "Prod"], "--environment does not know")])
    func `list names what is wrong`(arguments: [String], words: String) throws {
        let refusal = try refusal(ConsumptionList.self, arguments)
        #expect(refusal.contains(words), "\(refusal)")
    }
}
