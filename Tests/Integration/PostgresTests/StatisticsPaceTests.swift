import Testing

@testable import Postgres

struct StatisticsPaceTests {
    private func rests(after elapsed: Duration, isAnswered: Bool, times: Int = 1) -> [Duration] {
        var pace = StatisticsPace(interval: .seconds(15))
        var generator = Highest()
        return (0..<times).map { _ in pace.rest(after: elapsed, isAnswered: isAnswered, using: &generator) }
    }

    @Test(arguments: [
        (Duration.milliseconds(3), Duration.seconds(15)), (.milliseconds(300), .seconds(15)), (.milliseconds(500), .seconds(25)),
        (.seconds(1), .seconds(50)), (.seconds(3), .seconds(60)), (.seconds(50), .seconds(60)),
    ]) func `an answer that takes long is asked for less often, but each minute at least`(elapsed: Duration, rest: Duration) {
        #expect(rests(after: elapsed, isAnswered: true) == [rest])
    }

    @Test func `without an answer it is soon asked again, however long it was waited for a connection`() {
        #expect(rests(after: .milliseconds(1), isAnswered: false, times: 6).map { $0.rounded } == [0.5, 1, 2, 4, 5, 5])
        #expect(rests(after: .seconds(10), isAnswered: false) == [.seconds(10)])
    }

    @Test func `a question that no answer comes to takes half of the time at most`() {
        #expect(rests(after: .seconds(60), isAnswered: false) == [.seconds(60)])
    }

    @Test func `an answer ends the outage`() {
        var pace = StatisticsPace(interval: .seconds(15))
        var generator = Highest()
        for _ in 0..<9 { _ = pace.rest(after: .zero, isAnswered: false, using: &generator) }
        #expect(pace.rest(after: .zero, isAnswered: true, using: &generator) == .seconds(15))
        #expect(pace.rest(after: .zero, isAnswered: false, using: &generator).rounded == 0.5)
    }
}

/// Draws the upper end of every range, or nearly.
private struct Highest: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
}

extension Duration {
    fileprivate var rounded: Double { (Double(components.attoseconds) / 1e18 * 10).rounded() / 10 + Double(components.seconds) }
}
