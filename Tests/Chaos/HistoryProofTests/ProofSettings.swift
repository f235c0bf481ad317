import Foundation

/// The settings of a run, from the environment.
struct ProofSettings {
    /// `HISTORY_EVENTS`: how many notifications the store sends at least; 20,000 in the long run.
    let events: Int
    /// `HISTORY_KILLS`: how many workers are killed at most.
    let kills: Int
    /// `HISTORY_SEED`: the seed of customers, fates, faults and kills; random by default.
    let seed: UInt64
    /// `HISTORY_SABOTAGE`: SQL that runs first and breaks a promise, to see a run fail.
    let sabotage: String?

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        events = environment["HISTORY_EVENTS"].flatMap { Int($0) } ?? 300
        kills = environment["HISTORY_KILLS"].flatMap { Int($0) } ?? max(8, events / 100)
        seed = environment["HISTORY_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...UInt64(UInt32.max))
        sabotage = environment["HISTORY_SABOTAGE"]
    }

    /// How to run it again.
    var rerunCommand: String {
        "HISTORY_SEED=\(seed) HISTORY_EVENTS=\(events) HISTORY_KILLS=\(kills) swift test --filter HistoryProofTests"
    }
}
