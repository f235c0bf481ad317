import Benchmarks
import Testing

struct ComparisonTests {
    private func comparison(_ rounds: [Double], yardstick: [Double]?, aim: Comparison.Aim? = nil) -> Comparison {
        Comparison("it", unit: "events/s", rounds: rounds, yardstick: yardstick.map { .init("the other", rounds: $0) }, aim: aim)
    }

    @Test func `the ratio is the median of each round's own ratio`() {
        // The machine was half as fast in the second round, for both: the ratio of the medians would be 1.25.
        let slowed = comparison([100, 45, 110], yardstick: [200, 80, 200])
        #expect(slowed.figure == 100)
        #expect(slowed.ratio == 0.55)
        #expect(slowed.isMet == nil)
    }

    @Test func `a yardstick of zero gives no ratio, and the aim is missed`() {
        let broken = comparison([3], yardstick: [0], aim: .ratio(1.5))
        #expect(broken.ratio == nil)
        #expect(broken.isMet == false)
    }

    @Test func `a percentile follows the nearest-rank method`() {
        let hundred = Samples((1...100).map(Double.init).shuffled())
        #expect([0, 50, 99, 100].map(hundred.percentile) == [1, 50, 99, 100])
        #expect(Samples([5, 1]).percentile(99) == 5)
    }
}
