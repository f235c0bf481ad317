import Foundation
import TemporaryPostgres

/// The executables that the build puts beside the tests.
package enum BuiltProgram {
    package static let name = "appstore-inbox"

    /// The path of `appstore-inbox`.
    ///
    /// - Parameter other: the path of another build to use instead.
    package static func path(orThatOf other: String? = nil) throws -> String { try other ?? BuiltProduct.path(of: name) }

    /// The path of another executable of the package.
    package static func path(of name: String) throws -> String { try BuiltProduct.path(of: name) }

    /// The path of `appstore-inbox-lab`, which has `trigger`, `demo` and `bench`.
    package static func labPath() throws -> String { try BuiltProduct.path(of: "appstore-inbox-lab") }

    /// This process's environment without variables that configure the program, and with `settings`.
    package static func environment(_ settings: [String: String]) -> [String: String] {
        let refused = ["APPSTORE_INBOX_", "PG", "NOTIFY_SOCKET", "WATCHDOG_", "JOURNAL_STREAM", "CREDENTIALS_DIRECTORY"]
        return ProcessInfo.processInfo.environment
            .filter { variable in !refused.contains { variable.key.hasPrefix($0) } }
            .merging(settings) { _, given in given }
    }
}

/// The program failed to do what the test depends on.
package struct ProgramFailure: Error, CustomStringConvertible {
    package let what: String
    package var log = ""

    /// - Parameter log: the program's log.
    package init(what: String, log: String = "") {
        (self.what, self.log) = (what, log)
    }

    package var description: String { log.isEmpty ? what : "\(what); its log ends with:\n\(log)" }
}
