package import FoundationEssentials
import Glibc
import Postgres
import ServiceSupport

/// Temporary folders that are removed when the process exits, and the removal of those of killed processes.
package enum ClusterFolder {
    /// Creates a folder that belongs to the user that PostgreSQL runs as.
    ///
    /// - Parameter name: the prefix of the folder's name; the process id and a random number follow.
    package static func make(named name: String) throws -> URL {
        let parent = FileManager.default.temporaryDirectory
        let path = parent.appending(path: "\(name)-\(getpid())-\(UInt32.random(in: 0...UInt32.max))").path
        // A Unix socket's path has at most 107 bytes.
        guard path.utf8.count < 90 else {
            throw ClusterError(.system, "the temporary folder's path is too long for a socket, set TMPDIR: \(path)")
        }
        guard mkdir(path, 0o700) == 0 else {
            throw ClusterError(.system, "\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
        CleanupRegistry.register(folder: path)
        if let user = try UnprivilegedUser.needed(), chown(path, user.id, user.group) != 0 {
            throw ClusterError(.system, "\(path) cannot be given to \(user.name): \(String(cString: strerror(errno)))")
        }
        return URL(filePath: path, directoryHint: .isDirectory)
    }

    /// Removes folders with that prefix whose process has ended.
    static func removeAbandoned(named name: String) async throws {
        let parent = FileManager.default.temporaryDirectory
        let abandoned = try FileManager.default.contentsOfDirectory(atPath: parent.path).filter { folder in
            guard folder.hasPrefix(name + "-"), let owner = pid_t(folder.dropFirst(name.count + 1).prefix { $0 != "-" }) else {
                return false
            }
            return kill(owner, 0) != 0 && errno == ESRCH
        }
        guard !abandoned.isEmpty else { return }
        await DetachedThread.run { CleanupRegistry.remove(folders: abandoned.map { parent.appending(path: $0).path }) }
    }
}
