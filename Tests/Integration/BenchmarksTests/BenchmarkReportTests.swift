import Benchmarks
import StrictJSON
import Testing

struct BenchmarkReportTests {
    private func report() throws -> BenchmarkReport {
        var report = BenchmarkReport(
            name: "drain",
            summary: "It drains.",
            comparisons: [
                Comparison(
                    "drain",
                    unit: "events/s",
                    rounds: [1234.5678, 2000],
                    yardstick: .init("openssl speed", rounds: [4000, 4000]),
                    aim: .ratio(0.4)
                ),
                Comparison("p99", unit: "ms", rounds: [20.5], aim: .below(20)),
            ],
            machine: try Machine.current()
        )
        report.costs = [ProcessorCost("decoding", .milliseconds(30), per: 1000, source: "measured")]
        report.details = [.init("JWS per event", 2.723, unit: "")]
        report.mix = ["DID_RENEW": 2, "REFUND": 1]
        report.warnings = ["be careful"]
        return report
    }

    @Test func `the JSON has figures with four significant digits, yardsticks, ratios and aims`() throws {
        let object = try JSONParser().parseObject(Array(try report().json.utf8))
        #expect(object["bench"] == .string("drain"))
        guard case .array(let comparisons)? = object["comparisons"], case .object(let first)? = comparisons.first else {
            throw Missing(what: "comparisons")
        }
        #expect(first["rounds"] == [1235, 2000])
        #expect(first["figure"] == 1617)
        #expect(first["yardstickFigure"] == 4000)
        #expect(first["aim"] == ">= 0.4")
        #expect(first["isMet"] == true)
        guard case .object(let second)? = comparisons.last else { throw Missing(what: "the second comparison") }
        #expect(second["isMet"] == false)
        #expect(second["yardstick"] == nil)
        #expect(object["processorMicrosecondsPerEvent"] == [["microseconds": 30, "part": "decoding", "source": "measured"]])
        #expect(object["mix"] == ["DID_RENEW": 2, "REFUND": 1])
        #expect(object["warnings"] == ["be careful"])
    }

    @Test func `a report with one missed aim does not meet its aims`() throws {
        var report = try report()
        #expect(!report.meetsItsAims)
        report.comparisons.removeLast()
        #expect(report.meetsItsAims)
    }
}

/// A prerequisite of a test is missing.
struct Missing: Error {
    let what: String
}
