import FoundationEssentials
import Glibc

/// Executables that the build puts beside this one.
package enum BuiltProduct {
    /// The path of an executable in the folder of this process's executable, or in a folder above it. For tests, the folder is that of their
    /// bundle.
    package static func path(of name: String) throws -> String {
        let here = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        // With Swift Testing, the running executable is a helper of the toolchain; its arguments name the test bundle.
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
