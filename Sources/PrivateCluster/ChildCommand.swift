import Glibc

/// What a child process is to run.
package struct ChildCommand: Sendable {
    /// The program, a path or a name to be found in `PATH`, and its arguments.
    package var words: [String]
    /// Its whole environment; nil for that of this process.
    package var environment: [String: String]?
    /// The end of a line of its output that says that it is ready; nil when it never says so.
    package var readyMark: String?
    /// What ends it at once when this process ends by itself.
    package var endSignal = SIGKILL

    package init(_ words: [String], environment: [String: String]? = nil, readyMark: String? = nil) {
        self.words = words
        self.environment = environment
        self.readyMark = readyMark
    }

    /// The same command, sent a signal by the kernel when the thread that starts it ends, thus never outliving this process.
    ///
    /// - Parameters:
    ///   - signal: its name without `SIG`.
    ///   - user: whom it is to run as; nil for the user of this process.
    package func bound(signal: String = "KILL", user: UnprivilegedUser? = nil) -> ChildCommand {
        var prefix = ["setpriv", "--pdeathsig=\(signal)"]
        if let user { prefix += ["--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups"] }
        var copy = self
        copy.words = prefix + ["--"] + words
        return copy
    }

    /// What it is called in messages: not all of its words, for an argument may be a connection string.
    var name: String { words.drop { $0 == "setpriv" || $0.hasPrefix("--") }.first ?? "" }

    /// Starts it in a process group of its own, so that a terminal's Ctrl-C reaches this process alone, which then ends its children.
    ///
    /// - Parameter output: where both of its outputs go.
    func spawn(output: Int32) throws(ClusterError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
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

    /// What this process ignores or blocks, the child must not inherit.
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
