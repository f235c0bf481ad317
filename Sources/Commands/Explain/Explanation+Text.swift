import AppStore
import AppStoreVerification
import Interpretation
import Postgres
import StrictJSON

/// The form for people, section by section.
extension Explanation {
    var text: String {
        let sections: [(title: String, lines: [String])] = [
            (heading, summary), ("Runs", runs), ("Audit", audit), ("Payloads", payloads),
            ("Verification, by the settings of now", verification),
            ("Meaning", meaningLines), ("Facts", factLines), ("Effects", effectLines), ("Books", bookLines),
        ]
        return sections.filter { !$0.lines.isEmpty }.map { section in
            ([section.title]
                + section.lines.map { "  " + $0.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n  ") })
                .joined(separator: "\n")
        }.joined(separator: "\n\n").shownSafely
    }

    private var heading: String {
        "Event \(record.eventID): \(record.source), received \(Timestamp(millisecondsSince1970: record.receivedAt.millisecondsSince1970))"
    }

    private var summary: [String] {
        var lines = [record.body.map { "\($0.count) bytes" } ?? "the body has been dropped: what it said is known by its outcome only"]
        if let outcome = record.outcome {
            lines.append("settled: \(Self.result(outcome))")
        } else if let queue = record.queue {
            lines.append("\(record.state): \(queue.word("attempts") ?? "0") attempts failed, the next is due \(queue.word("run_at") ?? "")")
            if let error = queue.word("last_error") { lines.append("last error: \(error)") }
            if queue.word("is_isolated") == "true" { lines.append("it runs alone: a process died while it was in a batch") }
        }
        if let first = books?.firstEvent, first != record.eventID { lines.append("the notificationUUID came in event \(first) first") }
        if let prepared = reading?.prepared, !Self.settledWell.contains(record.outcome?.word("result") ?? "") {
            let next = NextRun(prepared)
            lines.append("if it ran now: \(next.result)\(next.reason.map { " (\($0))" } ?? "")")
            if next.result == "merge" && record.outcome != nil {
                lines.append("to run it again: SELECT appstore.requeue_event(\(record.eventID))")
            }
        }
        return lines
    }

    private static let settledWell: Set<String> = ["applied", "superseded", "no_effect", "duplicate"]

    private static func result(_ row: JSONObject) -> String {
        "\(row.word("result") ?? "")\(row.word("reason").map { " (\($0))" } ?? "")"
    }

    private var runs: [String] {
        (record.history + [record.outcome].compactMap(\.self)).map { row in
            var line =
                "\(row.word("run") ?? ""): \(Self.result(row)) at \(row.word("settled_at") ?? ""), attempts: \(row.word("attempts") ?? "")"
            if let error = row.word("last_error") { line += ", last error: \(error)" }
            if let actor = row.word("replaced_by") { line += "; replaced by \(actor) at \(row.word("replaced_at") ?? "")" }
            return line
        }
    }

    private var audit: [String] {
        guard let audit = record.audit else { return ["this role may not read appstore.audit_log"] }
        return audit.map { row in
            "\(row.word("at") ?? ""): \(row.word("action") ?? "") by \(row.word("actor") ?? ""), events: \(row.word("events") ?? "")"
                + (row.word("note").map { ", \($0)" } ?? "")
        }
    }

    private var payloads: [String] {
        var lines: [String] = []
        if let submission = reading?.submission {
            let scope = submission.bundleIDs.map { $0.joined(separator: ", ") } ?? "any app"
            lines.append("submission: user \(submission.user ?? "not named"), \(submission.environment.rawValue), by a key for \(scope)")
        }
        lines += legacyPayloadLines
        for part in reading?.parts ?? [] {
            let kind = part.kind?.rawValue ?? "of no known kind"
            lines.append("\(part.location): \(kind)\(isGenuine(part) ? "" : ", NOT VERIFIED: anyone may have written it")")
            lines.append(part.abridged.map { JSONValue.object($0).pretty() } ?? part.problem ?? "")
        }
        return lines
    }

    private var verification: [String] {
        (reading?.checks ?? []).flatMap { part in
            let passed = part.checks.filter { $0.failure == nil }.map(\.step.rawValue)
            let unreached = part.notReached.map(\.rawValue)
            return [part.location]
                + (passed.isEmpty ? [] : ["  ok           \(passed.joined(separator: ", "))"])
                + part.checks.compactMap(Self.failure)
                + (unreached.isEmpty ? [] : ["  not reached  \(unreached.joined(separator: ", "))"])
        }
    }

    private static func failure(_ check: VerificationDiagnostics.Check) -> String? {
        guard let failure = check.failure else { return nil }
        let detail = failure.detail.map { ", \($0)" } ?? ""
        return "  FAILED       \(check.step.rawValue) (\(check.step.summary)): \(failure.reason)\(detail)"
    }

    private var meaningLines: [String] {
        guard let meaning else { return [] }
        let name = [meaning.type, meaning.subtype].compactMap(\.self).joined(separator: "/")
        let claim = reading?.parts.first.map(isGenuine) ?? true ? "" : "it claims to be "
        return [[claim + name, meaning.summary].filter { !$0.isEmpty }.joined(separator: ": ")]
    }
}
