import FoundationEssentials
import Glibc

/// Finds PostgreSQL's programs and runs them as an unprivileged user.
package enum PostgresPrograms {
    /// The command that runs a program without privileges, and shuts it down when the thread that starts it ends.
    package static func command(_ program: String, _ arguments: [String]) throws(ClusterError) -> ChildCommand {
        var command = ChildCommand([try path(of: program)] + arguments)
        // PostgreSQL's immediate shutdown: the server ends with all of its processes.
        command.endSignal = SIGQUIT
        return command.bound(signal: "QUIT", user: try UnprivilegedUser.needed())
    }

    /// Runs a program and returns its output; throws unless it ends with status 0.
    @discardableResult
    package static func run(_ program: String, _ arguments: [String]) async throws(ClusterError) -> String {
        try await ChildProcess.launch(command(program, arguments)).awaitSuccess()
    }

    /// Whether a program is installed.
    package static func isInstalled(_ program: String) -> Bool {
        folders().contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// The path of a program: in the folder that `APPSTORE_INBOX_POSTGRES_BIN` names, else in the versioned folders of Debian and others, the
    /// newest first, else in `PATH` or `sbin`.
    package static func path(of program: String) throws(ClusterError) -> String {
        if let chosen, access("\(chosen)/initdb", X_OK) != 0 {
            throw ClusterError(.programMissing, "APPSTORE_INBOX_POSTGRES_BIN is \(chosen), where there is no initdb")
        }
        let folders = folders()
        for folder in folders where access("\(folder)/\(program)", X_OK) == 0 {
            return "\(folder)/\(program)"
        }
        throw ClusterError(
            .programMissing,
            "\(program) is missing: it is in none of \(folders.joined(separator: ", "))"
        )
    }

    /// The programs of another version than the newest one that is installed.
    private static var chosen: String? {
        ProcessInfo.processInfo.environment["APPSTORE_INBOX_POSTGRES_BIN"].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func folders() -> [String] {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        // On Debian, `initdb` and `postgres` are not in PATH; programs of different versions must not be mixed.
        let numbered = (1...99).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        let versions = chosen.map { [$0] } ?? numbered.filter { (folder: String) in access("\(folder)/postgres", X_OK) == 0 }
        return versions + ["/usr/pgsql/bin", "/usr/local/pgsql/bin"] + path + ["/usr/sbin", "/usr/local/sbin"]
    }
}
