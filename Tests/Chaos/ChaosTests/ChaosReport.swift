/// The counts of a run and the judge's verdict.
struct ChaosReport: CustomStringConvertible {
    let settings: ChaosSettings
    let duration: Duration
    let judging: Duration
    let sums: PostLog.Sums
    let faults: [Fault: Int]
    let missingFaults: [Fault]
    let results: [String: Int]
    let starts: [String: Int]
    let ledgerLines: Int
    let effects: Int
    /// Failed attempts that counted, by cause.
    let attempts: [FinalState.Attempt.Cause: Int]
    let violations: [Violation]
    let daemonFailures: [String]

    /// The command that repeats the run. Load and faults are the same; their interleaving is not.
    var rerunCommand: String { "run again: CHAOS_SEED=\(settings.seed) CHAOS_EVENTS=\(settings.events) swift test --filter ChaosTests" }

    var description: String {
        var lines = ["chaos: seed \(settings.seed), \(seconds(duration)), judged in \(seconds(judging))"]
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
        lines += table("failed attempts", FinalState.Attempt.Cause.allCases.map { ($0.rawValue, attempts[$0, default: 0]) })
        lines += table("ledger", [("effects", effects), ("other rows", ledgerLines)])
        lines += ["verdict: \(violations.count) violations, \(daemonFailures.count) daemon failures"]
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
