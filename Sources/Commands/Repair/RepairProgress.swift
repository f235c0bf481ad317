import StrictJSON

/// The progress of a repair in steps.
struct RepairProgress: Hashable, Sendable {
    /// The number of events that met the conditions at the beginning.
    let expected: Int
    let repaired: Int

    /// Whole per cents, at most 99: more events may meet the conditions by now.
    var percent: Int { expected > 0 ? min(99, repaired * 100 / expected) : 0 }

    /// A bar of `width` characters, with per cents and the time left at the rate so far.
    func bar(width: Int, after elapsed: Duration) -> String {
        let filled = width * percent / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        return "[\(bar)] \(percent) % \(words(after: elapsed))"
    }

    /// The progress as text without a bar.
    func words(after elapsed: Duration) -> String {
        let words = "\(repaired) of \(expected)"
        let seconds = elapsed.components.seconds
        guard seconds > 0, repaired > 0 else { return words }
        let rate = max(1, repaired / Int(seconds))
        return words + ", \(rate)/s, about \((max(0, expected - repaired) / rate).asDuration) left"
    }

    var json: JSONObject {
        ["state": "running", "expected": .integer(expected), "repaired": .integer(repaired)]
    }
}

extension Int {
    /// Seconds as `45 s`, `12 min`, `3 h`.
    var asDuration: String {
        switch self {
        case ..<90: "\(self) s"
        case ..<5400: "\((self + 30) / 60) min"
        default: "\((self + 1800) / 3600) h"
        }
    }
}
