import Foundation
import LivesTesting

/// The seed of a run: random, or that of a run to repeat.
enum Seed {
    /// `LIVES_SEED` from the environment, else a random one.
    static let current: UInt64 = value("LIVES_SEED") ?? UInt64.random(in: 1...UInt64(UInt32.max))

    /// A number from the environment.
    static func value(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) }

    /// The number of histories of a test: `variable` from the environment, else the default.
    static func lives(_ variable: String, usually count: Int) -> Int { value(variable).map(Int.init) ?? count }

    /// The command that runs one history again.
    static func rerunCommand(_ filter: String, index: Int) -> String {
        "run again: LIVES_SEED=\(current) LIVES_ONLY=\(index) swift test --filter \(filter)"
    }

    /// The indices of the histories of a run: all, or the one that `LIVES_ONLY` names.
    static func indices(_ count: Int) -> [Int] { value("LIVES_ONLY").map { [Int($0)] } ?? Array(0..<count) }
}

/// The history of a ledger line: the last digits of its transactionIds are the history's index.
func index(ofLine line: String) -> Int? {
    let words = line.split { " |:".contains($0) }
    guard let number = words.lazy.dropFirst().compactMap({ Int($0) }).first else { return nil }
    return number % Int(HistoryGenerator.numberStep) / Int(HistoryGenerator.customersAtMost)
}
