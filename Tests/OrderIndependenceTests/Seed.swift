import Foundation
import LivesTesting
import Testing

/// Where the randomness of a run comes from: a fresh seed each time, or the one of a run that is to be repeated.
enum Seed {
    /// `LIVES_SEED` from the environment, else one that no run had before.
    static let current: UInt64 = value("LIVES_SEED") ?? UInt64.random(in: 1...UInt64(UInt32.max))

    /// A number from the environment.
    static func value(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) }

    /// How many lives a test lives: `variable` from the environment, else the number that CI lives.
    static func lives(_ variable: String, usually count: Int) -> Int { value(variable).map(Int.init) ?? count }

    /// How to run one history again.
    static func again(_ filter: String, index: Int) -> String {
        "again: LIVES_SEED=\(current) LIVES_ONLY=\(index) swift test --filter \(filter)"
    }

    /// The indices of the histories of a run: all, or the one that `LIVES_ONLY` names.
    static func indices(_ count: Int) -> [Int] { value("LIVES_ONLY").map { [Int($0)] } ?? Array(0..<count) }
}

/// The history that a line of the books is about: the last digits of its numbers are the history's.
func index(ofLine line: String) -> Int? {
    let words = line.split { " |:".contains($0) }
    guard let number = words.lazy.dropFirst().compactMap({ Int($0) }).first else { return nil }
    return number % Int(HistoryAuthor.numberStep) / Int(HistoryAuthor.customersAtMost)
}
