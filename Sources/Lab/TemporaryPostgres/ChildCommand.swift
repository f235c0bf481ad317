import CSpawn
import Glibc

/// The command line and environment of a child process.
package struct ChildCommand: Sendable {
    /// The program (a path, or a name in `PATH`) and its arguments.
    package var words: [String]
    /// The whole environment; nil inherits this process's.
    package var environment: [String: String]?
    /// Text in a line of the output that means that the process is ready; nil when there is none.
    package var readyMark: String?
    /// The signal that ends the child at once when this process exits.
    package var endSignal = SIGKILL

    package init(_ words: [String], environment: [String: String]? = nil, readyMark: String? = nil) {
        self.words = words
        self.environment = environment
        self.readyMark = readyMark
    }

    /// The same command under `setpriv --pdeathsig`: the kernel signals it when the thread that started it ends, so it never outlives this
    /// process.
    ///
    /// - Parameters:
    ///   - signal: the name without `SIG`.
    ///   - user: the user to run as; nil for the user of this process.
    package func bound(signal: String = "KILL", user: UnprivilegedUser? = nil) -> ChildCommand {
        var prefix = ["setpriv", "--pdeathsig=\(signal)"]
        if let user { prefix += ["--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups"] }
        var copy = self
        copy.words = prefix + ["--"] + words
        return copy
    }

    /// The name for messages. Arguments are left out: one may be a connection string with a password.
    var name: String { words.drop { $0 == "setpriv" || $0.hasPrefix("--") }.first ?? "" }

    /// Starts the command in a new process group: a terminal's Ctrl-C reaches this process only, which then ends its children.
    ///
    /// - Parameter output: receives standard output and standard error.
    func spawn(output: Int32) throws(ClusterError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        // A pipe that another thread has just made for a child of its own: this one would keep it open, and so its reader waiting.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        setDefaultSignals(&attributes)
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { $0.map { strdup("\($0.key)=\($0.value)") } + [nil] }
        defer { for text in arguments + (variables ?? []) { free(text) } }
        var pid = pid_t()
        let program = words.first ?? ""
        let failure =
            if let variables {
                posix_spawnp(&pid, program, &actions, &attributes, arguments, variables)
            } else {
                posix_spawnp(&pid, program, &actions, &attributes, arguments, environ)
            }
        guard failure == 0 else {
            throw ClusterError(.notStarted, "\(name) cannot be started: \(String(cString: strerror(failure)))")
        }
        return pid
    }

    /// The child must not inherit ignored or blocked signals.
    private func setDefaultSignals(_ attributes: inout posix_spawnattr_t) {
        var all = sigset_t()
        sigfillset(&all)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    }
}
