import Foundation

/// The executable that these tests are about, as the build has put it beside them.
package enum BuiltProgram {
    package static let name = "appstore-inbox"

    /// Its path: in the folder of this test process or in one above it.
    package static func path() throws -> String {
        let here = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        // `swift test` runs a helper of the toolchain for Swift Testing, and names the tests' own bundle in its arguments.
        let places = [here] + CommandLine.arguments.filter { $0.contains(".xctest") }
        for place in places {
            var folder = URL(filePath: place).deletingLastPathComponent()
            while folder.path != "/" {
                let candidate = folder.appending(path: name).path
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue,
                    FileManager.default.isExecutableFile(atPath: candidate)
                {
                    return candidate
                }
                folder.deleteLastPathComponent()
            }
        }
        throw ProgramFailure(what: "there is no executable \(name) in the folders of \(places.joined(separator: ", ")): build it first")
    }

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
