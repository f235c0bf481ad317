import AppStore

/// How far a request has come.
struct RepairProgress: Hashable, Sendable {
    let repair: Int
    /// requested, running, done, stopped or failed.
    let state: String
    /// How many events fitted when it was requested.
    let expected: Int
    let repaired: Int
    let error: String?

    var isOver: Bool { state != "requested" && state != "running" }

    /// Whole per cents; 100 only when it is done.
    var percent: Int {
        guard state != "done" else { return 100 }
        guard expected > 0 else { return 0 }
        return min(99, repaired * 100 / expected)
    }

    /// A bar of that many characters, with per cents and what is left at the rate so far.
    func bar(width: Int, after elapsed: Duration) -> String {
        let filled = width * percent / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        return "[\(bar)] \(percent) % \(words(after: elapsed))"
    }

    /// The same without a bar.
    func words(after elapsed: Duration) -> String {
        var words = "\(repaired) of \(expected)"
        let seconds = elapsed.components.seconds
        if state == "requested" { return words + ", waiting for a worker" }
        if !isOver, seconds > 0, repaired > 0 {
            let rate = max(1, repaired / Int(seconds))
            words += ", \(rate)/s, about \((max(0, expected - repaired) / rate).asClock) left"
        } else if isOver {
            words += ", \(state)"
        }
        return words + (error.map { " (\($0))" } ?? "")
    }

    var json: JSONObject {
        [
            "repair": .integer(repair), "state": .string(state), "expected": .integer(expected), "repaired": .integer(repaired),
            "error": error.map { .string($0) } ?? .null,
        ]
    }
}

extension Int {
    /// Seconds as people say them: `45 s`, `12 min`, `3 h`.
    fileprivate var asClock: String {
        switch self {
        case ..<90: "\(self) s"
        case ..<5400: "\((self + 30) / 60) min"
        default: "\((self + 1800) / 3600) h"
        }
    }
}
