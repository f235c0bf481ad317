import Foundation
import Glibc

/// PostgreSQL's programs, and how to run them as somebody who may.
enum ServerPrograms {
    struct User {
        let name: String
        let id: uid_t
        let group: gid_t
    }

    /// Whom the server runs as when the tests run as root, which it refuses.
    static var unprivilegedUser: User? {
        for name in ["postgres", "nobody"] {
            if let entry = getpwnam(name) { return User(name: name, id: entry.pointee.pw_uid, group: entry.pointee.pw_gid) }
        }
        return nil
    }

    /// The command line that runs a program without privileges, and has it shut down when the thread that starts it ends.
    static func command(_ program: String, _ arguments: [String]) throws -> [String] {
        var command = ["setpriv", "--pdeathsig=QUIT"]
        if getuid() == 0, let user = unprivilegedUser {
            command += ["--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups"]
        }
        return command + ["--", try path(of: program)] + arguments
    }

    /// Runs a program to its end.
    static func run(_ program: String, _ arguments: [String]) async throws {
        let process = try ServerProcess.launch(command(program, arguments))
        await process.awaitExit()
        guard process.succeeded else { throw ServerFailure(program: program, output: process.output) }
    }

    private static func path(of program: String) throws -> String {
        for folder in folders {
            let path = folder + "/" + program
            if access(path, X_OK) == 0 { return path }
        }
        throw ServerFailure(program: program, output: "not found in \(folders.joined(separator: ", "))")
    }

    /// `PATH`, then where Debian and others keep each version, newest first.
    private static let folders: [String] = {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let sorted = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
        return path + sorted.map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/pgsql/bin", "/usr/local/pgsql/bin"]
    }()
}

/// A program of PostgreSQL could not be run.
struct ServerFailure: Error, CustomStringConvertible {
    let program: String
    let output: String

    var description: String { "\(program): \(output)" }
}
