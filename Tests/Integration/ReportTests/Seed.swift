import Foundation

enum Seed {
    /// Of REPORT_SEED, else of the clock. A failure prints it.
    static let current: UInt64 =
        ProcessInfo.processInfo.environment["REPORT_SEED"].flatMap(UInt64.init) ?? UInt64(Date().timeIntervalSince1970)
}
