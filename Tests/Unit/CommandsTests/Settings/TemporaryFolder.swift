import Foundation

/// A folder that is deleted with the object.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-tests-\(UUID())")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        do { try FileManager.default.removeItem(at: url) } catch { print("\(url.path) was not removed: \(error)") }
    }

    /// Writes a file and returns its path.
    func write(_ name: String, _ text: String) throws -> String {
        let file = url.appending(path: name)
        try Data(text.utf8).write(to: file)
        return file.path
    }
}
