import Testing

@testable import Commands

struct RepairProgressTests {
    private func progress(_ state: String, _ repaired: Int, of expected: Int = 1_000_000, error: String? = nil) -> RepairProgress {
        RepairProgress(repair: 7, state: state, expected: expected, repaired: repaired, error: error)
    }

    @Test func `a bar says how far it has come, how fast, and what is left`() {
        #expect(
            progress("running", 250_000).bar(width: 20, after: .seconds(100))
                == "[#####---------------] 25 % 250000 of 1000000, 2500/s, about 5 min left"
        )
        #expect(progress("requested", 0).bar(width: 4, after: .seconds(9)) == "[----] 0 % 0 of 1000000, waiting for a worker")
        #expect(progress("running", 0).words(after: .zero) == "0 of 1000000")
    }

    @Test func `it is full when the request is done, and not before`() {
        #expect(progress("running", 1_000_001).percent == 99)
        #expect(progress("done", 999_990).percent == 100)
        #expect(progress("stopped", 10, of: 0).percent == 0)
        #expect(progress("done", 5, of: 5).words(after: .seconds(3)) == "5 of 5, done")
        #expect(progress("failed", 5, error: "no space").words(after: .seconds(3)) == "5 of 1000000, failed (no space)")
    }

    @Test(arguments: [("requested", false), ("running", false), ("done", true), ("stopped", true), ("failed", true)])
    func `a request is over when nobody carries it on`(state: String, isOver: Bool) {
        #expect(progress(state, 1).isOver == isOver)
    }
}
