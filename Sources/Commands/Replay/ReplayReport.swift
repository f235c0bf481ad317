import StrictJSON

/// Prints a replay: a line for each body and a summary.
struct ReplayReport {
    let isJSON: Bool
    /// The file's name in the printed text.
    let file: String?

    func line(_ report: Replay.Report) -> String {
        guard isJSON else {
            return "\(place(of: report.origin)): \(words(report.outcome))\(report.attempts > 1 ? ", \(report.attempts) attempts" : "")"
                + (report.problem.map { " (\($0))" } ?? "")
        }
        var line = Self.place(of: report.origin)
        line["result"] = .string(report.outcome.name)
        line["status"] = .optional(report.outcome.status)
        line["attempts"] = .integer(report.attempts)
        line["reason"] = if case .notPosted(let reason) = report.outcome { .string(reason) } else { .optional(report.problem) }
        return Self.text(line)
    }

    func summary(_ tally: ReplayTally) -> String {
        guard isJSON else {
            let names = [
                ("taken", "answered with 200"), ("ready", "would be posted"), ("refused", "refused"), ("not_posted", "not posted"),
                ("unanswered", "without answer"),
            ]
            let counts = names.compactMap { name, words in tally.counts[name].map { "\($0) \(words)" } }
            let all = tally.counts.values.reduce(0, +)
            var text = "\(all) \(all == 1 ? "body" : "bodies")\(counts.isEmpty ? "" : ": " + counts.joined(separator: ", "))"
            switch tally.resumeAt {
            case .line(let line): text += "\nstopped at line \(line): continue with --start-line \(line)"
            case .event(let event): text += "\nstopped at event \(event): continue with --event from there"
            case nil: break
            }
            return text
        }
        let counts = tally.counts.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.integer($0.value)) }
        return Self.text([
            "summary": ["counts": .object(JSONObject(counts)), "resumeAt": .optional(tally.resumeAt.map { Self.place(of: $0) })]
        ])
    }

    private func place(of origin: ReplayItem.Origin) -> String {
        switch origin {
        case .line(let line): "\(file ?? "") line \(line)"
        case .event(let event): "event \(event)"
        }
    }

    private static func place(of origin: ReplayItem.Origin) -> JSONObject {
        switch origin {
        case .line(let line): ["line": .integer(line)]
        case .event(let event): ["event": .integer(event)]
        }
    }

    private func words(_ outcome: ReplayOutcome) -> String {
        switch outcome {
        case .taken: "200"
        case .ready: "would be posted"
        case .refused(let status): "\(status), refused"
        case .notPosted(let reason): "not posted: \(reason)"
        case .unanswered(let status): status.map { "\($0), given up" } ?? "given up"
        }
    }

    private static func text(_ object: JSONObject) -> String {
        JSONSerializer.text(object)
    }
}
