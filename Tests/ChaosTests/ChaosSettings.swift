import Foundation

/// How a run goes, from the environment.
struct ChaosSettings {
    /// `CHAOS_EVENTS`: how many posts are to be accepted; a run by hand takes a million.
    let events: Int
    /// `CHAOS_SECONDS`: over how much time, at least, they are spread.
    let duration: Duration
    /// `CHAOS_SEED`: of the load and of the faults; a fresh one each time.
    let seed: UInt64
    /// `CHAOS_VERBOSE`: a line a second.
    let isVerbose: Bool
    /// `CHAOS_LOGS`: a folder for the daemons' logs, which are thrown away without it.
    let logs: URL?
    /// `CHAOS_KEEP`: a folder that is made for the data of the primary, which is thrown away without it, when a promise was broken or a run
    /// did not come to its end.
    let evidence: URL?
    /// `CHAOS_PROGRAM`: the path of another build of the program, such as one for release, to be put under fire instead of the one beside
    /// the tests.
    let program: String?
    /// `CHAOS_SABOTAGE`: SQL that breaks a promise, run before anything else, to see a run fail.
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
