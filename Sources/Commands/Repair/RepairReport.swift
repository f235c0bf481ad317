import AppStore
import StrictJSON

/// Prints a repair: a progress bar on a terminal, else lines; with `--json` one object a line.
struct RepairReport: Sendable {
    let action: RepairClient.Action
    let isJSON: Bool
    let isTerminal: Bool

    func counted(_ events: Int) {
        say(["events": .integer(events)], "\(events.ofEvents) would be \(action.participle).")
    }

    /// - Parameter afterBar: Whether a progress bar is shown, which this line replaces.
    func repaired(_ events: Int, afterBar: Bool = false) {
        if afterBar, isTerminal, !isJSON { StandardOutput.write("\r\u{1B}[K") }
        say(["state": "done", "repaired": .integer(events)], "\(events.ofEvents) \(events == 1 ? "is" : "are") \(action.participle).")
    }

    func refused(event: Int64, _ reason: String) {
        say(["event": .integer(event), "error": .string(reason)], "event \(event): \(reason)")
    }

    func begins(events: Int) {
        guard !isJSON else { return }
        StandardOutput.write(
            "\(events.ofEvents) will be \(action.participle) in steps. Ctrl-C ends the repair; the same command continues it later.\n"
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
        StandardOutput.write((isJSON ? String(decoding: JSONSerializer.serialize(object), as: UTF8.self) : text) + "\n")
    }
}

extension RepairClient.Action {
    var participle: String {
        switch self {
        case .requeue: "requeued"
        case .discard: "discarded"
        }
    }
}

extension Int {
    fileprivate var ofEvents: String { self == 1 ? "1 event" : "\(self) events" }
}
