import FoundationEssentials
import Glibc

/// Executables that the build has put beside this one.
package enum SiblingProgram {
    /// The path of an executable in the folder of this process or in one above it; for tests, of their bundle.
    package static func path(of name: String) throws -> String {
        let here = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        // `swift test` runs a helper of the toolchain for Swift Testing, and names the tests' own bundle in its arguments.
        let places = [here] + CommandLine.arguments.filter { $0.contains(".xctest") }
        for place in places {
            var folder = URL(filePath: place).deletingLastPathComponent()
            while folder.path != "/" {
                let candidate = folder.appending(path: name).path
                var isFolder = false
                if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder, access(candidate, X_OK) == 0 {
                    return candidate
                }
                folder.deleteLastPathComponent()
            }
        }
        let searched = places.joined(separator: ", ")
        throw ClusterError(.programMissing, "there is no executable \(name) in the folders of \(searched): build it first")
    }
}
