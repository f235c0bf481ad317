import Benchmarks
import Testing

struct ComparisonTests {
    private func comparison(_ rounds: [Double], yardstick: [Double]?, aim: Comparison.Aim?) -> Comparison {
        Comparison("it", unit: "events/s", rounds: rounds, yardstick: yardstick.map { .init("the other", rounds: $0) }, aim: aim)
    }

    @Test func `the ratio is the median of each round's own ratio`() {
        // The machine was half as fast in the second round, for both: the ratio of the medians would be 1.25.
        let slowed = comparison([100, 45, 110], yardstick: [200, 80, 200], aim: nil)
        #expect(slowed.figure == 100)
        #expect(slowed.ratio == 0.55)
        #expect(slowed.isMet == nil)
    }

    @Test func `an aim for the ratio is met at its value or above`() {
        #expect(comparison([3], yardstick: [2], aim: .ratio(1.5)).isMet == true)
        #expect(comparison([2.99], yardstick: [2], aim: .ratio(1.5)).isMet == false)
    }

    @Test func `an aim for the figure is met below its value`() {
        #expect(comparison([19.9], yardstick: nil, aim: .below(20)).isMet == true)
        #expect(comparison([20], yardstick: nil, aim: .below(20)).isMet == false)
    }

    @Test func `a yardstick of zero gives no ratio, and the aim is missed`() {
        let broken = comparison([3], yardstick: [0], aim: .ratio(1.5))
        #expect(broken.ratio == nil)
        #expect(broken.isMet == false)
    }

    @Test func `each round begins with a different thing`() {
        #expect((0..<4).map { Rounds.order(of: 3, in: $0) } == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]])
        #expect(Rounds.order(of: 0, in: 5).isEmpty)
    }
}
