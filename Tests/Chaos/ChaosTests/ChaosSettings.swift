import Foundation

/// The settings of a run, from the environment.
struct ChaosSettings {
    /// `CHAOS_EVENTS`: the number of accepted posts after which a run ends; 1,000,000 for a run by hand.
    let events: Int
    /// `CHAOS_SECONDS`: the least time over which the posts are spread.
    let duration: Duration
    /// `CHAOS_SEED`: the seed of load and faults; random by default.
    let seed: UInt64
    /// `CHAOS_VERBOSE`: print one line a second.
    let isVerbose: Bool
    /// `CHAOS_LOGS`: a folder for the daemons' logs; without it they are deleted.
    let logs: URL?
    /// `CHAOS_KEEP`: a folder, created for the primary's data when a run is aborted or finds a violation; without it the data is deleted.
    let evidence: URL?
    /// `CHAOS_PROGRAM`: the path of another build of the program to test, such as a release build, instead of the one beside the tests.
    let program: String?
    /// `CHAOS_SABOTAGE`: SQL that runs first and breaks a promise, to see a run fail.
    let sabotage: String?

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        events = environment["CHAOS_EVENTS"].flatMap { Int($0) } ?? 20_000
        duration = .seconds(environment["CHAOS_SECONDS"].flatMap { Int($0) } ?? 45)
        seed = environment["CHAOS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...UInt64(UInt32.max))
        isVerbose = environment["CHAOS_VERBOSE"] != nil
        logs = environment["CHAOS_LOGS"].map { URL(filePath: $0, directoryHint: .isDirectory) }
        evidence = environment["CHAOS_KEEP"].map { URL(filePath: $0, directoryHint: .isDirectory) }
        program = environment["CHAOS_PROGRAM"]
        sabotage = environment["CHAOS_SABOTAGE"]
    }
}
