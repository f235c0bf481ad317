import Testing

@testable import Commands

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
}
