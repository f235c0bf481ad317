import Foundation

/// The executable that the benchmarks measure, as the build has put it beside these tests.
enum BuiltProgram {
    /// Its path: in the folder of this test process or in one above it.
    static func path() throws -> String {
        let here = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        // `swift test` runs a helper of the toolchain for Swift Testing, and names the tests' own bundle in its arguments.
        for place in [here] + CommandLine.arguments.filter({ $0.contains(".xctest") }) {
            var folder = URL(filePath: place).deletingLastPathComponent()
            while folder.path != "/" {
                let candidate = folder.appending(path: "appstore-inbox").path
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue { return candidate }
                folder.deleteLastPathComponent()
            }
        }
        throw Missing(what: "the executable appstore-inbox: build it first")
    }
}
