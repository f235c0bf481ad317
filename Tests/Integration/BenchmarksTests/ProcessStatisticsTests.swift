import Benchmarks
import Testing

struct ProcessStatisticsTests {
    @Test func `processor time is parsed after a name with any characters`() throws {
        let line = "4711 (postgres: a) R 1 (x) S 17 4711 4711 0 -1 4194560 9 8 7 6 150 25 30 4 20 0 1 0 123 456 789 18446744073709551615"
        let statistics = try #require(ProcessStatistics(line))
        #expect(statistics.parent == 17)
        #expect(statistics.ticks == 175)
        #expect(statistics.childrenTicks == 34)
    }

    @Test(arguments: ["", "12 (sh", "12 (sh) S 1 2 3", "12 (sh) S 1 4711 4711 0 -1 4194560 9 8 7 6 a 25 30 4 20"])
    func `a malformed line is refused`(line: String) {
        #expect(ProcessStatistics(line) == nil)
    }

    @Test func `peak memory is parsed into bytes`() {
        #expect(PeakMemory.parse("Name:\tappstore-inbox\nVmPeak:\t  500000 kB\nVmHWM:\t   51200 kB\nVmRSS:\t 100 kB\n") == 52_428_800)
        #expect(PeakMemory.parse("Name:\tkthreadd\n") == nil)
        #expect(PeakMemory.parse("VmHWM:\t many kB\n") == nil)
    }
}
