import AppStore

/// What a repair prints: on a terminal a bar in place, else a line now and then, with `--json` an object a line.
struct RepairReport: Sendable {
    let action: RepairDesk.Action
    let isJSON: Bool
    let isTerminal: Bool

    func counted(_ events: Int) {
        say(["events": .integer(events)], "\(events.ofEvents) would be \(action.participle).")
    }

    func repaired(_ events: Int) {
        say(["state": "done", "repaired": .integer(events)], "\(events.ofEvents) \(events == 1 ? "is" : "are") \(action.participle).")
    }

    func refused(event: Int64, _ reason: String) {
        say(["event": .integer(event), "error": .string(reason)], "event \(event): \(reason)")
    }

    func requested(_ repair: Int, events: Int) {
        guard !isJSON else { return }
        StandardOutput.write(
            """
            \(events.ofEvents) will be \(action.participle): request \(repair). Ctrl-C ends this display, not the request; \
            SELECT appstore.stop_repair(\(repair)) ends the request.

            """
        )
    }

    func progress(_ progress: RepairProgress, after elapsed: Duration) {
        if isJSON {
            say(progress.json, "")
        } else if isTerminal {
            // Back to the line's start; what was there is erased.
            StandardOutput.write("\r\u{1B}[K" + progress.bar(width: 30, after: elapsed) + (progress.isOver ? "\n" : ""))
        } else {
            say([:], progress.words(after: elapsed))
        }
    }

    private func say(_ object: JSONObject, _ text: String) {
        StandardOutput.write((isJSON ? String(decoding: JSONSerializer.serialize(object), as: UTF8.self) : text) + "\n")
    }
}

extension RepairDesk.Action {
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
