import Testing

@testable import Commands

struct EventSelectionTests {
    @Test(arguments: [("1", 1...1), ("4711", 4711...4711), ("4711-4720", 4711...4720), ("9223372036854775807", Int64.max...Int64.max)])
    func `one event or a range is accepted`(text: String, events: ClosedRange<Int64>) {
        #expect(EventSelection(text)?.events == events)
    }

    @Test(arguments: ["", "0", "0-0", "1-0", "-1", "1-", "-", "2-1", "1-2-3", "1..2", "one", " 1", "9223372036854775808"])
    func `anything else is refused`(text: String) {
        #expect(EventSelection(text) == nil)
    }

    @Test func `only a single named event has to exist`() {
        #expect(EventSelection("7")?.isSingle == true)
        #expect(EventSelection("7-8")?.isSingle == false)
        #expect(EventSelection("1-9223372036854775807")?.isSingle == false)
    }
}
