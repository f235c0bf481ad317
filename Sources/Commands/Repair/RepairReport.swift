import Glibc
import StrictJSON

/// Prints a repair: a progress bar on a terminal, else lines; with `--json` one object a line.
struct RepairReport: Sendable {
    let action: RepairClient.Action
    let isJSON: Bool
    let isTerminal: Bool

    func counted(_ count: RepairCount) {
        say(
            ["events": .integer(count.total), "results": .object(count.json)],
            "\(count.total.ofEvents) would be \(action.participle)\(Self.list(count))."
        )
    }

    /// - Parameter afterBar: Whether a progress bar is shown, which this line replaces.
    func repaired(_ events: Int, of count: RepairCount, afterBar: Bool = false) {
        if afterBar, isTerminal, !isJSON { StandardOutput.write("\r\u{1B}[K") }
        let list = events == count.total ? Self.list(count) : ""
        say(
            ["state": "done", "repaired": .integer(events)],
            "\(events.ofEvents) \(events == 1 ? "is" : "are") \(action.participle)\(list)."
        )
    }

    /// Whether a person agrees to a repair of many events; nil where standard input is no terminal.
    func isConfirmed(_ count: RepairCount) -> Bool? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        LogOutput.standardError.write("\(count.total.ofEvents) will be \(action.participle)\(Self.list(count)). Go on? [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }

    /// The results with their numbers, in parentheses.
    static func list(_ count: RepairCount) -> String { count.results.isEmpty ? "" : " (\(count.words))" }

    func refused(event: Int64, _ reason: String) {
        say(["event": .integer(event), "error": .string(reason)], "event \(event): \(reason)")
    }

    func begins(_ repair: Int64, _ count: RepairCount) {
        guard !isJSON else { return }
        StandardOutput.write(
            """
            \(count.total.ofEvents)\(Self.list(count)) will be \(action.participle) in steps. This is repair \(repair): after \
            Ctrl-C workers go on with it, and SELECT appstore.stop_repair(\(repair)) ends it.

            """
        )
    }

    /// A repair that has ended before it was done.
    func ended(_ end: RepairClient.Progress, _ repair: Int64) {
        if isTerminal, !isJSON { StandardOutput.write("\r\u{1B}[K") }
        let reason = end.error.map { ": \($0)" } ?? ""
        say(
            ["state": .string(end.state), "repaired": .integer(end.repaired), "error": .optional(end.error)],
            "Repair \(repair) \(end.state == "failed" ? "has failed" : "was stopped") after \(end.repaired.ofEvents)\(reason)."
        )
    }

    func progress(_ progress: RepairProgress, after elapsed: Duration) {
        if isJSON {
            say(progress.json, "")
        } else if isTerminal {
            // Carriage return, then erase the line.
            StandardOutput.write("\r\u{1B}[K" + progress.bar(width: 30, after: elapsed))
        } else {
            say([:], progress.words(after: elapsed))
        }
    }

    private func say(_ object: JSONObject, _ text: String) {
        StandardOutput.write((isJSON ? JSONSerializer.text(object) : text) + "\n")
    }
}

extension RepairClient.Action {
    fileprivate var participle: String {
        switch self {
        case .requeue: "requeued"
        case .discard: "discarded"
        }
    }
}

extension Int {
    var ofEvents: String { self == 1 ? "1 event" : "\(self) events" }
}

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
