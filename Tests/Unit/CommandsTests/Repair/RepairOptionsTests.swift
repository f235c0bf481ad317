import ArgumentParser
import Testing

@testable import Commands

@Suite struct RepairOptionsTests {
    @Test(arguments: [
        ["1", "1-9223372036854775807"], ["1-9223372036854775807", "1-9223372036854775807"], ["1-1001"], ["1-1000", "2000"],
        ["1-600", "1-600"],
    ]) func `more than a thousand named events are refused`(events: [String]) throws {
        let error = try #require(throws: (any Error).self) { try RequeueCommand.parse(events) }
        #expect(RequeueCommand.exitCode(for: error) == .validationFailure)
        #expect(RequeueCommand.message(for: error) == "at most 1,000 events can be named: use conditions")
    }

    @Test func `a thousand named events are accepted`() throws {
        #expect(try RequeueCommand.parse(["7", "1001-1999"]).options.events.count == 2)
    }
}
