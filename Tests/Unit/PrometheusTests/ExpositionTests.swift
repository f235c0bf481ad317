import Metrics
import PrometheusTesting
import Randomness
import Testing

@testable import ServiceSupport

@Suite struct ExpositionTests {
    @Test(arguments: 0..<200)
    func `any text in a label or in HELP survives a round trip`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let (help, value) = (text(&generator), text(&generator))
        let registry = MetricRegistry([MetricDescription("x_total", .counter, help)])
        registry.makeCounter(label: "x_total", dimensions: [("a", value), ("b", "\\")]).increment(by: 7)
        let metrics = try ExposedMetrics(registry.render())
        #expect(metrics.families["x_total"]?.help == help, "seed \(seed)")
        #expect(metrics.value("x_total", ["a": value, "b": "\\"]) == 7, "seed \(seed)")
    }

    /// Characters that must be escaped, and line separators that do not end a line in this format.
    private func text(_ generator: inout SeededGenerator) -> String {
        let troublesome: [Unicode.Scalar] = [
            "\\", "\n", "\"", "n", "{", "}", ",", "=", " ", "#", "\r", "\u{85}", "\u{2028}", "\u{0}", "é", "🍏",
        ]
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            text.unicodeScalars.append(troublesome.randomElement(using: &generator) ?? "x")
        }
        return text
    }

    @Test func `the escapes are those of the format`() {
        #expect(Exposition.escaped("a\\b\"c\nd", quotes: true) == #"a\\b\"c\nd"#)
        #expect(Exposition.escaped("a\\b\"c\nd", quotes: false) == #"a\\b"c\nd"#)
    }

    @Test(arguments: [
        (0, "0"), (3, "3"), (-2, "-2"), (0.005, "0.005"), (1.5, "1.5"), (1e-05, "1e-05"), (9_007_199_254_740_991, "9007199254740991"),
        (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ])
    func `numbers are written as Go reads them`(value: Double, text: String) {
        #expect(Exposition.number(value) == text)
    }

    @Test(arguments: [
        "x 1", "# HELP x X.\nx 1\n", "# HELP x X.\n# TYPE x gauge\ny 1\n", "# HELP x X.\n# TYPE x gauge\nx 1\nx 2\n",
        "# HELP x X.\n# TYPE x gauge\nx{a=\"\\t\"} 1\n", "# HELP x X.\n# TYPE x gauge\nx{a=\"1\",a=\"2\"} 1\n",
        "# HELP x X.\n# TYPE x gauge\nx one\n",
        "# HELP x X.\n# TYPE x histogram\nx_bucket{le=\"+Inf\"} 1\nx_sum 1\nx_count 2\n", "# HELP x X.\n# TYPE x gauge\nx 1",
    ])
    func `the tests' own parser is strict`(text: String) {
        #expect(throws: ExposedMetrics.Complaint.self) { try ExposedMetrics(text) }
    }
}
