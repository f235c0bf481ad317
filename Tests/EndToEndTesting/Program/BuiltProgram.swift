import Foundation
import PrivateCluster

/// The executable that these tests are about, as the build has put it beside them.
package enum BuiltProgram {
    package static let name = "appstore-inbox"

    /// Its path.
    ///
    /// - Parameter other: another build of it, which is taken instead.
    package static func path(orThatOf other: String? = nil) throws -> String { try other ?? SiblingProgram.path(of: name) }

    /// This process's environment without what would configure the program behind the test's back, and with `settings`.
    package static func environment(_ settings: [String: String]) -> [String: String] {
        let refused = ["APPSTORE_INBOX_", "PG", "NOTIFY_SOCKET", "WATCHDOG_", "JOURNAL_STREAM", "CREDENTIALS_DIRECTORY"]
        return ProcessInfo.processInfo.environment
            .filter { variable in !refused.contains { variable.key.hasPrefix($0) } }
            .merging(settings) { _, given in given }
    }
}

/// The program did not do what a test cannot go on without.
package struct ProgramFailure: Error, CustomStringConvertible {
    package let what: String
    package var log = ""

    /// - Parameter log: what the program has said.
    package init(what: String, log: String = "") {
        (self.what, self.log) = (what, log)
    }

    package var description: String { log.isEmpty ? what : "\(what); its log ends with:\n\(log)" }
}
