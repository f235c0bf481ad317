import FoundationEssentials
import Glibc

/// PostgreSQL's programs, and how to run them as somebody who may.
package enum PostgresPrograms {
    /// The command that runs a program without privileges, and has it shut down at once when the thread that starts it ends.
    package static func command(_ program: String, _ arguments: [String]) throws(ClusterError) -> ChildCommand {
        var command = ChildCommand([try path(of: program)] + arguments)
        // What PostgreSQL takes as the order to end at once with all of its processes.
        command.endSignal = SIGQUIT
        return command.bound(signal: "QUIT", user: try UnprivilegedUser.needed())
    }

    /// Runs a program to its end, which must be a success, and returns what it wrote.
    @discardableResult
    package static func run(_ program: String, _ arguments: [String]) async throws(ClusterError) -> String {
        try await ChildProcess.launch(command(program, arguments)).awaitSuccess()
    }

    /// Whether a program is there to be run.
    package static func isInstalled(_ program: String) -> Bool {
        folders().contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// Where a program is: where Debian and others keep each version, the newest first, else in `PATH` or where daemons are.
    package static func path(of program: String) throws(ClusterError) -> String {
        let folders = folders()
        for folder in folders where access("\(folder)/\(program)", X_OK) == 0 {
            return "\(folder)/\(program)"
        }
        throw ClusterError(
            .programMissing,
            "\(program) is missing: it is in none of \(folders.joined(separator: ", "))"
        )
    }

    private static func folders() -> [String] {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        // `initdb` and `postgres` are in no PATH on Debian, and one version must not be mixed with the programs of another.
        let numbered = (1...99).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        let versions = numbered.filter { (folder: String) in access("\(folder)/postgres", X_OK) == 0 }
        return versions + ["/usr/pgsql/bin", "/usr/local/pgsql/bin"] + path + ["/usr/sbin", "/usr/local/sbin"]
    }
}
