import EndToEndTesting
import Glibc

/// What a run has done and seen, and what the judge says.
struct ChaosReport: CustomStringConvertible {
    let settings: ChaosSettings
    let duration: Duration
    let judging: Duration
    let costs: Costs
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

    /// Processor time by who took it, and memory.
    struct Costs {
        let daemons: [String: Duration]
        /// Of this process: senders, proxies and the judge.
        let tests: Duration
        /// Of PostgreSQL, but for the last servers and for sessions that had lost theirs.
        let servers: Duration
        /// The most that this process has had, in megabytes.
        let memory: Int

        /// What it has been so far.
        init(daemons: [(String, Duration)]) {
            self.daemons = Dictionary(daemons, uniquingKeysWith: +)
            var (own, children) = (rusage(), rusage())
            getrusage(RUSAGE_SELF.rawValue, &own)
            getrusage(RUSAGE_CHILDREN.rawValue, &children)
            tests = own.computing
            servers = children.computing - daemons.map(\.1).reduce(.zero, +)
            memory = own.ru_maxrss / 1024
        }

        fileprivate var rows: [(String, Int)] {
            let parts = daemons.sorted { $0.key < $1.key } + [("PostgreSQL, as far as is known", servers), ("this process", tests)]
            return parts.map { ($0.0, Int($0.1.components.seconds)) } + [("megabytes of memory of this process, at most", memory)]
        }
    }

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
        lines += table("seconds of processors", costs.rows)
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
