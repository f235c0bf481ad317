import Foundation
import Glibc
import Synchronization

/// Temporary folders that go with the process, and those left behind by processes that were killed.
enum TestFolder {
    private static let prefix = "appstore-inbox-tests-"

    static func make() -> URL {
        removeAbandoned()
        let path = parent.appending(path: "\(prefix)\(getpid())-\(UInt32.random(in: 0...UInt32.max))").path
        // A Unix socket's path has 107 bytes at most.
        precondition(path.utf8.count < 90, "the temporary folder's path is too long for a socket: \(path)")
        precondition(mkdir(path, 0o700) == 0, "\(path) cannot be made: \(String(cString: strerror(errno)))")
        if getuid() == 0, let user = ServerPrograms.unprivilegedUser {
            precondition(chown(path, user.id, user.group) == 0, "\(path) cannot be given to \(user.name)")
        }
        AtExit.register(folder: path)
        return URL(filePath: path, directoryHint: .isDirectory)
    }

    private static var parent: URL { FileManager.default.temporaryDirectory }

    private static func removeAbandoned() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let owner = name.dropFirst(prefix.count).prefix { $0 != "-" }
            guard let pid = pid_t(owner), Glibc.kill(pid, 0) != 0, errno == ESRCH else { continue }
            try? FileManager.default.removeItem(at: parent.appending(path: name))
        }
    }
}

/// What is to be ended and removed when the process exits by itself; when it is killed, the servers get a signal from the kernel.
enum AtExit {
    private struct Leftovers {
        var folders: [String] = []
        var servers: Set<pid_t> = []
        var isHooked = false
    }

    private static let leftovers = Mutex(Leftovers())

    static func register(folder: String) {
        leftovers.withLock { leftovers in
            leftovers.folders.append(folder)
            if !leftovers.isHooked { atexit { AtExit.clean() } }
            leftovers.isHooked = true
        }
    }

    static func register(server: pid_t) {
        _ = leftovers.withLock { $0.servers.insert(server) }
    }

    static func forget(server: pid_t) {
        _ = leftovers.withLock { $0.servers.remove(server) }
    }

    private static func clean() {
        let (folders, servers) = leftovers.withLock { ($0.folders, $0.servers) }
        for server in servers { Glibc.kill(server, SIGQUIT) }
        for server in servers {
            // Reaped here or by the thread that started it, whichever comes first.
            var status: Int32 = 0
            while waitpid(server, &status, 0) < 0 && errno == EINTR {}
        }
        remove(folders)
    }

    /// Hundreds of thousands of files, for which rm is several times faster than Foundation.
    private static func remove(_ folders: [String]) {
        let arguments = (["rm", "-rf", "--"] + folders).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        guard posix_spawnp(&pid, "rm", nil, nil, arguments, environ) == 0 else { return }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    }
}
