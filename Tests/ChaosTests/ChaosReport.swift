/// What a run has done and seen, and what the judge says.
struct ChaosReport: CustomStringConvertible {
    let settings: ChaosSettings
    let duration: Duration
    let judging: Duration
    let sums: Diary.Sums
    let faults: [Fault: Int]
    let missingFaults: [Fault]
    let results: [String: Int]
    let starts: [String: Int]
    let bookLines: Int
    let effects: Int
    /// Those that did not succeed and counted, by their causes.
    let attempts: [FinalState.Attempt.Cause: Int]
    let violations: [Violation]
    let complaints: [String]

    /// How to run it again. The load and the faults are the same; how they meet is up to the machine.
    var again: String { "again: CHAOS_SEED=\(settings.seed) CHAOS_EVENTS=\(settings.events) swift test --filter ChaosTests" }

    var description: String {
        var lines = ["chaos: seed \(settings.seed), \(seconds(duration)), and \(seconds(judging)) to judge it"]
        lines += table(
            "posts",
            [
                ("bodies", sums.bodies), ("sent whole", sums.attempts), ("retries", sums.retries), ("connection lost", sums.unanswered),
                ("given up", sums.abandoned),
            ]
        )
        lines += table("answers", sums.statuses.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value) })
        lines += table("faults", Fault.allCases.map { ($0.rawValue, faults[$0, default: 0]) })
        lines += table("daemons started", starts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        lines += table("outcomes", results.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        lines += table("attempts in vain", FinalState.Attempt.Cause.allCases.map { ($0.rawValue, attempts[$0, default: 0]) })
        lines += table("books", [("effects", effects), ("other rows", bookLines)])
        lines += ["verdict: \(violations.count) violations, \(complaints.count) complaints about daemons"]
        return lines.joined(separator: "\n")
    }

    private func table(_ title: String, _ rows: [(String, Int)]) -> [String] {
        ["  \(title)"]
            + rows.map { name, count in
                let number = String(count)
                return "    " + name + String(repeating: " ", count: max(1, 60 - name.count - number.count)) + number
            }
    }

    private func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }
}
