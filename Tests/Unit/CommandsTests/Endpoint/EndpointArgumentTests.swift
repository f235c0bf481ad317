import ArgumentParser
import Feed
import Testing

@testable import Commands

/// What the commands for endpoints refuse before they connect.
@Suite struct EndpointArgumentTests {
    private func refusal(_ command: (some ParsableCommand).Type, _ arguments: [String]) throws -> String {
        let error = try #require(throws: (any Error).self) { try command.parse(arguments) }
        #expect(command.exitCode(for: error) == .validationFailure)
        return command.message(for: error)
    }

    @Test(arguments: [
        (["Shop", "https://a.example/x"], "a name has 1 to 63 lower-case letters"),
        (["shop", "ftp://a.example/x"], "http"), (["shop", "http://8.8.8.8/x"], "8.8.8.8"),
        (["shop", "https://user:hunter2@a.example/"], "password"),
        (["shop", "https://a.example/x", "--type", "acess.changed"], "did you mean access.changed?"),
        (["shop", "https://a.example/x", "--type", "orders.*"], "did you mean order.*?"),
        (["shop", "https://a.example/x", "--environment", "production"], "did you mean Production?"),
        (["shop", "https://a.example/x", "--app", "a b"], "--app must be a bundle id"),
        (["shop", "https://a.example/x", "--format", "raw", "--type", "effect.granted"], "leave out --type"),
        (["shop", "https://a.example/x", "--with-wrong-bundle"], "needs --format raw"),
        (["shop", "https://a.example/x", "--max-in-flight", "65"], "--max-in-flight must be 1 to 64"),
        (["shop", "https://a.example/x", "--max-per-second", "0"], "--max-per-second must be 1 or more"),
        (["shop", "https://a.example/x", "--timeout", "61"], "--timeout must be 1 to 60"),
    ])
    func `create names what is wrong`(arguments: [String], words: String) throws {
        let refusal = try refusal(EndpointCreate.self, arguments)
        #expect(refusal.contains(words) && !refusal.contains("hunter2"), "\(refusal)")
    }

    @Test(arguments: [
        (["shop"], "name a range"), (["shop", "--from", "yesterday"], "--from must be an instant"),
        (["shop", "--from-position", "8", "--upto-position", "7"], "--from-position 8 is after --upto-position 7"),
        (["shop", "--only-failed", "--wait"], "--wait needs a range"),
        (["shop", "--from-position", "1", "--wait", "--dry-run"], "exclude"),
        (["shop", "--only-failed", "--type", "order.payed"], "did you mean order.paid?"),
    ])
    func `redeliver names what is wrong`(arguments: [String], words: String) throws {
        let refusal = try refusal(RedeliverCommand.self, arguments)
        #expect(refusal.contains(words), "\(refusal)")
    }

    @Test func `resume goes on from one place`() throws {
        #expect(try refusal(EndpointResume.self, ["shop", "--after", "3", "--from-now"]).contains("exclude each other"))
        #expect(try refusal(EndpointResume.self, ["shop", "--after=-3"]).contains("-3"))
    }

    @Test func `a receiver can ask for each type and for each group of types`() {
        #expect(FeedType.words.count == Set(FeedType.words).count)
        #expect(
            FeedType.words.filter { $0.hasSuffix("*") } == [
                "access.*", "effect.*", "endpoint.*", "inbox.*", "notification.*", "order.*", "owner.*", "user.*",
            ]
        )
    }
}
